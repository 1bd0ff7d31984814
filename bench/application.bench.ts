/**
 * How fast is the application over a real amount of data? Contacts in a hierarchy and reports about them come from a
 * seeded generator: 200,000 contacts and 500,000 reports at scale 1. Asked are: one contact with its lineage beside a plain
 * document, a page of a freetext search, the ids that an offline user replicates (10,000 documents), and 1,000 users
 * made from a table with the usual rounds of password hashing.
 *
 *   node --import tsx bench/application.bench.ts [--scale 0.1] [--users 1000] [--iterations 1000]
 *
 * Goals: a contact with lineage within 3 times a document, the page and the ids within 300 ms each. On a busy machine read
 * the processor time.
 */
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import {
  CLINICS_PER_CENTER,
  type Doc,
  HealthData,
  NAMES,
  PEOPLE_PER_CLINIC,
} from './health-data.ts'
import { runServer } from './run-server.ts'

const option = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : Number(process.argv[at + 1])
}
const SCALE = option('scale', 0.1)
const USERS = option('users', 1000)
/** Rounds of hashing; a server that is not told otherwise does 600,000. */
const ITERATIONS = option('iterations', 1000)

const data = new HealthData(SCALE)
const { centerCount } = data
const BULK = 1000
const PASSWORD = 'Secret1.x9'

const server = await runServer({
  workerCount: 2,
  ini: `iterations = ${ITERATIONS}\n[svc]\napplication = true\n[couchdb]\nos_process_timeout = 60000\n`,
})
const base = `http://127.0.0.1:${server.port}`
const basic = (user: string): string => `Basic ${Buffer.from(user).toString('base64')}`

