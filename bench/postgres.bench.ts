/**
 * What does PostgreSQL cost? The same load on the embedded engine and on a PostgreSQL server beside it, by turns, the median
 * of some rounds each: reads of documents, declarative queries, bulk writes, a view built. Figures are ratios: goals are half of
 * the embedded rate for reads, queries and views, a third for bulk writes. Requests are timed after a warm-up: what a
 * process has just begun to run is slow, all the more where there is more of it. On a busy machine read the processor
 * time, of Gurney and PostgreSQL apart. Then bulk writes and reads while a database grows, for the cost of a document
 * should stay the same; and reads of two nodes beside those of one, which say something only where there are cores for
 * both, the server and the client.
 *
 *   node --import tsx bench/postgres.bench.ts [--quick] [--grow N] [--only-grow]
 *
 * `--grow N` goes to N documents, in steps from 10,000 by ten: a million takes some minutes, and is what a run without
 * `--quick` does. `--only-grow` leaves the rest out.
 *
 * PostgreSQL is that of the tests: GURNEY_TEST_POSTGRES, or one of its own.
 */
import { availableParallelism, loadavg } from 'node:os'
import { startPostgres } from '../test/support/postgres.ts'
import { treeCpuMs } from '../test/support/process-figures.ts'
import { requestBytes, runLoad } from './load.ts'
import { type BenchServer, runServer } from './run-server.ts'

const quick = process.argv.includes('--quick')
const ROUNDS = 5
const ROUND_MS = quick ? 800 : 2000
const WARM_MS = quick ? 1500 : 3000
const ROUND_DOCUMENTS = quick ? 2000 : 10_000
const DOCUMENTS = ROUNDS * ROUND_DOCUMENTS
const BULK = 1000
const CONNECTIONS = 32
const NAMES = ['get', 'find', 'bulk', 'view'] as const
const GOALS = { get: 1 / 2, find: 1 / 2, bulk: 1 / 3, view: 1 / 2 }

interface Figure {
  readonly perSecond: number
  /** Of Gurney. */
  readonly ownUs: number
  readonly postgresUs: number
}

type Timed = (work: () => Promise<Counted>) => Promise<Figure>

/** Gives a rate, and the processor time of one, of all processes but the client. */
const timedOn =
  (server: BenchServer, postgresPid: number | undefined): Timed =>
  async work => {
    const cpuMs = () => ({
      own: server.cpuMs(),
      postgres: postgresPid === undefined ? 0 : treeCpuMs(postgresPid),
    })
    const before = cpuMs()
    const { perSecond, count } = await work()
    const after = cpuMs()
    return {
      perSecond,
      ownUs: ((after.own - before.own) * 1000) / count,
      postgresUs: ((after.postgres - before.postgres) * 1000) / count,
    }
  }

interface Counted {
  readonly perSecond: number
  readonly count: number
}

/** Scattered: neighbours in time are none in the order of ids. */
const idOf = (n: number): string => `doc-${String((n * 7919) % 10_000_019).padStart(8, '0')}`

const documentsFrom = (start: number, count: number): object[] =>
  Array.from({ length: count }, (_, at) => ({
    _id: idOf(start + at),
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
  durationMs: number,
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

const getRequest =
  ({ authorization }: BenchServer, database: string, count: number) =>
  (n: number): Buffer =>
    requestBytes('GET', `/${database}/${idOf((n * 31) % count)}`, { Authorization: authorization })

interface Side {
  readonly server: BenchServer
  readonly timed: Timed
}

/** What is measured, side by side. Each of them leaves what the next needs. */
async function measure(sides: readonly Side[]): Promise<void> {
  for (const { server } of sides) await ask(server, 'PUT', '/bench')
  const bulk = await byTurns(sides, (server, round) =>
    fill(server, 'bench', round * ROUND_DOCUMENTS, ROUND_DOCUMENTS),
  )
  const get = await loaded(sides, server => getRequest(server, 'bench', 5000))
  const view = await byTurns(sides, buildView)
  for (const { server } of sides) {
    await ask(server, 'POST', '/bench/_index', { index: { fields: ['place'] } })
    await ask(server, 'POST', '/bench/_find', placeQuery(0))
  }
  const find = await loaded(sides, findRequest)
  compare({ get, find, bulk, view })
}

const placeQuery = (place: number) => ({ selector: { place: `place-${place}` }, limit: 10 })

const findRequest = ({ authorization }: BenchServer) => {
  const headers = { Authorization: authorization, 'Content-Type': 'application/json' }
  return (n: number): Buffer =>
    requestBytes('POST', '/bench/_find', headers, JSON.stringify(placeQuery(n % 500)))
}

async function loaded(
  sides: readonly Side[],
  requestOf: (server: BenchServer) => (n: number) => Buffer,
): Promise<Figure[]> {
  for (const { server } of sides) await requests(server, requestOf(server), WARM_MS)
  return byTurns(sides, server => requests(server, requestOf(server), ROUND_MS))
}

/** The median of some rounds, for each side. */
async function byTurns(
  sides: readonly Side[],
  work: (server: BenchServer, round: number) => Promise<Counted>,
): Promise<Figure[]> {
  const rounds: Figure[][] = sides.map(() => [])
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, { server, timed }] of sides.entries()) {
      rounds[at]?.push(await timed(() => work(server, round)))
    }
  }
  return rounds.map(figures => ({
    perSecond: median(figures.map(figure => figure.perSecond)),
    ownUs: median(figures.map(figure => figure.ownUs)),
    postgresUs: median(figures.map(figure => figure.postgresUs)),
  }))
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] as number

