/**
 * How fast are documents? Reads of a 500-byte document beside a bare node:http server that sends the same bytes, single
 * writes, bulk writes, lists with documents, bulk reads. Each figure stands beside its goal, a multiple of what
 * CouchDB 3.5 did on a two-core machine. The client runs on the same machine and takes its share: on a busy one read
 * the processor time.
 *
 *   node --import tsx bench/documents.bench.ts [--quick] [--peer]
 *
 * With --peer the same is asked of `pouchdb-server` from npm afterwards.
 */
import { randomBytes } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { loadavg } from 'node:os'
import { startBareServer } from './bare-server.ts'
import { requestBytes, runLoad } from './load.ts'
import { startPouchdbServer } from './pouchdb-peer.ts'
import { type BenchServer, runServer } from './run-server.ts'

const quick = process.argv.includes('--quick')
const DURATION_MS = quick ? 1500 : 5000
const LISTED_COUNT = quick ? 10_000 : 50_000
const BULK_COUNT = 1000
const CONNECTIONS = 32
const WORKERS = 2
const ROUNDS = 7

/** Per second, from the measurements of CouchDB: 8, 6, 3, 10 and 5 times. */
const GOALS = { get: 15_784, put: 6_888, bulk: 34_800, list: 178_000, bulkGet: 49_000 }

const BODY = { text: 'x'.repeat(430), number: 17, flag: true }

async function main(): Promise<void> {
  await measure(await runServer({ workerCount: WORKERS }))
  if (!process.argv.includes('--peer')) return
  console.log('\npouchdb-server, one process:')
  await measure(await startPouchdbServer())
}

async function measure(server: BenchServer): Promise<void> {
  try {
    await ask(server, 'PUT', '/bench')
    await measureGet(server)
    await measurePut(server)
    await measureBulk(server)
    await measureList(server, '/listed/_all_docs', 'list, ids only')
    await measureList(server, '/listed/_all_docs?include_docs=true', 'list with documents')
    await measureBulkGet(server)
  } finally {
    await server.stop()
  }
}

function print(label: string, perSecond: number, goal: number | undefined, cpuUs: number): void {
  const ratio = goal === undefined ? '' : ` (${(perSecond / goal).toFixed(2)} of the goal)`
  const load = loadavg()[0]?.toFixed(1)
  const figure = perSecond.toFixed(0).padStart(8)
  console.log(
    `${label.padEnd(22)} ${figure}/s${ratio}, ${cpuUs.toFixed(1)} us CPU each, load ${load}`,
  )
}

/** In turns with the bare server, so that a busy machine slows both. */
async function measureGet(server: BenchServer): Promise<void> {
  await ask(server, 'PUT', '/bench/one', JSON.stringify(BODY))
  await ask(server, 'PUT', '/bench/_security', '{}')
  const bare = await startBareServer(WORKERS, String(await ask(server, 'GET', '/bench/one')))
  const { port } = server
  const plain = requestBytes('GET', '/bench/one')
  const known = requestBytes('GET', '/bench/one', { Authorization: server.authorization })
  const loads = {
    bare: { port: bare.port, request: plain },
    anonymous: { port, request: plain },
    admin: { port, request: known },
  }
  const rates = { bare: [] as number[], anonymous: [] as number[], admin: [] as number[] }
  const cpuUs = { bare: 0, anonymous: 0, admin: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of ['bare', 'anonymous', 'admin'] as const) {
      const cpu = server.cpuMs()
      const load = { connectionCount: CONNECTIONS, durationMs: DURATION_MS / 4 }
      const { perSecond, requestCount } = await runLoad({ ...load, ...loads[name] })
      cpuUs[name] = ((server.cpuMs() - cpu) * 1000) / requestCount
      // the first rounds are for the compiler
      if (round > 1) rates[name].push(perSecond)
    }
  }
  bare.stop()
  const yardstick = median(rates.bare)
  for (const name of ['anonymous', 'admin'] as const) {
    const rate = median(rates[name])
    print(`GET 500 bytes, ${name}`, rate, GOALS.get, cpuUs[name])
    const ratio = (rate / yardstick).toFixed(2)
    console.log(`  bare node:http, ${WORKERS} processes ${yardstick.toFixed(0)}/s: ${ratio}`)
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

async function measurePut(server: BenchServer): Promise<void> {
  const text = JSON.stringify(BODY)
  const headers = { Authorization: server.authorization, 'Content-Type': 'application/json' }
  const run = randomBytes(4).toString('hex')
  const rounds: { perSecond: number; cpuUs: number }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const cpu = server.cpuMs()
    const result = await runLoad({
      port: server.port,
      connectionCount: CONNECTIONS,
      durationMs: DURATION_MS,
      request: n => requestBytes('PUT', `/bench/${run}-${round}-${n}`, headers, text),
    })
    const { perSecond, requestCount, statuses } = result
    const written = statuses[201] ?? 0
    if (written !== requestCount) throw new Error(`PUT: ${JSON.stringify(statuses)}`)
    rounds.push({ perSecond, cpuUs: ((server.cpuMs() - cpu) * 1000) / requestCount })
  }
  // the first rounds are for the compiler: a write is a long way through the code
  const later = rounds.slice(2)
  const cpuUs = median(later.map(round => round.cpuUs))
  print('PUT, 32 connections', median(later.map(each => each.perSecond)), GOALS.put, cpuUs)
  console.log(`  rounds ${rounds.map(({ perSecond }) => perSecond.toFixed(0)).join(', ')}`)
}

