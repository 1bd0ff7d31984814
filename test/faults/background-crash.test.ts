/**
 * The process that works in the background is killed again and again while records come in, over HTTP as messages and as
 * plain documents. At the end every record has exactly what follows from it: one person, one short id that nobody else
 * has, one answer, one schedule; reminders that a later report ends are ended by it.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { PLAIN_FORMS, programmeSettings, text } from '../support/programme-settings.ts'
import { childrenOf } from '../support/server-children.ts'
import { type RunningServer, startProcess } from '../support/start-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'gurney-background-'))
writeFileSync(
  join(folder, 'local.ini'),
  '[svc]\napplication = true\n[svc_httpd_auth]\niterations = 10\n',
)
let server: RunningServer | undefined
after(async () => {
  if (server?.process.exitCode === null) await server.kill()
  rmSync(folder, { recursive: true, force: true })
})

const authorization = `Basic ${Buffer.from('admin:pass').toString('base64')}`
async function ask(method: string, path: string, body?: unknown) {
  const response = await fetch(`${server?.url()}${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json', accept: 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as Record<string, unknown> }
}

const SETTINGS = programmeSettings({
  forms: PLAIN_FORMS,
  registration: { form: 'P' },
  answer: '{{patient_name}} is {{patient_id}}',
  schedule: 'Visits',
  reminders: [
    { group: 1, offset: '7 days', message: text('one') },
    { group: 2, offset: '17 days', message: text('two') },
  ],
  visitForms: ['V'],
  thanks: 'thanks',
})

/** Fewer would say little. */
const KILLS_MIN = 3
const ROUNDS = 15
/** Registered in a round, beside one by message. */
const PEOPLE = 8

const WORKER = {
  _id: 'worker',
  type: 'person',
  name: 'Wanda',
  phone: '+12025550123',
  parent: { _id: 'house' },
}

/**
 * Kills the process again and again, and always at the worst moment: as soon as the feed shows that it has written a
 * record, before it has remembered that, or where it is.
 */
async function killOften(until: () => boolean, onKill: () => void): Promise<void> {
  let pid: number | undefined
  const stop = new AbortController()
  const feed = await fetch(`${server?.url()}/svc/_changes?feed=continuous&since=now&timeout=1000`, {
    headers: { authorization },
    signal: stop.signal,
  })
  const watching = (async () => {
    for await (const chunk of feed.body as unknown as AsyncIterable<Uint8Array>) {
      if (until()) return
      const isOurs = Buffer.from(chunk).includes('"rev":"2-')
      if (!isOurs || pid === undefined || !isKilled(pid)) continue
      pid = undefined
      onKill()
    }
  })()
  // Looking for the process takes longer than the moment lasts.
  while (!until()) {
    pid ??= childrenOf(server?.process.pid, 'background')[0]
    await delay(20)
  }
  stop.abort()
  await watching.catch(() => {})
}

function isKilled(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ESRCH') throw thrown
    return false
  }
}

async function caughtUp(): Promise<void> {
  for (let quiet = 0; quiet < 2; ) {
    await delay(200)
    const { json: place } = await ask('GET', '/svc-sentinel/_local/transitions-seq')
    const { json: info } = await ask('GET', '/svc')
    quiet = place.value === info.update_seq ? quiet + 1 : 0
  }
}

type Doc = Record<string, unknown> & { _id: string }
async function allDocuments(): Promise<Doc[]> {
  const { json } = await ask('GET', '/svc/_all_docs?include_docs=true')
  return (json.rows as { doc: Doc }[]).map(({ doc }) => doc)
}

const record = (_id: string, form: string | undefined, fields: object): object => ({
  _id,
  type: 'data_record',
  from: WORKER.phone,
  ...(form === undefined ? { sms_message: { message: 'hi' } } : { form }),
  fields,
  errors: [],
  tasks: [],
  reported_date: Date.now(),
})

