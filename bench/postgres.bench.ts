/**
 * What does PostgreSQL cost? The same load on the embedded engine and on a PostgreSQL server beside it, one after the other
 * in one run: reads of documents, declarative queries, bulk writes, a view built. Figures are ratios: goals are half of
 * the embedded rate for reads, queries and views, a third for bulk writes. On a busy machine read the processor time, of
 * Gurney and PostgreSQL together. Then bulk writes and reads while a database
 * grows, for the cost of a document should stay the same; and reads of two nodes beside those of one, which say something
 * only where there are cores for both, the server and the client.
 *
 *   node --import tsx bench/postgres.bench.ts [--quick] [--grow N]
 *
 * PostgreSQL is that of the tests: GURNEY_TEST_POSTGRES, or one of its own.
 */
import { availableParallelism, loadavg } from 'node:os'
import { startPostgres } from '../test/support/postgres.ts'
import { treeCpuMs } from '../test/support/process-figures.ts'
import { requestBytes, runLoad } from './load.ts'
import { type BenchServer, runServer } from './run-server.ts'

const quick = process.argv.includes('--quick')
const DURATION_MS = quick ? 2000 : 5000
const DOCUMENTS = quick ? 10_000 : 50_000
const BULK = 1000
const CONNECTIONS = 32
const VIEW = { map: 'function (doc) { emit(doc.place, doc.n) }', reduce: '_sum' }
const GOALS = { get: 1 / 2, find: 1 / 2, bulk: 1 / 3, view: 1 / 2 }

interface Figure {
  readonly perSecond: number
  readonly cpuUs: number
}

type Figures = Readonly<Record<keyof typeof GOALS, Figure>>

/** A rate, and the processor time of one, of all processes but the client. */
async function timed(cpuMs: () => number, work: () => Promise<Counted>): Promise<Figure> {
  const before = cpuMs()
  const { perSecond, count } = await work()
  return { perSecond, cpuUs: ((cpuMs() - before) * 1000) / count }
}

interface Counted {
  readonly perSecond: number
  readonly count: number
}

const documentsFrom = (start: number, count: number): object[] =>
  Array.from({ length: count }, (_, at) => ({
    _id: `doc-${String(((start + at) * 7919) % 10_000_019).padStart(8, '0')}`,
    type: 'data_record',
    n: start + at,
    place: `place-${(start + at) % 500}`,
    text: 'x'.repeat(350),
  }))

async function ask(
  { port, authorization }: BenchServer,
  method: string,
  path: string,
  body?: unknown,
): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { Authorization: authorization, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return JSON.parse(text)
}

/** Documents a second, by two clients. */
async function fill(
  server: BenchServer,
  database: string,
  start: number,
  count: number,
): Promise<Counted> {
  const startMs = performance.now()
  let next = start
  const client = async (): Promise<void> => {
    while (next < start + count) {
      const from = next
      next += BULK
      await ask(server, 'POST', `/${database}/_bulk_docs`, { docs: documentsFrom(from, BULK) })
    }
  }
  await Promise.all([client(), client()])
  return { perSecond: (count * 1000) / (performance.now() - startMs), count }
}

async function requests(
  server: BenchServer,
  make: (n: number) => Buffer,
  durationMs = DURATION_MS,
): Promise<Counted> {
  const { perSecond, statuses, requestCount } = await runLoad({
    port: server.port,
    connectionCount: CONNECTIONS,
    durationMs,
    request: make,
  })
  const bad = Object.keys(statuses).filter(status => status !== '200')
  if (bad.length > 0) throw new Error(`answers with ${bad.join(', ')}`)
  return { perSecond, count: requestCount }
}

const getRequest = ({ authorization }: BenchServer, database: string, count: number) => {
  const ids = documentsFrom(0, count).map(document => (document as { _id: string })._id)
  return (n: number): Buffer =>
    requestBytes('GET', `/${database}/${ids[(n * 31) % count]}`, { Authorization: authorization })
}