async function ask(
  method: string,
  path: string,
  body?: unknown,
  more: { user?: string; type?: string } = {},
) {
  const response = await fetch(base + path, {
    method,
    headers: {
      Authorization: basic(more.user ?? 'admin:pass'),
      Accept: 'application/json',
      'Content-Type': more.type ?? 'application/json',
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 500)}`)
  return JSON.parse(text)
}

/** The middle of several runs, in milliseconds. */
async function timed(
  name: string,
  times: number,
  work: (round: number) => Promise<unknown>,
  goal = '',
): Promise<number> {
  const taken: number[] = []
  const cpuBefore = server.cpuMs()
  for (let round = 0; round < times; round++) {
    const start = performance.now()
    await work(round)
    taken.push(performance.now() - start)
  }
  const middle = taken.sort((a, b) => a - b)[Math.floor(times / 2)] as number
  const cpu = (server.cpuMs() - cpuBefore) / times
  const aimed = goal === '' ? '' : ` (goal ${goal})`
  console.log(`${name}: ${middle.toFixed(2)} ms, ${cpu.toFixed(2)} ms of processor time${aimed}`)
  return middle
}

/** Asks again and again: at full scale an index takes longer than any client waits for an answer. */
async function indexed(design: string, view: string): Promise<void> {
  for (;;) {
    const path = `/svc/_design/${design}`
    await ask('GET', `${path}/_view/${view}?limit=1&reduce=false&update=lazy`)
    const { view_index: index } = await ask('GET', `${path}/_info`)
    if (index.updates_pending.total === 0) return
    await delay(250)
  }
}

/** How long a plain document takes while something else is going on: the middle and the slowest of a hundred. */
async function whileMaking(
  isGoing: () => boolean,
  someone: (round: number) => string,
): Promise<string> {
  const taken: number[] = []
  for (let round = 0; isGoing(); round++) {
    const start = performance.now()
    await ask('GET', `/svc/${someone(round)}`)
    taken.push(performance.now() - start)
    await delay(5)
  }
  taken.sort((a, b) => a - b)
  const at = (part: number): string => (taken[Math.floor(taken.length * part)] ?? 0).toFixed(2)
  return `${at(0.5)} ms in the middle, ${at(0.99)} ms at 99 in 100, of ${taken.length}`
}

try {
  let count = 0
  let batch: Doc[] = []
  const start = performance.now()
  const flush = async (): Promise<void> => {
    await ask('POST', '/svc/_bulk_docs', { docs: batch })
    count += batch.length
    batch = []
  }
  for (const document of data.documents()) {
    batch.push(document)
    if (batch.length === BULK) await flush()
  }
  await flush()
  const seconds = (performance.now() - start) / 1000
  console.log(
    `${count} documents written in ${seconds.toFixed(1)} s; load ${loadavg()[0]?.toFixed(1)}`,
  )
  await timed('indexes brought up', 1, async () => {
    await indexed('svc', 'contacts_by_depth')
    await indexed('svc-client', 'contacts_by_type')
  })

  const someone = (round: number): string =>
    `center-${round % centerCount}-clinic-${(round * 37) % CLINICS_PER_CENTER}-${round % PEOPLE_PER_CLINIC}`
  const plain = await timed('document', 500, round => ask('GET', `/svc/${someone(round)}`))
  const whole = await timed('contact with lineage', 500, round =>
    ask('GET', `/api/v1/contact/${someone(round)}?with_lineage=true`),
  )
  console.log(`  ratio ${(whole / plain).toFixed(2)} (goal 3)`)
  await timed(
    'freetext page of 100',
    20,
    round =>
      ask(
        'GET',
        `/api/v1/contact/uuid?freetext=${NAMES[round % NAMES.length]?.toLowerCase()}&limit=100`,
      ),
    '300',
  )

  const rita = {
    username: 'rita',
    password: PASSWORD,
    type: 'chw',
    place: 'center-1',
    contact: 'center-1-nurse',
  }
  await ask('POST', '/api/v1/users', rita)
  const user = `rita:${PASSWORD}`
  let held = 0
  await timed(
    'replication ids',
    11,
    async () => {
      const { doc_ids_revs: ids } = await ask('GET', '/api/v1/replication/get-ids', undefined, {
        user,
      })
      held = ids.length
    },
    '300',
  )
  console.log(`  ${held} documents`)
  await timed('one document of an offline user', 200, round =>
    ask('GET', `/svc/center-1-clinic-${round}-1-report-1`, undefined, { user }),
  )
  await timed('a hundred documents of an offline user', 50, round => {
    const docs = Array.from({ length: 100 }, (_, index) => ({
      id: `center-1-clinic-${(round * 100 + index) % CLINICS_PER_CENTER}-2-report-0`,
    }))
    return ask('POST', '/svc/_bulk_get', { docs }, { user })
  })
  await timed('the same, reports coming in meanwhile', 50, async round => {
    const report = { type: 'data_record', form: 'visit', fields: {}, reported_date: round }
    await ask('PUT', `/svc/meanwhile-${round}`, report)
    await ask('GET', `/svc/center-1-clinic-${round}-1-report-1`, undefined, { user })
  })

  const header = 'username,password,type,place,contact.name'
  const rows = Array.from(
    { length: USERS },
    (_, n) => `bench-${n},${PASSWORD},chw,center-${n % centerCount},Worker ${n}`,
  )
  // Hashing goes on beside the threads that answer: others must not feel it.
  let isMaking = true
  const others = whileMaking(() => isMaking, someone)
  const made = await timed(`${USERS} users from a table`, 1, async () => {
    const results = await ask('POST', '/api/v2/users', [header, ...rows].join('\n'), {
      type: 'text/csv',
    })
    const failed = results.filter((result: object) => 'error' in result)
    if (failed.length > 0) throw new Error(JSON.stringify(failed[0]))
  })
  isMaking = false
  console.log(`  ${Math.round(USERS / (made / 1000))} users/s with ${ITERATIONS} rounds of hashing`)
  console.log(`  a document meanwhile: ${await others}`)
} finally {
  await server.stop()
}
