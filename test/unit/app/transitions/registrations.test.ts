/** Registrations, schedules, and the reports that follow them. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { HIERARCHY } from '../../../support/application.ts'
import { type Json, type Programme, startProgramme } from '../../../support/programme.ts'

const field = (tiny: string, type = 'string') => ({ type, labels: { tiny } })
const FORMS = {
  P: { meta: { code: 'P' }, fields: { patient_name: field('nam'), lmp: field('lmp', 'integer') } },
  X: { meta: { code: 'X' }, fields: { patient_name: field('nam'), external: field('ext') } },
  H: { meta: { code: 'H' }, fields: { place_name: field('nam'), center: field('cen') } },
  C: { meta: { code: 'C' }, fields: { place_id: field('pla') } },
  V: { meta: { code: 'V' }, fields: { patient_id: field('pid') } },
  CV: { meta: { code: 'CV' }, fields: { case_id: field('cid') } },
  OFF: { meta: { code: 'OFF' }, fields: { patient_id: field('pid') } },
}
const text = (content: string) => [{ locale: 'en', content }]
const on = (trigger: string, params?: unknown) => ({ name: 'on_create', trigger, params })

const SETTINGS = {
  forms: FORMS,
  transitions: {
    update_clinics: true,
    registration: true,
    accept_patient_reports: true,
    accept_case_reports: true,
  },
  registrations: [
    {
      form: 'P',
      events: [
        on('add_patient'),
        on('add_expected_date'),
        { ...on('assign_schedule', 'ANC, Visits'), bool_expr: 'doc.fields.lmp > 0' },
      ],
      validations: {
        join_responses: true,
        list: [
          { property: 'lmp', rule: 'integer && between(0, 42)', message: text('Weeks 0 to 42.') },
          { property: 'patient_name', rule: 'lenMin(3) && lenMax(30)', message: text('Name!') },
        ],
      },
      messages: [
        {
          message: text('{{patient_name}} has the id {{patient_id}}, {{contact.name}}.'),
          recipient: 'reporting_unit',
          event_type: 'report_accepted',
        },
        { message: text('never'), recipient: 'clinic', bool_expr: 'doc.fields.lmp > 1000' },
      ],
    },
    { form: 'X', events: [on('add_patient', '{"patient_id_field": "external"}')] },
    {
      form: 'H',
      events: [on('add_place', { contact_type: 'clinic', parent_id: 'center' })],
    },
    { form: 'C', events: [on('add_case'), on('assign_schedule', ['Visits'])] },
    { form: 'OFF', events: [on('clear_schedule', 'ANC')] },
  ],
  schedules: [
    {
      name: 'ANC',
      start_from: 'lmp_date',
      translation_key: 'schedule.anc',
      messages: [
        { group: 1, offset: '8 weeks', translation_key: 'anc.past', recipient: 'reporting_unit' },
        { group: 1, offset: '20 weeks', translation_key: 'anc.rest', recipient: 'reporting_unit' },
        {
          group: 2,
          offset: '24 weeks',
          send_time: '09:30 +03:00',
          translation_key: 'anc.reminder',
          recipient: 'reporting_unit',
        },
        { group: 3, offset: '30 weeks', message: text('Week 30'), recipient: 'parent' },
      ],
    },
    {
      name: 'Visits',
      messages: [
        { group: 1, offset: '7 days', message: text('Visit one'), recipient: 'reporting_unit' },
        { group: 1, offset: '9 days', message: text('Visit one!'), recipient: 'reporting_unit' },
        { group: 2, offset: '20 days', message: text('Visit two'), recipient: 'reporting_unit' },
      ],
    },
  ],
  patient_reports: [
    {
      form: 'V',
      silence_type: 'Visits',
      silence_for: '8 days',
      messages: [
        { event_type: 'report_accepted', message: text('Thanks for {{patient_name}}') },
        { event_type: 'registration_not_found', message: text('No {{patient_id}} here') },
      ],
    },
  ],
  accept_case_reports: [{ form: 'CV', silence_type: 'Visits', messages: [] }],
}

interface Task {
  readonly type?: string
  readonly group?: number
  readonly state: string
  readonly due: string
  readonly message_key?: string
  readonly translation_key?: string
  readonly cleared_by?: string
  readonly responded_to_by?: string
  readonly messages?: readonly { to?: string; message?: string; uuid: string }[]
}
const tasksOf = (document: Json): Task[] => (document.tasks ?? []) as Task[]
const scheduledOf = (document: Json): Task[] => (document.scheduled_tasks ?? []) as Task[]
const codesOf = (document: Json): string[] =>
  ((document.errors ?? []) as { code: string }[]).map(({ code }) => code)
const textsOf = (document: Json) =>
  tasksOf(document).map(task => task.messages?.[0]?.message ?? '(none)')

describe('registrations', () => {
  let programme: Programme
  before(async () => {
    programme = await startProgramme(SETTINGS)
    await programme.store(...HIERARCHY)
  })
  after(() => programme.close())

  const report = (_id: string, form: string, fields: Json): Json => ({
    _id,
    type: 'data_record',
    from: '+12025550123',
    form,
    fields,
    errors: [],
    tasks: [],
    reported_date: programme.nowMs,
  })
  const personOf = async (reportId: string): Promise<Json> => {
    const body = { selector: { source_id: reportId } }
    const { json } = await programme.application.ask('POST', '/svc/_find', { body })
    const { docs } = json as { docs: Json[] }
    assert.equal(docs.length, 1, 'one contact comes of a report')
    return docs[0] as Json
  }

  let patientCode = ''

  it('make a person, dates, messages and schedules', async () => {
    const document = await programme.put(report('p1', 'P', { patient_name: 'Anna', lmp: 10 }))
    patientCode = String(document.patient_id)
    assert.match(patientCode, /^\d{5}$/)
    assert.deepEqual(codesOf(document), [])
    const person = await personOf('p1')
    const { _id, _rev, ...members } = person
    assert.deepEqual(members, {
      type: 'person',
      name: 'Anna',
      parent: { _id: 'clinic', parent: { _id: 'center', parent: { _id: 'district' } } },
      patient_id: patientCode,
      reported_date: programme.nowMs,
      created_by: 'mother',
      source_id: 'p1',
    })
    const lmpMs = Date.parse(String(document.lmp_date))
    const start = new Date(programme.nowMs).setHours(0, 0, 0, 0)
    assert.equal(Math.round((start - lmpMs) / 86_400_000), 70)
    assert.deepEqual(textsOf(document), [`Anna has the id ${patientCode}, Mary Smith.`])
    assert.deepEqual(
      scheduledOf(document).map(({ type, group, state }) => [type, group, state]),
      [
        ['ANC', 2, 'scheduled'],
        ['ANC', 3, 'scheduled'],
        ['Visits', 1, 'scheduled'],
        ['Visits', 1, 'scheduled'],
        ['Visits', 2, 'scheduled'],
      ],
    )
    const [later, third] = scheduledOf(document)
    assert.match(later?.due ?? '', /T06:30:00.000Z$/)
    assert.equal(later?.messages, undefined)
    assert.equal(later?.message_key, 'anc.reminder')
    assert.equal(later?.translation_key, 'schedule.anc')
    assert.equal(third?.messages?.[0]?.message, 'Week 30')
  })

  it('come out the same when the work is done again', async () => {
    const before = await programme.get('p1')
    const person = await personOf('p1')
    const info = await programme.info('p1')
    await programme.application.ask('DELETE', `/svc-sentinel/p1-info?rev=${info._rev}`)
    const { _rev, ...after } = await programme.put({ ...before, touched: true })
    const { _rev: _, ...expected } = before
    assert.deepEqual(after, { ...expected, touched: true })
    assert.deepEqual(await personOf('p1'), person)
  })

  it('are refused when they break a rule', async () => {
    const document = await programme.put(report('p2', 'P', { patient_name: 'An', lmp: 99 }))
    assert.deepEqual(codesOf(document), ['invalid_lmp', 'invalid_patient_name'])
    assert.deepEqual(textsOf(document), ['Weeks 0 to 42.  Name!'])
    assert.equal(document.patient_id, undefined)
    assert.deepEqual(scheduledOf(document), [])
  })

  it('take an id that the report brings along, if it is nobody else’s', async () => {
    const fields = { patient_name: 'Berta', external: '777' }
    const first = await programme.put(report('x1', 'X', fields))
    assert.equal(first.patient_id, '777')
    assert.equal((await personOf('x1')).patient_id, '777')
    const second = await programme.put(report('x2', 'X', { ...fields, patient_name: 'Other' }))
    assert.deepEqual(codesOf(second), ['provided_patient_id_not_unique'])
    assert.equal(second.patient_id, undefined)
  })

  it('of one batch see each other', async () => {
    const fields = { patient_name: 'Twin', external: '888' }
    await programme.store(report('x3', 'X', fields), report('x4', 'X', fields))
    const both = [await programme.get('x3'), await programme.get('x4')]
    assert.deepEqual(both.map(document => document.patient_id).sort(), ['888', undefined])
    assert.deepEqual(both.flatMap(codesOf), ['provided_patient_id_not_unique'])
  })

  it('make places where the report says', async () => {
    const { place_id: code } = await programme.put({
      ...(await programme.get('center')),
      place_id: '5005',
    })
    const made = await programme.put(report('h1', 'H', { place_name: 'House', center: code }))
    const place = await personOf('h1')
    assert.equal(place.type, 'clinic')
    assert.deepEqual(place.parent, { _id: 'center', parent: { _id: 'district' } })
    assert.equal(made.place_id, place.place_id)
    const wrong = await programme.put(report('h2', 'H', { place_name: 'House', center: '3001' }))
    assert.deepEqual(codesOf(wrong), ['parent_invalid'])
    const lost = await programme.put(report('h3', 'H', { place_name: 'House', center: '1' }))
    assert.deepEqual(codesOf(lost), ['parent_not_found'])
    const none = await programme.put(report('h4', 'H', { place_name: 'House' }))
    assert.deepEqual(codesOf(none), ['parent_field_not_provided'])
  })

  it('are ended by the reports they wait for', async () => {
    const visit = await programme.put(report('v1', 'V', { patient_id: patientCode }))
    assert.equal(visit.registration_id, 'p1')
    assert.deepEqual(textsOf(visit), ['Thanks for Anna'])
    const states = scheduledOf(await programme.get('p1')).map(task => [
      task.type,
      task.group,
      task.state,
      task.cleared_by,
    ])
    assert.deepEqual(states, [
      ['ANC', 2, 'scheduled', undefined],
      ['ANC', 3, 'scheduled', undefined],
      ['Visits', 1, 'cleared', 'v1'],
      ['Visits', 1, 'cleared', 'v1'],
      ['Visits', 2, 'scheduled', undefined],
    ])
  })

  it('note which report answered a message that was sent', async () => {
    programme.nowMs += 20.5 * 86_400_000
    await programme.background.runRegular()
    const sent = scheduledOf(await programme.get('p1'))[4]
    assert.equal(sent?.state, 'pending')
    programme.nowMs += 86_400_000
    const gateway = { updates: [{ id: sent?.messages?.[0]?.uuid, status: 'SENT' }] }
    await programme.application.ask('POST', '/api/sms', { body: gateway })
    await programme.store(report('v2', 'V', { patient_id: patientCode }))
    const answered = scheduledOf(await programme.get('p1'))[4]
    assert.equal(answered?.state, 'sent')
    assert.equal(answered?.responded_to_by, 'v2')
  })

  it('that nobody has made are told', async () => {
    const visit = await programme.put(report('v3', 'V', { patient_id: '99999' }))
    assert.deepEqual(codesOf(visit), ['registration_not_found'])
    assert.deepEqual(textsOf(visit), ['No 99999 here'])
  })

  it('clear schedules', async () => {
    await programme.store(report('o1', 'OFF', { patient_id: patientCode }))
    const anc = scheduledOf(await programme.get('p1')).filter(({ type }) => type === 'ANC')
    assert.deepEqual(
      anc.map(({ state }) => state),
      ['cleared', 'cleared'],
    )
  })

  it('open cases that reports go on with', async () => {
    const fields = { place_id: '3001', place_uuid: 'clinic' }
    const opened = await programme.put(report('c1', 'C', fields))
    assert.match(String(opened.case_id), /^\d{5}$/)
    const visit = await programme.put(report('cv1', 'CV', { case_id: opened.case_id }))
    assert.equal(visit.registration_id, 'c1')
    assert.equal((visit.fields as Json).place_uuid, 'clinic')
    const states = scheduledOf(await programme.get('c1')).map(({ state }) => state)
    assert.deepEqual(states, ['cleared', 'cleared', 'cleared'])
    const lost = await programme.put(report('cv2', 'CV', { case_id: 'nothing' }))
    assert.deepEqual(codesOf(lost), ['registration_not_found'])
  })
})
