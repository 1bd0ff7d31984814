/**
 * How fast are declarative queries? A page of 20 documents from a JSON index, the same covered by the index, and a scan of
 * all documents with a selector that few pass. Each figure stands beside its goal, a multiple of what CouchDB 3.5 did
 * on a two-core machine. The client runs on the same machine: on a busy one read the processor time.
 *
 *   node --import tsx bench/find.bench.ts [--quick]
 */
import { loadavg } from 'node:os'
import { requestBytes, runLoad } from './load.ts'
import { type BenchServer, runServer } from './run-server.ts'

const quick = process.argv.includes('--quick')
const DURATION_MS = quick ? 2000 : 8000
const DOCUMENT_COUNT = quick ? 20_000 : 100_000
const GROUP_COUNT = DOCUMENT_COUNT / 20
const BULK_COUNT = 1000
const CONNECTIONS = 16

/** Per second: 20 times 240 requests, 5 times 31,000 documents. */
const GOALS = { indexed: 4800, scanned: 155_000 }

async function main(): Promise<void> {
  const server = await runServer({ workerCount: 2 })
  try {
    await fill(server)
    await measureBuild(server)
    const selector = (n: number) => ({ group: n % GROUP_COUNT })
    await measureFind(server, 'indexed, 20 documents', n => ({ selector: selector(n), limit: 20 }))
    await measureFind(server, 'covered, 20 rows', n => ({
      selector: selector(n),
      fields: ['_id', 'group'],
      limit: 20,
    }))
    await measureScan(server, 'scan, equality', { name: 'nobody' })
    await measureScan(server, 'scan, number', { age: { $gt: 1000 } })
    await measureText(server)
  } finally {
    await server.stop()
  }
}

function print(
  label: string,
  perSecond: number,
  goal: number | undefined,
  cpuUs: number | undefined,
): void {
  const ratio = goal === undefined ? '' : ` (${(perSecond / goal).toFixed(2)} of the goal)`
  const cpu = cpuUs === undefined ? '' : `, ${cpuUs.toFixed(1)} us CPU each`
  const load = loadavg()[0]?.toFixed(1)
  const figure = perSecond.toFixed(0).padStart(8)
  console.log(`${label.padEnd(22)} ${figure}/s${ratio}${cpu}, load ${load}`)
}

const WORDS = 'alpha beta gamma delta epsilon zeta eta theta iota kappa'.split(' ')

const documentOf = (n: number) => ({
  _id: String(n).padStart(10, '0'),
  type: 'person',
  group: n % GROUP_COUNT,
  name: `name ${n % 1000}`,
  age: n % 90,
  active: n % 2 === 0,
  address: { street: `street ${n % 77}`, city: `city ${n % 33}`, code: 10_000 + (n % 1000) },
  tags: [WORDS[n % 10], WORDS[(n * 7) % 10]],
  note: 'x'.repeat(150),
})

async function fill(server: BenchServer): Promise<void> {
  await ask(server, 'PUT', '/bench')
  for (let first = 0; first < DOCUMENT_COUNT; first += BULK_COUNT) {
    const docs = Array.from({ length: BULK_COUNT }, (_, at) => documentOf(first + at))
    await ask(server, 'POST', '/bench/_bulk_docs', { docs })
  }
}

async function measureBuild(server: BenchServer): Promise<void> {
  const startedMs = performance.now()
  await ask(server, 'POST', '/bench/_index', { index: { fields: ['group'] }, ddoc: 'g', name: 'g' })
  await ask(server, 'POST', '/bench/_find', { selector: { group: 1 }, use_index: 'g' })
  const perSecond = (DOCUMENT_COUNT * 1000) / (performance.now() - startedMs)
  print('build of a JSON index', perSecond, undefined, undefined)
}

async function measureFind(
  server: BenchServer,
  label: string,
  queryOf: (n: number) => object,
): Promise<void> {
  const headers = { Authorization: server.authorization, 'Content-Type': 'application/json' }
  const load = {
    port: server.port,
    connectionCount: CONNECTIONS,
    durationMs: DURATION_MS,
    request: (n: number) =>
      requestBytes('POST', '/bench/_find', headers, JSON.stringify(queryOf(n))),
  }
  // once for the compiler
  await runLoad({ ...load, durationMs: DURATION_MS / 2 })
  const cpu = server.cpuMs()
  const result = await runLoad(load)
  const cpuUs = ((server.cpuMs() - cpu) * 1000) / result.requestCount
  print(label, result.perSecond, GOALS.indexed, cpuUs)
  console.log(`  ${JSON.stringify(result.statuses)} ${JSON.stringify(result.latencyUs)}`)
}

async function measureScan(server: BenchServer, label: string, selector: object): Promise<void> {
  const rounds = quick ? 3 : 5
  await ask(server, 'POST', '/bench/_find', { selector })
  const cpu = server.cpuMs()
  const startedMs = performance.now()
  for (let round = 0; round < rounds; round++) {
    await ask(server, 'POST', '/bench/_find', { selector })
  }
  const seconds = (performance.now() - startedMs) / 1000
  const count = rounds * DOCUMENT_COUNT
  print(label, count / seconds, GOALS.scanned, ((server.cpuMs() - cpu) * 1000) / count)
}

async function measureText(server: BenchServer): Promise<void> {
  const startedMs = performance.now()
  const index = {
    fields: [
      { name: 'name', type: 'string' },
      { name: 'tags', type: 'string' },
    ],
  }
  await ask(server, 'POST', '/bench/_index', { type: 'text', index, ddoc: 't', name: 't' })
  await ask(server, 'POST', '/bench/_find', { selector: { $text: 'nothing' } })
  print(
    'build of a text index',
    (DOCUMENT_COUNT * 1000) / (performance.now() - startedMs),
    undefined,
    undefined,
  )
  await measureFind(server, 'text, one in a thousand', n => ({
    selector: { $text: `"name ${n % 1000}"` },
    limit: 20,
  }))
}

async function ask(
  server: BenchServer,
  method: string,
  path: string,
  body?: object,
): Promise<string> {
  const headers = { Authorization: server.authorization, 'Content-Type': 'application/json' }
  const url = `http://127.0.0.1:${server.port}${path}`
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await fetch(url, { method, headers, ...sent })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return text
}

await main()