async function measure(server: BenchServer, postgresPid?: number): Promise<Figures> {
  const cpuMs = (): number =>
    server.cpuMs() + (postgresPid === undefined ? 0 : treeCpuMs(postgresPid))
  await ask(server, 'PUT', '/bench')
  const bulk = await timed(cpuMs, () => fill(server, 'bench', 0, DOCUMENTS))
  const get = await timed(cpuMs, () => requests(server, getRequest(server, 'bench', 5000)))
  await ask(server, 'PUT', '/bench/_design/d', { views: { v: VIEW } })
  const view = await timed(cpuMs, () => buildView(server))
  await ask(server, 'POST', '/bench/_index', { index: { fields: ['place'] } })
  const query = (place: number) => ({ selector: { place: `place-${place}` }, limit: 10 })
  await ask(server, 'POST', '/bench/_find', query(0))
  const headers = { Authorization: server.authorization, 'Content-Type': 'application/json' }
  const request = (n: number): Buffer =>
    requestBytes('POST', '/bench/_find', headers, JSON.stringify(query(n % 500)))
  const find = await timed(cpuMs, () => requests(server, request))
  return { get, find, bulk, view }
}

async function buildView(server: BenchServer): Promise<Counted> {
  const startMs = performance.now()
  await ask(server, 'GET', '/bench/_design/d/_view/v')
  return { perSecond: (DOCUMENTS * 1000) / (performance.now() - startMs), count: DOCUMENTS }
}

async function withServer<T>(
  options: { readonly engine?: string; readonly nodeName?: string },
  work: (server: BenchServer) => Promise<T>,
): Promise<T> {
  const server = await runServer({ workerCount: 2, ...options })
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}

function compare(embedded: Figures, postgres: Figures): void {
  for (const name of ['get', 'find', 'bulk', 'view'] as const) {
    const [ours, theirs] = [embedded[name], postgres[name]]
    const ratio = theirs.perSecond / ours.perSecond
    console.log(
      `${name.padEnd(5)} ${print(ours)} embedded, ${print(theirs)} PostgreSQL: ` +
        `${ratio.toFixed(2)} of the rate (goal ${GOALS[name].toFixed(2)}), ` +
        `${(ours.cpuUs / theirs.cpuUs).toFixed(2)} by processor time, load ${loadavg()[0]?.toFixed(1)}`,
    )
  }
}

const print = ({ perSecond, cpuUs }: Figure): string =>
  `${perSecond.toFixed(0).padStart(7)}/s ${cpuUs.toFixed(0).padStart(5)} us`

/** The cost of a document while there are ever more. */
async function grow(server: BenchServer, most: number, postgresPid: number | undefined) {
  const cpuMs = (): number =>
    server.cpuMs() + (postgresPid === undefined ? 0 : treeCpuMs(postgresPid))
  await ask(server, 'PUT', '/growing')
  let count = 0
  for (let step = 10_000; step <= most; step *= 10) {
    const added = step - count
    const bulk = await timed(cpuMs, () => fill(server, 'growing', step - added, added))
    count = step
    const request = getRequest(server, 'growing', 5000)
    const get = await timed(cpuMs, () => requests(server, request, 2000))
    const size = String(count).padStart(8)
    console.log(`${size} documents: written ${print(bulk)}, read ${print(get)}`)
  }
}

async function twoNodes(address: string): Promise<void> {
  await withServer({ engine: address, nodeName: 'one@127.0.0.1' }, one =>
    withServer({ engine: address, nodeName: 'two@127.0.0.1' }, async two => {
      await ask(one, 'PUT', '/nodes')
      await fill(one, 'nodes', 0, 5000)
      const alone = await requests(one, getRequest(one, 'nodes', 5000))
      const both = await Promise.all(
        [one, two].map(server => requests(server, getRequest(server, 'nodes', 5000))),
      )
      const sum = both.reduce((total, { perSecond }) => total + perSecond, 0)
      const cores = availableParallelism()
      const note = cores < 8 ? `; ${cores} cores are too few to tell` : ''
      console.log(
        `two nodes read ${(sum / alone.perSecond).toFixed(2)} times what one does (goal 1.6)${note}`,
      )
    }),
  )
}

const growIndex = process.argv.indexOf('--grow')
const growMost = growIndex > 0 ? Number(process.argv[growIndex + 1]) : quick ? 100_000 : 1_000_000
const postgres = await startPostgres()
try {
  const pid = postgres.pid()
  const embedded = await withServer({}, server => measure(server))
  const shared = await withServer({ engine: postgres.address() }, server => measure(server, pid))
  compare(embedded, shared)
  await withServer({ engine: postgres.address() }, server => grow(server, growMost, pid))
  await twoNodes(postgres.address())
} finally {
  await postgres.stop()
}
