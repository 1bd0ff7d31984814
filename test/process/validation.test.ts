/**
 * Validation functions across processes: whatever worker stored or removed one, the next write on each of them is
 * judged by it, or no longer.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type RunningServer, startProcess } from '../support/start-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'gurney-validation-'))
let server: RunningServer

before(async () => {
  writeFileSync(join(folder, 'local.ini'), '[svc_httpd_auth]\niterations = 10\n')
  const port = String(await freePort())
  server = await startProcess(folder, ['--port', port, '--admin', 'admin:pass', '--workers', '2'])
})
after(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A port by its number: all workers can share it from the start. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}

const authorization = `Basic ${Buffer.from('admin:pass').toString('base64')}`

/** A connection of its own each time, so that requests fall to all workers. */
async function call(method: string, path: string, body?: object) {
  const response = await fetch(server.url() + path, {
    method,
    headers: { authorization, connection: 'close', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as { rev?: string } }
}

const REFUSE = { validate_doc_update: 'function () { throw({forbidden: "closed"}) }' }
const ROUNDS = 8
const WRITES = 6

test('a validation function stored by one worker counts on the others at once', async () => {
  assert.equal((await call('PUT', '/db')).status, 201)
  const statuses = async (round: string): Promise<number[]> => {
    const writes = Array.from({ length: WRITES }, (_, n) => call('PUT', `/db/${round}-${n}`, {}))
    return (await Promise.all(writes)).map(({ status }) => status)
  }
  const all = (status: number): number[] => new Array(WRITES).fill(status)
  let rev: string | undefined
  for (let round = 0; round < ROUNDS; round++) {
    const query = rev === undefined ? '' : `?rev=${rev}`
    const closed = await call('PUT', `/db/_design/v${query}`, REFUSE)
    assert.equal(closed.status, 201)
    assert.deepEqual(await statuses(`closed${round}`), all(403))
    const opened = await call('PUT', `/db/_design/v?rev=${closed.json.rev}`, {})
    assert.deepEqual(await statuses(`open${round}`), all(201))
    rev = opened.json.rev
  }
  const workers = new Set([...server.log().matchAll(/worker=(\d+)/g)].map(match => match[1]))
  assert.ok(workers.size >= 2, 'both workers were asked')
})
