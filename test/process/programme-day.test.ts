/**
 * A programme's day, over the network from beginning to end: settings and forms are uploaded, people are registered by
 * message and by JSON, answers are fetched by a gateway that tells what became of them, reminders fall due and are
 * fetched too, a visit from a device ends the others, and the reports are exported. At the end every document and every
 * message is looked at. The server runs in this process, so that days can pass by its clock.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Json, type Programme, startProgramme } from '../support/programme.ts'
import { programmeSettings, text } from '../support/programme-settings.ts'
import { until } from '../support/replication-pair.ts'
import { formDocument, xform } from '../support/xforms.ts'

const DAY = 86_400_000
const ANNA = '+12025550101'
const BERTA = '+12025550102'

const SETTINGS = programmeSettings({
  forms: {
    REG: {
      meta: { code: 'REG', label: 'Registration' },
      fields: {
        patient_name: { type: 'string', labels: { tiny: 'nam' }, required: true },
        lmp: { type: 'integer', labels: { tiny: 'lmp' } },
      },
    },
    VIS: {
      meta: { code: 'VIS', label: 'Visit' },
      fields: { patient_id: { type: 'string', labels: { tiny: 'pid' } } },
    },
  },
  registration: {
    form: 'REG',
    validations: {
      list: [
        { property: 'lmp', rule: 'optional || between(0, 42)', message: text('Check the weeks.') },
      ],
    },
  },
  answer: '{{patient_name}} has the id {{patient_id}}.',
  schedule: 'Check-ups',
  reminders: [
    { group: 1, offset: '7 days', translation_key: 'checkup.due' },
    { group: 2, offset: '30 days', message: text('One month') },
  ],
  visitForms: ['VIS', 'visit'],
  visit: { silence_for: '10 days' },
  thanks: 'Thank you for {{patient_name}}.',
})

interface Outgoing {
  readonly id: string
  readonly to: string
  readonly content: string
}
interface Task {
  readonly state: string
  readonly cleared_by?: string
  readonly state_history: readonly { readonly state: string }[]
  readonly messages?: readonly { readonly to: string; readonly message: string }[]
}

describe('a programme’s day', { timeout: 120_000 }, () => {
  let programme: Programme
  let base: string
  before(async () => {
    programme = await startProgramme()
    base = await programme.application.server.listen()
  })
  after(() => programme.close())

  async function call(method: string, path: string, body?: unknown, user = 'admin:pass') {
    const isForm = body instanceof URLSearchParams
    const response = await fetch(base + path, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from(user).toString('base64')}`,
        accept: 'application/json',
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    })
    const answer = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${answer}`)
    return answer
  }
  const json = async (...args: Parameters<typeof call>) => JSON.parse(await call(...args)) as Json
  const tasks = (document: Json, name = 'tasks') => (document[name] ?? []) as Task[]

  /** One visit of the gateway. */
  const gateway = async (body: Json): Promise<Outgoing[]> => {
    const { messages } = await json('POST', '/api/sms', body, 'gate:Secret.123')
    return messages as Outgoing[]
  }
  const byText = (a: Outgoing, b: Outgoing) => (a.content < b.content ? -1 : 1)

  const records = async (): Promise<Json[]> => {
    const { rows } = await json('GET', '/svc/_all_docs?include_docs=true')
    const all = (rows as { doc: Json }[]).map(({ doc }) => doc)
    return all.filter(({ type }) => type === 'data_record')
  }
  const recordOf = async (name: string): Promise<Json> => {
    const found = (await records()).filter(
      ({ fields }) => (fields as Json | undefined)?.patient_name === name,
    )
    assert.equal(found.length, 1, `one record registers ${name}`)
    return found[0] as Json
  }

  it('begins with settings, texts, forms, places and people', async () => {
    await json('PUT', '/api/v1/settings', SETTINGS)
    await json('PUT', '/svc/messages-en', {
      type: 'translations',
      code: 'en',
      enabled: true,
      generic: { 'checkup.due': 'Please see {{patient_name}} today.' },
    })
    const form = formDocument('form:visit', xform({ id: 'visit', title: 'Visit' }), {
      internalId: 'visit',
    })
    await json('PUT', '/svc/form:visit', form)
    assert.deepEqual(await json('GET', '/api/v1/forms'), ['visit.xml', 'REG.json', 'VIS.json'])
    await until('the form is made ready', async () => {
      const { _attachments: attachments } = await json('GET', '/svc/form:visit')
      return Object.keys(attachments as Json).includes('form.html')
    })

    const place = async (name: string, type: string, parent?: unknown) =>
      (await json('POST', '/api/v1/places', { name, type, ...(parent ? { parent } : {}) })).id
    const district = await place('District', 'district_hospital')
    const center = await place('Center', 'health_center', district)
    for (const [name, phone] of [
      ['Anna', ANNA],
      ['Berta', BERTA],
    ]) {
      await json('POST', '/api/v1/people', { name, type: 'person', phone, place: center })
    }
    const user = { username: 'gate', password: 'Secret.123', type: 'gateway' }
    await json('POST', '/api/v1/users', { ...user, password_change_required: false })
    await programme.settled()
  })

  let first: Outgoing[] = []

  it('people are registered by message and by JSON, and the gateway fetches the answers', async () => {
    const received = (id: string, from: string, content: string) => ({ id, from, content })
    const messages = [
      received('m1', ANNA, 'REG nam Clara#lmp 12'),
      received('m2', BERTA, '1!REG!Dora#99'),
      received('m3', ANNA, 'hello?'),
      received('m4', '+12025550199', 'REG nam Nobody'),
    ]
    first = await gateway({ messages })
    // Sent again because the answer was lost: nothing new comes of it.
    const again = await gateway({ messages })
    assert.deepEqual(again.sort(byText), first.sort(byText))
    await json('POST', '/api/v2/records', {
      _meta: { form: 'REG', from: BERTA },
      patient_name: 'Emma',
    })
    await json(
      'POST',
      '/api/v2/records',
      new URLSearchParams({ message: 'REG nam Flora', from: ANNA }),
    )
    await programme.settled()

    const codes = new Map<string, unknown>()
    for (const name of ['Clara', 'Emma', 'Flora']) {
      const record = await recordOf(name)
      codes.set(name, record.patient_id)
      assert.match(String(record.patient_id), /^\d{5}$/)
      assert.deepEqual(record.errors, [])
    }
    const expected = [
      [BERTA, 'Check the weeks.'],
      [ANNA, `Clara has the id ${codes.get('Clara')}.`],
      [BERTA, `Emma has the id ${codes.get('Emma')}.`],
      [ANNA, `Flora has the id ${codes.get('Flora')}.`],
      [
        '+12025550199',
        'Your number is not registered here, so your report could not be taken. Please contact your supervisor.',
      ],
      [ANNA, 'Your message has arrived and will be looked at.'],
    ]
    first = await gateway({})
    const sent = first.map(({ to, content }) => [to, content])
    const sorted = (pairs: unknown[][]) => pairs.map(pair => pair.join(' ')).sort()
    assert.deepEqual(sorted(sent), sorted(expected))
  })

  it('the gateway tells what became of them', async () => {
    const updates = first.flatMap(({ id, to }) =>
      to === '+12025550199'
        ? [{ id, status: 'FAILED', reason: 'no such number' }]
        : [
            { id, status: 'SENT' },
            { id, status: 'DELIVERED' },
          ],
    )
    assert.deepEqual(await gateway({ updates }), [])
    const states = (await records()).flatMap(record => tasks(record).map(({ state }) => state))
    assert.deepEqual(states.sort(), [...Array(5).fill('delivered'), 'failed'])
  })

  it('a visit from a device ends the reminders of one; the others fall due', async () => {
    programme.nowMs += 2 * DAY
    const { patient_id: code } = await recordOf('Clara')
    await json('POST', '/svc/_bulk_docs', {
      docs: [
        {
          _id: 'visit-1',
          type: 'data_record',
          form: 'visit',
          content_type: 'xml',
          reported_date: programme.nowMs,
          fields: { patient_id: code },
        },
      ],
    })
    await programme.settled()
    programme.nowMs += 5.5 * DAY
    await programme.background.runRegular()
    const due = await gateway({})
    assert.deepEqual(due.map(({ to, content }) => `${to} ${content}`).sort(), [
      `${ANNA} Please see Flora today.`,
      `${BERTA} Please see Emma today.`,
    ])
    await gateway({ updates: due.map(({ id }) => ({ id, status: 'SENT' })) })
    await programme.background.runRegular()
    assert.deepEqual(await gateway({}), [])
  })

  it('ends with every document and message as it should be', async () => {
    await programme.settled()
    const scheduled = async (name: string) =>
      tasks(await recordOf(name), 'scheduled_tasks').map(task => [task.state, task.cleared_by])
    assert.deepEqual(await scheduled('Clara'), [
      ['cleared', 'visit-1'],
      ['scheduled', undefined],
    ])
    for (const name of ['Emma', 'Flora']) {
      assert.deepEqual(await scheduled(name), [
        ['sent', undefined],
        ['scheduled', undefined],
      ])
      const [reminder] = tasks(await recordOf(name), 'scheduled_tasks')
      assert.deepEqual(
        reminder?.state_history.map(({ state }) => state),
        ['scheduled', 'pending', 'forwarded-to-gateway', 'sent'],
      )
    }
    const errors = (await records()).flatMap(({ errors: list }) =>
      ((list ?? []) as { code: string }[]).map(({ code }) => code),
    )
    assert.deepEqual(errors.sort(), ['invalid_lmp', 'sys.facility_not_found'])
    const { rows } = await json('GET', '/svc/_all_docs?include_docs=true')
    const people = (rows as { doc: Json }[])
      .map(({ doc }) => doc)
      .filter(({ type }) => type === 'person')
    assert.deepEqual(people.map(({ name }) => name).sort(), [
      'Anna',
      'Berta',
      'Clara',
      'Emma',
      'Flora',
    ])
    const codes = people.map(({ patient_id: code }) => code)
    assert.equal(new Set(codes).size, 5)
    const visit = await json('GET', '/svc/visit-1')
    assert.equal(visit.registration_id, (await recordOf('Clara'))._id)
    assert.equal((await records()).length, 7)
    const { sentinel, messaging } = await json('GET', '/api/v2/monitoring')
    assert.equal((sentinel as Json).backlog, 0)
    const { outgoing } = messaging as { outgoing: { total: Json } }
    assert.equal(outgoing.total.scheduled, 3)
  })

  it('and the reports are exported', async () => {
    const csv = await call('GET', '/api/v2/export/reports?filters[forms][selected][0][code]=REG')
    const [head, ...rows] = csv.trim().split('\n')
    assert.match(head ?? '', /patient_name/)
    assert.equal(rows.length, 5)
    for (const name of ['Clara', 'Dora', 'Emma', 'Flora', 'Nobody']) {
      assert.equal(rows.filter(row => row.includes(name)).length, 1, `${name} is exported once`)
    }
    const messages = await call('GET', '/api/v2/export/messages')
    for (const content of ['Please see Emma today.', 'Emma has the id', 'hello?', 'One month']) {
      assert.ok(messages.includes(content), `${content} is among the messages`)
    }
  })
})
