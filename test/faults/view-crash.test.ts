/**
 * Processes die while an index is built, for the first time or anew because it was far behind: the one that builds it,
 * then the whole server. Whoever asked gets the right rows all the same, or gets them after the next start; and workers
 * agree on what a view holds.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type RunningServer, startProcess } from '../support/start-process.ts'

const DOCUMENTS = 3000
const BULK = 500

const folder = mkdtempSync(join(tmpdir(), 'gurney-view-crash-'))
// Little memory for sorting, so that a build saves what it has several times.
writeFileSync(
  join(folder, 'local.ini'),
  '[svc_httpd_auth]\niterations = 10\n[indexing]\nsort_bytes = 65536\nfar_behind = 1000\n',
)
after(() => rmSync(folder, { recursive: true, force: true }))

const FLAGS = ['--admin', 'admin:pass', '--workers', '2']

interface Answer {
  readonly status: number
  readonly json: unknown
}

function ask(server: RunningServer, method: string, path: string, body?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json' }
    const options = { port: server.port, host: '127.0.0.1', method, path, headers }
    const outgoing = httpRequest({ ...options, auth: 'admin:pass', agent: false }, response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ status: response.statusCode ?? 0, json: JSON.parse(text) })
      })
    })
    outgoing.on('error', reject)
    outgoing.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** Takes long enough to be caught at it. */
const design = (number: number) => ({
  autoupdate: false,
  views: {
    n: {
      map: `function (doc) {
        for (var end = Date.now() + 1; Date.now() < end;) ;
        emit(doc.n, ${number}); emit([doc.n % 10], doc.n)
      }`,
      reduce: '_count',
    },
  },
})

async function load(server: RunningServer, database = 'db', first = 0): Promise<void> {
  await ask(server, 'PUT', `/${database}`)
  for (let from = first; from < DOCUMENTS; from += BULK) {
    const length = Math.min(BULK, DOCUMENTS - from)
    const docs = Array.from({ length }, (_, i) => ({ _id: `d${from + i}`, n: from + i }))
    const { status } = await ask(server, 'POST', `/${database}/_bulk_docs`, { docs })
    assert.equal(status, 201)
  }
}

/** Waits until so many changes are in; the process that builds the index. */
async function builderOf(server: RunningServer, designId: string, done: number): Promise<number> {
  for (let tries = 0; tries < 1500; tries++) {
    const { json } = await ask(server, 'GET', '/_active_tasks')
    const task = (json as Task[]).find(
      each => each.type === 'indexer' && each.design_document === designId,
    )
    if (task !== undefined && task.changes_done >= done) return Number(task.pid.split('.')[1])
    await delay(20)
  }
  throw new Error('nobody is seen building the index')
}

interface Task {
  readonly type: string
  readonly pid: string
  readonly design_document: string
  readonly changes_done: number
}

function check({ status, json }: Answer, number: number): void {
  assert.equal(status, 200, JSON.stringify(json))
  const { rows } = json as { rows: { id: string; key: unknown; value: unknown }[] }
  const singles = Array.from({ length: DOCUMENTS }, (_, n) => ({
    id: `d${n}`,
    key: n,
    value: number,
  }))
  assert.deepEqual(rows.slice(0, DOCUMENTS), singles)
  assert.equal(rows.length, 2 * DOCUMENTS)
}

test('an index is right although the processes that build it are killed', async () => {
  let server = await startProcess(folder, FLAGS)
  try {
    await load(server)
    await ask(server, 'PUT', '/db/_design/one', design(1))
    const asked = ask(server, 'GET', '/db/_design/one/_view/n?reduce=false')
    process.kill(await builderOf(server, '_design/one', 1), 'SIGKILL')
    process.kill(await builderOf(server, '_design/one', 0), 'SIGKILL')
    check(await asked, 1)

    await ask(server, 'PUT', '/db/_design/two', design(2))
    const lost = ask(server, 'GET', '/db/_design/two/_view/n').catch(() => undefined)
    await builderOf(server, '_design/two', 1)
    await server.kill()
    await lost
    server = await startProcess(folder, FLAGS)
    check(await ask(server, 'GET', '/db/_design/two/_view/n?reduce=false'), 2)
    const { json } = await ask(server, 'GET', '/db/_design/two/_view/n')
    assert.deepEqual(json, { rows: [{ key: null, value: 2 * DOCUMENTS }] })
    check(await ask(server, 'GET', '/db/_design/one/_view/n?reduce=false'), 1)

    for (let n = 0; n < 10; n++) {
      await ask(server, 'PUT', `/db/new${n}`, { n: DOCUMENTS + n })
      const path = `/db/_design/one/_view/n?reduce=false&key=${DOCUMENTS + n}`
      const answers = await Promise.all([1, 2, 3, 4].map(() => ask(server, 'GET', path)))
      for (const answer of answers) {
        assert.deepEqual((answer.json as { rows: unknown[] }).rows, [
          { id: `new${n}`, key: DOCUMENTS + n, value: 1 },
        ])
      }
    }
  } finally {
    await server.kill()
  }
})

test('an index far behind serves what it had while it is built anew, and is right although its builders are killed', async () => {
  let server = await startProcess(folder, FLAGS)
  try {
    const view = '/late/_design/one/_view/n?reduce=false'
    const few = Array.from({ length: 10 }, (_, n) => ({ _id: `d${n}`, n }))
    await ask(server, 'PUT', '/late')
    await ask(server, 'POST', '/late/_bulk_docs', { docs: few })
    await ask(server, 'PUT', '/late/_design/one', design(1))
    const { json: before } = await ask(server, 'GET', view)
    assert.equal((before as { rows: unknown[] }).rows.length, 20)
    await load(server, 'late', 10)

    const asked = ask(server, 'GET', view).catch(() => undefined)
    const builder = await builderOf(server, '_design/one', 1500)
    // Changed block by block it would show what has come in by now.
    assert.deepEqual((await ask(server, 'GET', `${view}&update=false`)).json, before)
    process.kill(builder, 'SIGKILL')
    await builderOf(server, '_design/one', 0)
    await server.kill()
    await asked
    server = await startProcess(folder, FLAGS)
    assert.deepEqual((await ask(server, 'GET', `${view}&update=false`)).json, before)
    check(await ask(server, 'GET', view), 1)
  } finally {
    await server.kill()
  }
})
