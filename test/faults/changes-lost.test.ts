/**
 * Feeds lose nothing: clients write at random, workers are killed one after the other, and feeds that break off come back
 * with the last sequence they saw. In the end every feed has seen the final revision of every document, and no feed was
 * told sequences out of order.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type RunningServer, startProcess } from '../support/start-process.ts'

/** So many kills and writes make a run; a slow machine is given up on after a while with what it has. */
const KILLS = 4
const WRITES = 100
const RUN_MS_MAX = 15_000
const KILL_EVERY_MS = 1500
const SETTLE_MS = 15_000
const SILENT_MS = 2000
const DOCUMENTS = 60

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000)
const folder = mkdtempSync(join(tmpdir(), 'gurney-changes-'))
writeFileSync(join(folder, 'local.ini'), '[svc_httpd_auth]\niterations = 10\n')
after(() => rmSync(folder, { recursive: true, force: true }))

function randomFrom(start: number): () => number {
  let state = start || 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

function open(
  server: RunningServer,
  method: string,
  path: string,
  body?: unknown,
): { request: ClientRequest; response: Promise<IncomingMessage> } {
  const request = httpRequest({
    port: server.port,
    host: '127.0.0.1',
    method,
    path,
    auth: 'admin:pass',
    agent: false,
    headers: { 'Content-Type': 'application/json' },
  })
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject)
  })
  // A connection that a worker died with before it took it over is never answered.
  request.setTimeout(SILENT_MS, () => request.destroy(new Error('the server is silent')))
  request.end(body === undefined ? undefined : JSON.stringify(body))
  return { request, response }
}

async function ask(server: RunningServer, method: string, path: string, body?: unknown) {
  const response = await open(server, method, path, body).response
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return { status: response.statusCode ?? 0, json: JSON.parse(text) as Record<string, unknown> }
}

interface Row {
  readonly seq: string
  readonly id: string
  readonly changes: readonly { readonly rev: string }[]
}

/** What one feed has seen. */
class Seen {
  readonly revs = new Map<string, string>()
  lastSeq = '0'
  breaks = 0

  row({ seq, id, changes }: Row): void {
    const number = Number.parseInt(seq, 10)
    assert.ok(number > Number.parseInt(this.lastSeq, 10), `${seq} after ${this.lastSeq}`)
    this.lastSeq = seq
    this.revs.set(id, changes[0]?.rev ?? '')
  }
}

interface Run {
  stopped: boolean
  kills: number
  acknowledged: number
}

const newRun = (): Run => ({ stopped: false, kills: 0, acknowledged: 0 })

/** Reads lines until the connection breaks, then comes back with the last sequence. */
async function followContinuous(
  server: RunningServer,
  seen: Seen,
  run: Run,
  filter: string,
): Promise<void> {
  while (!run.stopped) {
    const path = `/db/_changes?feed=continuous&heartbeat=200&since=${seen.lastSeq}${filter}`
    const { request, response } = open(server, 'GET', path)
    try {
      let rest = ''
      for await (const chunk of await response) {
        const lines = (rest + chunk).split(/\r?\n/)
        rest = lines.pop() ?? ''
        for (const line of lines) {
          const row = line === '' ? undefined : (JSON.parse(line) as Row)
          if (row?.id !== undefined) seen.row(row)
        }
        if (run.stopped) break
      }
    } catch (thrown) {
      if (thrown instanceof assert.AssertionError) throw thrown
      await delay(20)
    } finally {
      request.destroy()
    }
    seen.breaks++
  }
}

async function followLongpoll(server: RunningServer, seen: Seen, run: Run): Promise<void> {
  while (!run.stopped) {
    try {
      const path = `/db/_changes?feed=longpoll&timeout=500&since=${seen.lastSeq}`
      const { status, json } = await ask(server, 'GET', path)
      if (status !== 200) continue
      for (const row of json.results as Row[]) seen.row(row)
      seen.lastSeq = json.last_seq as string
    } catch (thrown) {
      if (thrown instanceof assert.AssertionError) throw thrown
      seen.breaks++
      await delay(20)
    }
  }
}

async function write(server: RunningServer, run: Run, random: () => number): Promise<void> {
  while (!run.stopped) {
    const path = `/db/d${Math.floor(random() * DOCUMENTS)}`
    try {
      const { json } = await ask(server, 'GET', path)
      const body = { ...(typeof json._rev === 'string' ? { _rev: json._rev } : {}), r: random() }
      const { status } = await ask(server, 'PUT', path, body)
      if (status === 201) run.acknowledged++
    } catch {
      // The worker died under it.
      await delay(10)
    }
  }
}

const workersOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)

/** Kills one of the workers again and again, as long as another is left. */
async function killWorkers(server: RunningServer, run: Run, random: () => number): Promise<void> {
  while (!run.stopped) {
    await delay(KILL_EVERY_MS)
    const workers = workersOf(server.process.pid as number).filter(pid => pid > 0)
    const victim = workers[Math.floor(random() * workers.length)]
    if (victim === undefined || workers.length < 2 || run.stopped) continue
    process.kill(victim, 'SIGKILL')
    run.kills++
  }
}

/** Workers that die often are replaced slowly: for a while nobody may listen. */
async function askPatiently(server: RunningServer, path: string) {
  for (const dueMs = performance.now() + SETTLE_MS; ; await delay(100)) {
    try {
      return await ask(server, 'GET', path)
    } catch (thrown) {
      if (performance.now() > dueMs) throw thrown
    }
  }
}

async function finalRevisions(server: RunningServer): Promise<Map<string, string>> {
  const { json } = await askPatiently(server, '/db/_all_docs')
  const rows = json.rows as { id: string; value: { rev: string } }[]
  return new Map(rows.map(row => [row.id, row.value.rev]))
}

const sameEntries = (a: Map<string, string>, b: Map<string, string>): boolean =>
  a.size === b.size && [...a].every(([id, rev]) => b.get(id) === rev)

test(`no feed misses a change while workers die (seed ${seed})`, async () => {
  const server = await startProcess(folder, ['--admin', 'admin:pass', '--workers', '2'])
  const random = randomFrom(seed)
  try {
    await ask(server, 'PUT', '/db')
    const writing = newRun()
    const reading = newRun()
    const feeds = { plain: new Seen(), documents: new Seen(), longpoll: new Seen() }
    const readers = Promise.all([
      followContinuous(server, feeds.plain, reading, ''),
      followContinuous(server, feeds.documents, reading, '&include_docs=true'),
      followLongpoll(server, feeds.longpoll, reading),
    ])
    const writers = [1, 2, 3].map(() => write(server, writing, random))
    const killer = killWorkers(server, writing, random)
    const endMs = performance.now() + RUN_MS_MAX
    const isDone = () => writing.kills >= KILLS && writing.acknowledged >= WRITES
    while (!isDone() && performance.now() < endMs) await delay(50)
    writing.stopped = true
    await Promise.all([...writers, killer])
    assert.ok(writing.kills > 0 && writing.acknowledged > 0, JSON.stringify(writing))
    const expected = await finalRevisions(server)
    const dueMs = performance.now() + SETTLE_MS
    const all = Object.values(feeds)
    while (!all.every(({ revs }) => sameEntries(revs, expected)) && performance.now() < dueMs) {
      await delay(50)
    }
    reading.stopped = true
    await readers
    for (const [name, { revs }] of Object.entries(feeds)) {
      assert.deepEqual(new Map([...revs].sort()), new Map([...expected].sort()), name)
    }
    assert.ok(feeds.plain.breaks + feeds.documents.breaks > 0, 'feeds were broken off')
  } finally {
    await server.stop()
  }
})
