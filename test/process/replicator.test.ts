/**
 * Replication in the process tree: it runs in a process of its own, workers reach it through the primary, and when that
 * process is killed the next one goes on, with what documents and requests had asked for.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { until } from '../support/replication-pair.ts'
import { childrenOf } from '../support/server-children.ts'
import { type RunningServer, startProcess } from '../support/start-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'gurney-replicator-'))
const authorization = `Basic ${Buffer.from('admin:pass').toString('base64')}`
let server: RunningServer

before(async () => {
  const settings = '[svc_httpd_auth]\niterations = 10\n[replicator]\ncheckpoint_interval = 200\n'
  writeFileSync(join(folder, 'local.ini'), settings)
  server = await startProcess(folder, ['--admin', 'admin:pass', '--workers', '2'])
})
after(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function call(method: string, path: string, body?: object) {
  const response = await fetch(server.url() + path, {
    method,
    headers: { authorization, connection: 'close', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as Record<string, unknown> }
}

const replicatorPid = (): number | undefined => childrenOf(server.process.pid, 'replicator')[0]

const has = async (path: string): Promise<boolean> => (await call('GET', path)).status === 200

test('replications outlive the process that runs them', async () => {
  for (const name of ['_replicator', 's', 't', 'u', 'v']) await call('PUT', `/${name}`)
  const url = (name: string) => `${server.url('admin:pass')}/${name}`
  await call('PUT', '/s/a', {})
  const document = { source: url('s'), target: url('t'), continuous: true }
  await call('PUT', '/_replicator/r', document)
  const started = await call('POST', '/_replicate', { source: 's', target: 'u', continuous: true })
  assert.equal(started.status, 202)
  for (const name of ['t', 'u']) await until(`${name} has a`, () => has(`/${name}/a`))

  const docs = Array.from({ length: 1000 }, (_, n) => ({ _id: `d${n}`, text: 'x'.repeat(200) }))
  await call('POST', '/s/_bulk_docs', { docs })
  const oneShot = call('POST', '/_replicate', { source: url('s'), target: url('v') })
  const first = replicatorPid()
  assert.ok(first !== undefined)
  process.kill(first, 'SIGKILL')
  await until('there is another', () => {
    const pid = replicatorPid()
    return pid !== undefined && pid !== first
  })

  assert.equal((await oneShot).status, 200)
  for (const name of ['t', 'u', 'v']) {
    await until(`${name} has everything`, async () => {
      const { json } = await call('GET', `/${name}`)
      return json.doc_count === 1001
    })
  }
  const { json } = await call('GET', '/_scheduler/docs/_replicator/r')
  assert.equal(json.state, 'running')
  const tasks = (await call('GET', '/_active_tasks')).json as unknown as { type: string }[]
  assert.equal(tasks.filter(({ type }) => type === 'replication').length, 2)
  const cancel = { source: 's', target: 'u', continuous: true, cancel: true }
  assert.equal((await call('POST', '/_replicate', cancel)).status, 200)
  assert.equal(server.log().includes('admin:pass'), false)
})
