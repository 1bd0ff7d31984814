/**
 * How many records can come in, transitions included? A programme with a hierarchy of people; a third of the records are
 * registrations (a person, a short id, a schedule, an answer), a third are visits that end reminders, a third plain
 * messages that are answered. First as documents in bulk, so that a backlog builds up and drains; then one by one
 * through the records API, which runs most transitions before it answers.
 *
 *   node --import tsx bench/transitions.bench.ts [--records 6000] [--people 2000] [--singles 1500]
 *
 * Goal: 500 records a second, with a backlog that drains. On a busy machine read the processor time.
 */
import { loadavg } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { PLAIN_FORMS, programmeSettings, text } from '../test/support/programme-settings.ts'
import { runServer } from './run-server.ts'

const option = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? otherwise : Number(process.argv[at + 1])
}
const RECORDS = option('records', 6000)
const PEOPLE = option('people', 2000)
const SINGLES = option('singles', 1500)
const BULK = 100
const CONNECTIONS = 16

const SETTINGS = {
  ...programmeSettings({
    forms: PLAIN_FORMS,
    registration: {
      form: 'P',
      validations: { list: [{ property: 'patient_name', rule: 'lenMin(3) && lenMax(40)' }] },
    },
    answer: '{{patient_name}} is {{patient_id}}',
    schedule: 'Visits',
    reminders: [7, 14, 21, 28].map(days => ({
      group: days,
      offset: `${days} days`,
      message: text(`Visit {{patient_name}} on day ${days}`),
    })),
    visitForms: ['V'],
    visit: { silence_for: '8 days' },
    thanks: 'Thanks for {{patient_name}}',
    transitions: { muting: true, death_reporting: true },
  }),
  death_reporting: { mark_deceased_forms: ['D'] },
  muting: { mute_forms: ['M'], unmute_forms: ['U'] },
}

const server = await runServer({
  workerCount: 1,
  ini: '[svc]\napplication = true\n[log]\nlevel = warning\n',
})
const base = `http://127.0.0.1:${server.port}`

// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
async function ask(method: string, path: string, body?: unknown, type?: string): Promise<any> {
  const response = await fetch(base + path, {
    method,
    headers: {
      authorization: server.authorization,
      accept: 'application/json',
      'content-type': type ?? 'application/json',
    },
    ...(body === undefined
      ? {}
      : { body: type === undefined ? JSON.stringify(body) : String(body) }),
  })
  const json = await response.json()
  if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`)
  return json
}

const phoneOf = (n: number): string => `+1202555${String(1000 + (n % 9000))}`

async function caughtUp(): Promise<void> {
  for (;;) {
    const [place, info] = await Promise.all([
      ask('GET', '/svc-sentinel/_local/transitions-seq').catch(() => ({})),
      ask('GET', '/svc'),
    ])
    if (place.value === info.update_seq) return
    await delay(100)
  }
}

function recordOf(n: number): object {
  const kind = n % 3
  return {
    _id: `record-${n}`,
    type: 'data_record',
    from: phoneOf(n % PEOPLE),
    ...(kind === 0 ? { form: 'P', fields: { patient_name: `Patient ${n}` } } : {}),
    ...(kind === 1 ? { form: 'V', fields: { patient_id: String(20_000 + (n % PEOPLE)) } } : {}),
    ...(kind === 2 ? { sms_message: { message: 'hello' }, fields: {} } : {}),
    errors: [],
    tasks: [],
    reported_date: Date.now(),
  }
}

function report(what: string, count: number, startMs: number, startCpuMs: number): void {
  const seconds = (performance.now() - startMs) / 1000
  const cpu = (server.cpuMs() - startCpuMs) / count
  console.log(
    `${what}: ${Math.round(count / seconds)} records/s, ${cpu.toFixed(2)} ms of processor time each; load ${loadavg()[0]?.toFixed(1)}`,
  )
}

async function sendSingles(round: string): Promise<void> {
  let next = 0
  const send = async (): Promise<void> => {
    for (let n = next++; n < SINGLES; n = next++) {
      const name = `Single${round.length}x${n}`
      const words = [`P ${name}`, `V ${20_000 + (n % PEOPLE)}`, 'hello there'][n % 3] as string
      const body = new URLSearchParams({ from: phoneOf(n), message: words })
      await ask('POST', '/api/v2/records', body, 'application/x-www-form-urlencoded')
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, send))
}

try {
  await ask('PUT', '/api/v1/settings?replace=1', { ...SETTINGS, phone_validation: 'none' })
  const places = Array.from({ length: 50 }, (_, n) => ({
    _id: `center-${n}`,
    type: 'clinic',
    name: `Center ${n}`,
    place_id: String(90_000 + n),
  }))
  const people = Array.from({ length: PEOPLE }, (_, n) => ({
    _id: `person-${n}`,
    type: 'person',
    name: `Person ${n}`,
    phone: phoneOf(n),
    patient_id: String(20_000 + n),
    parent: { _id: `center-${n % 50}` },
  }))
  for (let at = 0; at < places.length + people.length; at += 500) {
    await ask('POST', '/svc/_bulk_docs', { docs: [...places, ...people].slice(at, at + 500) })
  }
  await caughtUp()

  const startMs = performance.now()
  const startCpu = server.cpuMs()
  for (let at = 0; at < RECORDS; at += BULK) {
    const docs = Array.from({ length: BULK }, (_, n) => recordOf(at + n))
    await ask('POST', '/svc/_bulk_docs', { docs })
  }
  report('stored in bulk', RECORDS, startMs, startCpu)
  await caughtUp()
  report('stored in bulk, and all transitions run', RECORDS, startMs, startCpu)

  // Compiling what a record goes through takes longer than the first thousand records.
  for (const round of ['first, while the code is compiled', 'then'] as const) {
    const singlesMs = performance.now()
    const singlesCpu = server.cpuMs()
    await sendSingles(round)
    report(`one by one through the records API, ${round}`, SINGLES, singlesMs, singlesCpu)
    await caughtUp()
    report('  and all transitions run', SINGLES, singlesMs, singlesCpu)
  }
} finally {
  await server.stop()
}
