/**
 * The whole server is killed while attachments are uploaded, again and again over the same data. Whatever was
 * acknowledged must be there afterwards, whole and with the right digest; whatever else shows up must be whole too.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type RunningServer, startProcess } from '../support/start-process.ts'

const ROUNDS = 3
const UPLOADER_COUNT = 6
const UPLOADING_MS = 1500
const BYTES = randomBytes(4_000_000)
/** Some ride in the commit, some are streamed in one write, some in several. */
const SIZES = [10, 100_000, 300_000, 2_200_000, 3_999_000]

interface Answer {
  readonly status: number
  readonly bytes: Buffer
  readonly etag: string | undefined
}

describe('a server that is killed during uploads', () => {
  const acknowledged = new Map<string, string>()
  const agent = new Agent({ keepAlive: true })
  let folder = ''
  let server: RunningServer | undefined

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'gurney-attachments-'))
  })
  after(async () => {
    agent.destroy()
    await server?.kill()
    rmSync(folder, { recursive: true, force: true })
  })

  const start = async (): Promise<RunningServer> => {
    server = await startProcess(folder, ['--admin', 'admin:pass', '--workers', '2'])
    return server
  }

  it('has all that it acknowledged', { timeout: 120_000 }, async () => {
    let running = await start()
    assert.equal((await send(running, 'PUT', '/db')).status, 201)
    for (let round = 0; round < ROUNDS; round++) {
      const uploads = Array.from({ length: UPLOADER_COUNT }, (_, number) =>
        uploadUntilDead(running, `${round}-${number}`),
      )
      await delay(UPLOADING_MS)
      await running.kill()
      await Promise.all(uploads)
      running = await start()
      await checkAll(running)
    }
    assert.ok(acknowledged.size >= ROUNDS, `only ${acknowledged.size} uploads were acknowledged`)
  })

  async function uploadUntilDead(running: RunningServer, prefix: string): Promise<void> {
    for (let count = 0; ; count++) {
      const id = `${prefix}-${count}`
      const size = SIZES[count % SIZES.length] as number
      const bytes = Buffer.concat([Buffer.from(id), BYTES.subarray(0, size)])
      try {
        const { status } = await send(running, 'PUT', `/db/${id}/a`, bytes)
        assert.equal(status, 201)
      } catch (thrown) {
        if (thrown instanceof assert.AssertionError) throw thrown
        return
      }
      acknowledged.set(id, createHash('md5').update(bytes).digest('base64'))
    }
  }

  async function checkAll(running: RunningServer): Promise<void> {
    const listing = await send(running, 'GET', '/db/_all_docs')
    const { rows, total_rows } = JSON.parse(listing.bytes.toString()) as {
      rows: { id: string }[]
      total_rows: number
    }
    const ids = new Set(rows.map(({ id }) => id))
    assert.equal(ids.size, total_rows)
    for (const id of acknowledged.keys()) assert.ok(ids.has(id), `${id} was acknowledged`)
    for (const id of ids) {
      const { status, bytes, etag } = await send(running, 'GET', `/db/${id}/a`)
      assert.equal(status, 200)
      const md5 = createHash('md5').update(bytes).digest('base64')
      assert.equal(etag, `"${md5}"`)
      assert.equal(acknowledged.get(id) ?? md5, md5)
    }
  }

  function send(
    { port }: RunningServer,
    method: string,
    path: string,
    body?: Buffer,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { 'Content-Type': 'application/octet-stream' }
      const options = { port, method, path, headers, auth: 'admin:pass', agent }
      const outgoing = request(options, response => {
        const pieces: Buffer[] = []
        response.on('data', piece => pieces.push(piece))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            bytes: Buffer.concat(pieces),
            etag: response.headers.etag,
          }),
        )
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }
})