test('every record is worked on exactly once', { timeout: 180_000 }, async () => {
  server = await startProcess(folder, ['--admin', 'admin:pass', '--workers', '1'])
  assert.equal((await ask('PUT', '/api/v1/settings?replace=1', SETTINGS)).status, 200)
  const house = { _id: 'house', type: 'clinic', name: 'House' }
  await ask('POST', '/svc/_bulk_docs', { docs: [house, WORKER] })
  await caughtUp()

  let isOver = false
  let kills = 0
  const killing = killOften(
    () => isOver,
    () => kills++,
  )
  const registered: string[] = []
  // How long a process takes to come up again is the machine's matter.
  for (let round = 0; round < ROUNDS || kills < KILLS_MIN; round++) {
    const docs = Array.from({ length: PEOPLE }, (_, n) =>
      record(`p-${round}-${n}`, 'P', { patient_name: `Name ${round} ${n}` }),
    )
    docs.push(record(`m-${round}`, undefined, {}))
    const { status } = await ask('POST', '/svc/_bulk_docs', { docs })
    assert.equal(status, 201)
    registered.push(...docs.slice(0, PEOPLE).map(doc => (doc as Doc)._id))
    const message = { id: `g-${round}`, from: WORKER.phone, content: `P Sms${round}` }
    assert.equal((await ask('POST', '/api/sms', { messages: [message] })).status, 200)
    await delay(60)
  }
  isOver = true
  await killing
  await caughtUp()

  const before = await allDocuments()
  const codes = new Map(before.map(({ _id, patient_id: code }) => [_id, code]))
  // Half of the people are visited, while the killing goes on.
  isOver = false
  kills = 0
  const killingMore = killOften(
    () => isOver,
    () => kills++,
  )
  const visited = registered.filter((_, index) => index % 2 === 0)
  for (let at = 0; at < visited.length; at += 10) {
    const docs = visited
      .slice(at, at + 10)
      .map(id => record(`v-${id}`, 'V', { patient_id: codes.get(id) }))
    await ask('POST', '/svc/_bulk_docs', { docs })
    await delay(80)
  }
  isOver = true
  await killingMore
  assert.ok(kills >= 1)
  await caughtUp()
  verify(await allDocuments(), registered, new Set(visited))
  assert.equal(await server.stop(), 0)
})

interface Task {
  readonly state: string
  readonly cleared_by?: string
  readonly messages: readonly { message: string; uuid: string }[]
}
const tasksOf = (document: Doc | undefined, name = 'tasks'): readonly Task[] =>
  (document?.[name] ?? []) as readonly Task[]

function verify(
  documents: readonly Doc[],
  registered: readonly string[],
  visited: ReadonlySet<string>,
): void {
  const byId = new Map(documents.map(document => [document._id, document]))
  const people = documents.filter(({ source_id: source }) => source !== undefined)
  const records = documents.filter(({ type }) => type === 'data_record')
  const registrations = records.filter(({ form }) => form === 'P')
  assert.equal(
    registrations.length,
    registered.length + registered.length / PEOPLE,
    'records by HTTP and by message',
  )
  assert.equal(people.length, registrations.length, 'one person for each registration')
  assert.equal(new Set(people.map(({ source_id: id }) => id)).size, people.length)
  const codes = documents.flatMap(({ type, patient_id: code, place_id: place }) =>
    type === 'data_record' ? [] : [code, place].filter(Boolean),
  )
  assert.equal(new Set(codes).size, codes.length, 'no short id is given twice')
  for (const person of people) {
    const report = byId.get(person.source_id as string)
    assert.equal(report?.patient_id, person.patient_id)
    const [answer, ...more] = tasksOf(report)
    assert.deepEqual(more, [], `${report?._id} is answered once`)
    assert.equal(answer?.messages[0]?.message, `${person.name} is ${person.patient_id}`)
    assert.deepEqual(report?.errors, [])
    const isVisited = visited.has(report?._id ?? '')
    const visit = `v-${report?._id}`
    assert.deepEqual(
      tasksOf(report, 'scheduled_tasks').map(task => [task.state, task.cleared_by]),
      isVisited
        ? [
            ['cleared', visit],
            ['cleared', visit],
          ]
        : [
            ['scheduled', undefined],
            ['scheduled', undefined],
          ],
      `${report?._id}`,
    )
  }
  for (const message of records.filter(({ _id }) => _id.startsWith('m-'))) {
    assert.equal(tasksOf(message).length, 1)
    assert.equal(message.sent_by, 'Wanda')
  }
  for (const id of visited) {
    const visit = byId.get(`v-${id}`)
    assert.deepEqual(
      tasksOf(visit).map(task => task.messages[0]?.message),
      ['thanks'],
    )
    assert.equal(visit?.registration_id, id)
  }
  const uuids = records.flatMap(each =>
    [...tasksOf(each), ...tasksOf(each, 'scheduled_tasks')].map(task => task.messages[0]?.uuid),
  )
  assert.equal(new Set(uuids).size, uuids.length, 'every message has an id of its own')
}
