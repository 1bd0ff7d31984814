/**
 * The whole server is killed while clients write single documents and bulks, and then one of its workers alone.
 * What was acknowledged is there afterwards with the revision that was told, and the counters agree with what a
 * list shows.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { childrenOf } from '../support/server-children.ts'
import { type RunningServer, startProcess } from '../support/start-process.ts'

const WRITING_MS = 1500
const BULK_COUNT = 40
const ANSWER_MS = 5000

const folder = mkdtempSync(join(tmpdir(), 'gurney-crash-'))
writeFileSync(join(folder, 'local.ini'), '[svc_httpd_auth]\niterations = 10\n')
after(() => rmSync(folder, { recursive: true, force: true }))

const FLAGS = ['--admin', 'admin:pass', '--workers', '2']

/** Id -> the newest revision that was acknowledged. */
const acknowledged = new Map<string, string>()

interface Answer {
  readonly status: number
  readonly json: unknown
}

function ask(server: RunningServer, method: string, path: string, body?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      {
        port: server.port,
        host: '127.0.0.1',
        method,
        path,
        auth: 'admin:pass',
        agent: false,
        // A connection that was on its way to a worker that died may never be answered.
        signal: AbortSignal.timeout(ANSWER_MS),
        headers: { 'Content-Type': 'application/json' },
      },
      response => {
        const chunks: Buffer[] = []
        response.on('data', chunk => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({ status: response.statusCode ?? 0, json: JSON.parse(text) })
        })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

interface Load {
  stopped: boolean
  acknowledgedCount: number
}

/** Makes documents, changes them, and deletes nothing: what was told must be there. */
async function writeSingles(server: RunningServer, load: Load, name: string): Promise<void> {
  for (let number = 0; !load.stopped; number++) {
    const id = `${name}-${number % 50}`
    const rev = acknowledged.get(id)
    try {
      const body = { ...(rev === undefined ? {} : { _rev: rev }), number }
      const { status, json } = await ask(server, 'PUT', `/db/${id}`, body)
      if (status !== 201) continue
      acknowledged.set(id, (json as { rev: string }).rev)
      load.acknowledgedCount++
    } catch {
      // The server died under it: not acknowledged.
      await delay(20)
    }
  }
}

async function writeBulks(server: RunningServer, load: Load, name: string): Promise<void> {
  for (let number = 0; !load.stopped; number++) {
    const docs = Array.from({ length: BULK_COUNT }, (_, index) => ({
      _id: `${name}-${number}-${index}`,
      text: 'x'.repeat(index * 20),
    }))
    try {
      const { status, json } = await ask(server, 'POST', '/db/_bulk_docs', { docs })
      if (status !== 201) continue
      for (const { id, rev } of json as { id: string; rev: string }[]) acknowledged.set(id, rev)
      load.acknowledgedCount++
    } catch {
      await delay(20)
    }
  }
}

function startLoad(server: RunningServer, run: string): { load: Load; done: Promise<unknown> } {
  const load: Load = { stopped: false, acknowledgedCount: 0 }
  const singles = [0, 1, 2, 3].map(each => writeSingles(server, load, `single-${run}-${each}`))
  const bulks = [0, 1].map(each => writeBulks(server, load, `bulk-${run}-${each}`))
  return { load, done: Promise.all([...singles, ...bulks]) }
}

async function verify(server: RunningServer): Promise<void> {
  const ids = [...acknowledged.keys()]
  const { json: named } = await ask(server, 'POST', '/db/_all_docs', { keys: ids })
  for (const [index, row] of (named as Listing).rows.entries()) {
    const id = ids[index] as string
    // A later write that nobody was told of may have come through: never an earlier state.
    const told = acknowledged.get(id) as string
    const found = row.value?.rev
    assert.ok(found !== undefined, `${id} is gone`)
    assert.ok(
      found === told || generation(found) > generation(told),
      `${id}: ${found} instead of ${told}`,
    )
    acknowledged.set(id, found)
  }
  const { json: info } = await ask(server, 'GET', '/db')
  const { json: listing } = await ask(server, 'GET', '/db/_all_docs')
  const { rows, total_rows: total } = listing as Listing
  assert.equal((info as { doc_count: number }).doc_count, rows.length)
  assert.equal(total, rows.length)
  const { json: middle } = await ask(server, 'GET', '/db/_all_docs?skip=1200&limit=1')
  assert.equal((middle as Listing).rows[0]?.id, rows[1200]?.id)
}

interface Listing {
  readonly total_rows: number
  readonly rows: readonly { readonly id: string; readonly value?: { readonly rev: string } }[]
}

const generation = (rev: string): number => Number.parseInt(rev, 10)

/** Bulks are all there or not at all: they are one transaction. */
async function verifyBulks(server: RunningServer): Promise<void> {
  const { json } = await ask(server, 'GET', '/db/_all_docs?startkey="bulk-"&endkey="bulk0"')
  const counts = new Map<string, number>()
  for (const { id } of (json as Listing).rows) {
    const bulk = id.slice(0, id.lastIndexOf('-'))
    counts.set(bulk, (counts.get(bulk) ?? 0) + 1)
  }
  for (const [bulk, count] of counts) assert.equal(count, BULK_COUNT, `${bulk} is half there`)
}

const workersOf = (pid: number): number[] => childrenOf(pid, 'worker')

/** Whatever a test finds, its server does not outlive it. */
const running = new Set<RunningServer>()
after(async () => {
  for (const server of running) if (server.process.exitCode === null) await server.kill()
})

async function start(): Promise<RunningServer> {
  const server = await startProcess(folder, FLAGS)
  running.add(server)
  void server.process.once('exit', () => running.delete(server))
  return server
}

/** On a busy machine the second worker may have died before the first was replaced: then nobody listens for a while. */
async function answering(server: RunningServer): Promise<void> {
  for (;;) {
    assert.equal(server.process.exitCode, null, 'the server ended with its workers')
    const answer = await ask(server, 'GET', '/_up').catch(() => undefined)
    if (answer?.status === 200) return
    await delay(50)
  }
}

test('nothing acknowledged is lost when the server is killed', { timeout: 60_000 }, async () => {
  for (let round = 0; round < 2; round++) {
    const server = await start()
    if (round === 0) await ask(server, 'PUT', '/db')
    else await verify(server)
    const { load, done } = startLoad(server, `kill${round}`)
    await delay(WRITING_MS)
    await server.kill()
    load.stopped = true
    await done
    assert.ok(load.acknowledgedCount > 0)
  }
  const server = await start()
  await verify(server)
  await verifyBulks(server)
  await server.stop()
})

test('nothing acknowledged is lost when a worker is killed', { timeout: 60_000 }, async () => {
  const server = await start()
  await ask(server, 'PUT', '/db')
  const { load, done } = startLoad(server, 'worker')
  for (let kills = 0; kills < 2; kills++) {
    await delay(WRITING_MS / 2)
    const [worker] = workersOf(server.process.pid as number)
    assert.ok(worker !== undefined, 'the server has workers')
    process.kill(worker, 'SIGKILL')
  }
  await delay(WRITING_MS)
  load.stopped = true
  await done
  assert.ok(load.acknowledgedCount > 0)
  await answering(server)
  await verify(server)
  await verifyBulks(server)
  assert.equal(await server.stop(), 0)
})
