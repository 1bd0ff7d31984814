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
import { runServer } from './run-server.ts'

const option = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : Number(process.argv[at + 1])
}
const SCALE = option('scale', 0.1)
const USERS = option('users', 1000)
/** Rounds of hashing; a server that is not told otherwise does 600,000. */
const ITERATIONS = option('iterations', 1000)

const CENTERS = Math.max(2, Math.round(70 * SCALE))
const CLINICS_PER_CENTER = 476
const PEOPLE_PER_CLINIC = 5
const REPORTS_PER_CONTACT = 2.5
const BULK = 1000
const PASSWORD = 'Secret1.x9'

let state = 4711
function below(limit: number): number {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0
  return Math.floor((state / 4294967296) * limit)
}
const NAMES =
  `Amina Juma Wanjiru Otieno Achieng Kiprop Mutua Njeri Odhiambo Chebet Barasa Nyambura Kamau
  Akinyi Wekesa Moraa Omondi Jepkosgei Mwangi Atieno`.split(/\s+/)
const someName = (): string => `${NAMES[below(NAMES.length)]} ${NAMES[below(NAMES.length)]}`

type Doc = { _id: string; [member: string]: unknown }

function* documents(): Generator<Doc, void, undefined> {
  yield { _id: 'district', type: 'district_hospital', name: 'District' }
  for (let center = 0; center < CENTERS; center++) yield* centerOf(center)
}

function* centerOf(number: number): Generator<Doc, void, undefined> {
  const district = { _id: 'district' }
  const _id = `center-${number}`
  const above = { _id, parent: district }
  const nurse = { _id: `${_id}-nurse`, parent: above }
  yield { _id, type: 'health_center', name: `Center ${number}`, parent: district, contact: nurse }
  yield { _id: nurse._id, type: 'person', name: someName(), parent: above }
  for (let clinic = 0; clinic < CLINICS_PER_CENTER; clinic++) {
    const place = { _id: `${_id}-clinic-${clinic}`, parent: above }
    const first = { _id: `${place._id}-0`, parent: place }
    yield { ...place, type: 'clinic', name: `${someName()} household`, contact: first }
    for (let person = 0; person < PEOPLE_PER_CLINIC; person++) {
      const patient = String(1_000_000 + below(8_000_000)) + number
      const id = `${place._id}-${person}`
      yield { _id: id, type: 'person', name: someName(), patient_id: patient, parent: place }
      const reports = REPORTS_PER_CONTACT * (1 + 1 / PEOPLE_PER_CLINIC)
      for (let report = 0; report < reports; report++) {
        yield {
          _id: `${id}-report-${report}`,
          type: 'data_record',
          form: ['visit', 'delivery', 'stock'][below(3)],
          reported_date: 1_700_000_000_000 + below(30_000_000_000),
          fields: { patient_id: patient, note: `Seen by ${someName()}`, weight: below(90) },
          contact: nurse,
        }
      }
    }
  }
}

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

try {
  let count = 0
  let batch: Doc[] = []
  const start = performance.now()
  const flush = async (): Promise<void> => {
    await ask('POST', '/svc/_bulk_docs', { docs: batch })
    count += batch.length
    batch = []
  }
  for (const document of documents()) {
    batch.push(document)
    if (batch.length === BULK) await flush()
  }
  await flush()
  const seconds = (performance.now() - start) / 1000
  console.log(
    `${count} documents written in ${seconds.toFixed(1)} s; load ${loadavg()[0]?.toFixed(1)}`,
  )
  await timed('indexes brought up', 1, async () => {
    await ask('GET', '/svc/_design/svc/_view/contacts_by_depth?limit=1')
    await ask('GET', '/svc/_design/svc-client/_view/contacts_by_type?limit=1&reduce=false')
  })

  const someone = (round: number): string =>
    `center-${round % CENTERS}-clinic-${(round * 37) % CLINICS_PER_CENTER}-${round % PEOPLE_PER_CLINIC}`
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
  await timed('one document of an offline user', 50, round =>
    ask('GET', `/svc/center-1-clinic-${round}-1-report-1`, undefined, { user }),
  )

  const header = 'username,password,type,place,contact.name'
  const rows = Array.from(
    { length: USERS },
    (_, n) => `bench-${n},${PASSWORD},chw,center-${n % CENTERS},Worker ${n}`,
  )
  const made = await timed(`${USERS} users from a table`, 1, async () => {
    const results = await ask('POST', '/api/v2/users', [header, ...rows].join('\n'), {
      type: 'text/csv',
    })
    const failed = results.filter((result: object) => 'error' in result)
    if (failed.length > 0) throw new Error(JSON.stringify(failed[0]))
  })
  console.log(`  ${Math.round(USERS / (made / 1000))} users/s with ${ITERATIONS} rounds of hashing`)
} finally {
  await server.stop()
}