async function measureBulk(server: BenchServer): Promise<void> {
  await ask(server, 'PUT', '/listed')
  const requests: string[] = []
  for (let first = 0; first < LISTED_COUNT; first += BULK_COUNT) {
    const docs = Array.from({ length: BULK_COUNT }, (_, index) => ({
      _id: String(first + index).padStart(32, '0'),
      ...BODY,
    }))
    requests.push(JSON.stringify({ docs }))
  }
  const cpu = server.cpuMs()
  const startedMs = performance.now()
  for (const body of requests) await ask(server, 'POST', '/listed/_bulk_docs', body)
  const seconds = (performance.now() - startedMs) / 1000
  const cpuUs = ((server.cpuMs() - cpu) * 1000) / LISTED_COUNT
  print('bulk writes of 1000', LISTED_COUNT / seconds, GOALS.bulk, cpuUs)
}

async function measureList(server: BenchServer, path: string, label: string): Promise<void> {
  const rounds = quick ? 3 : 5
  await ask(server, 'GET', path)
  const cpu = server.cpuMs()
  const startedMs = performance.now()
  for (let round = 0; round < rounds; round++) await drain(server, path)
  const seconds = (performance.now() - startedMs) / 1000
  const rows = rounds * LISTED_COUNT
  const cpuUs = ((server.cpuMs() - cpu) * 1000) / rows
  print(label, rows / seconds, GOALS.list, cpuUs)
}

async function measureBulkGet(server: BenchServer): Promise<void> {
  const rounds = quick ? 10 : 50
  const docs = Array.from({ length: BULK_COUNT }, (_, index) => ({
    id: String(index * 7).padStart(32, '0'),
  }))
  const body = JSON.stringify({ docs })
  const cpu = server.cpuMs()
  const startedMs = performance.now()
  for (let round = 0; round < rounds; round++) {
    await ask(server, 'POST', '/listed/_bulk_get?revs=true&latest=true', body)
  }
  const seconds = (performance.now() - startedMs) / 1000
  const count = rounds * BULK_COUNT
  print(
    'bulk reads of 1000',
    count / seconds,
    GOALS.bulkGet,
    ((server.cpuMs() - cpu) * 1000) / count,
  )
}

async function ask(
  server: BenchServer,
  method: string,
  path: string,
  body?: string,
): Promise<Buffer> {
  const chunks: Buffer[] = []
  await send(server, method, path, body, chunk => chunks.push(chunk))
  return Buffer.concat(chunks)
}

/** Reads an answer and keeps nothing of it. */
const drain = (server: BenchServer, path: string): Promise<void> =>
  send(server, 'GET', path, undefined, () => {})

function send(
  { port, authorization }: BenchServer,
  method: string,
  path: string,
  body: string | undefined,
  onChunk: (chunk: Buffer) => void,
): Promise<void> {
  const headers = { Authorization: authorization, 'Content-Type': 'application/json' }
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest({ port, host: '127.0.0.1', method, path, headers }, response => {
      if ((response.statusCode ?? 500) >= 400) reject(new Error(`${path}: ${response.statusCode}`))
      response.on('data', onChunk).on('end', resolve).on('error', reject)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

await main()