/** Another one each round. */
async function buildView(server: BenchServer, round: number): Promise<Counted> {
  const map = `function (doc) { emit(doc.place, doc.n + ${round}) }`
  await ask(server, 'PUT', `/bench/_design/d${round}`, { views: { v: { map, reduce: '_sum' } } })
  const startMs = performance.now()
  await ask(server, 'GET', `/bench/_design/d${round}/_view/v`)
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

function compare(figures: Readonly<Record<keyof typeof GOALS, Figure[]>>): void {
  for (const name of NAMES) {
    const [ours, theirs] = figures[name] as [Figure, Figure]
    const ratio = theirs.perSecond / ours.perSecond
    console.log(
      `${name.padEnd(5)} ${print(ours)} embedded, ${print(theirs)} PostgreSQL: ` +
        `${ratio.toFixed(2)} of the rate (goal ${GOALS[name].toFixed(2)}), ` +
        `${(costOf(ours) / costOf(theirs)).toFixed(2)} by processor time, load ${loadavg()[0]?.toFixed(1)}`,
    )
  }
}

const costOf = ({ ownUs, postgresUs }: Figure): number => ownUs + postgresUs

function print({ perSecond, ownUs, postgresUs }: Figure): string {
  const there = postgresUs === 0 ? '' : ` + ${postgresUs.toFixed(0)}`
  return `${perSecond.toFixed(0).padStart(7)}/s ${ownUs.toFixed(0).padStart(4)}${there} us`
}

/** The cost of a document while there are ever more. */
async function grow(server: BenchServer, most: number, postgresPid: number | undefined) {
  const timed = timedOn(server, postgresPid)
  // The first step is not to be the one at which the processes get warm.
  await ask(server, 'PUT', '/warm')
  await fill(server, 'warm', 0, 20_000)
  await requests(server, getRequest(server, 'warm', 20_000), WARM_MS)
  await ask(server, 'PUT', '/growing')
  let count = 0
  for (let step = 10_000; step <= most; step *= 10) {
    const added = step - count
    const bulk = await timed(() => fill(server, 'growing', step - added, added))
    count = step
    const request = getRequest(server, 'growing', step)
    await requests(server, request, WARM_MS)
    const get = await timed(() => requests(server, request, ROUND_MS))
    const size = String(count).padStart(8)
    console.log(`${size} documents: written ${print(bulk)}, read ${print(get)}`)
  }
}

async function twoNodes(address: string): Promise<void> {
  await withServer({ engine: address, nodeName: 'one@127.0.0.1' }, one =>
    withServer({ engine: address, nodeName: 'two@127.0.0.1' }, async two => {
      await ask(one, 'PUT', '/nodes')
      await fill(one, 'nodes', 0, 5000)
      const alone = await requests(one, getRequest(one, 'nodes', 5000), ROUND_MS)
      const both = await Promise.all(
        [one, two].map(server => requests(server, getRequest(server, 'nodes', 5000), ROUND_MS)),
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
  const onlyGrow = process.argv.includes('--only-grow')
  if (!onlyGrow) {
    await withServer({}, embedded =>
      withServer({ engine: postgres.address() }, shared =>
        measure([
          { server: embedded, timed: timedOn(embedded, undefined) },
          { server: shared, timed: timedOn(shared, pid) },
        ]),
      ),
    )
  }
  await withServer({ engine: postgres.address() }, server => grow(server, growMost, pid))
  if (!onlyGrow) await twoNodes(postgres.address())
} finally {
  await postgres.stop()
}
