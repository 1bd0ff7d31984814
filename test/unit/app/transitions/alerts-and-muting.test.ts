/** Alerts, muting, reports about oneself, duplicates of periodic reports, and the like. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { HIERARCHY } from '../../../support/application.ts'
import { type Json, type Programme, startProgramme } from '../../../support/programme.ts'

const text = (content: string) => [{ locale: 'en', content }]
const form = (code: string) => ({ meta: { code }, fields: {} })

const SETTINGS = {
  forms: Object.fromEntries(
    ['STCK', 'FLU', 'MUTE', 'UNMUTE', 'SELF', 'WEEK', 'REG', 'OLDMUTE'].map(code => [
      code,
      form(code),
    ]),
  ),
  transitions: {
    update_clinics: true,
    self_report: true,
    registration: true,
    conditional_alerts: true,
    multi_report_alerts: true,
    update_notifications: true,
    update_scheduled_reports: true,
    muting: true,
  },
  alerts: {
    low: {
      form: 'STCK',
      condition: 'STCK(0).stock == 0 && STCK(1) && STCK(1).stock == 0',
      message: text('Out of stock twice'),
      recipient: '+12025550999',
    },
    broken: { form: 'STCK', condition: 'nothing.like.this', message: text('x'), recipient: '1' },
  },
  multi_report_alerts: [
    {
      name: 'flu',
      forms: ['FLU'],
      is_report_counted: 'function (report, latest) { return report.fields.cases > 2 }',
      num_reports_threshold: 2,
      time_window_in_days: 7,
      message: '{{num_counted_reports}} reports, {{#new_reports}}{{_id}} {{/new_reports}}',
      recipients: ['+12025550555', 'new_report.contact.phone'],
    },
  ],
  muting: {
    mute_forms: ['MUTE'],
    unmute_forms: ['UNMUTE'],
    messages: [
      { event_type: 'mute', message: text('{{patient_name}} is muted') },
      { event_type: 'unmute', message: text('{{patient_name}} is back') },
      { event_type: 'already_muted', message: text('was muted before') },
      { event_type: 'contact_not_found', message: text('who?') },
    ],
  },
  notifications: { on_mute_form: 'OLDMUTE', messages: [] },
  self_report: [{ form: 'SELF', messages: [{ message: text('Noted, {{patient.name}}') }] }],
  registrations: [
    { form: 'REG', events: [{ name: 'on_create', trigger: 'assign_schedule', params: 'S' }] },
  ],
  schedules: [
    { name: 'S', messages: [{ group: 1, offset: '3 days', message: text('x'), recipient: 'x' }] },
  ],
}

interface Task {
  readonly state: string
  readonly counted_reports?: readonly string[]
  readonly messages: readonly { to: string; message: string }[]
}
const tasksOf = (document: Json, name = 'tasks') => (document[name] ?? []) as Task[]
const sent = (document: Json) =>
  tasksOf(document).map(({ messages }) => [messages[0]?.to, messages[0]?.message])

describe('alerts and muting', () => {
  let programme: Programme
  before(async () => {
    programme = await startProgramme(SETTINGS)
    await programme.store(...HIERARCHY)
  })
  after(() => programme.close())

  const report = (_id: string, code: string, fields: Json = {}): Json => ({
    _id,
    type: 'data_record',
    from: '+12025550123',
    form: code,
    fields,
    errors: [],
    tasks: [],
    reported_date: programme.nowMs++,
  })

  it('tell of a condition over this report and the one before', async () => {
    const first = await programme.put(report('s1', 'STCK', { stock: 0 }))
    assert.deepEqual(sent(first), [])
    const second = await programme.put(report('s2', 'STCK', { stock: 0 }))
    assert.deepEqual(sent(second), [['+12025550999', 'Out of stock twice']])
    const third = await programme.put(report('s3', 'STCK', { stock: 4 }))
    assert.deepEqual(sent(third), [])
    assert.deepEqual(third.errors, [])
  })

  it('tell of many reports within some days, of each once', async () => {
    assert.deepEqual(sent(await programme.put(report('f1', 'FLU', { cases: 5 }))), [])
    assert.deepEqual(sent(await programme.put(report('f2', 'FLU', { cases: 1 }))), [])
    const third = await programme.put(report('f3', 'FLU', { cases: 3 }))
    assert.deepEqual(sent(third), [
      ['+12025550555', '2 reports, f3 f1'],
      ['+12025550123', '2 reports, f3 f1'],
    ])
    assert.deepEqual(tasksOf(third)[0]?.counted_reports, ['f3', 'f1'])
    const fourth = await programme.put(report('f4', 'FLU', { cases: 3 }))
    assert.deepEqual(sent(fourth)[0], ['+12025550555', '3 reports, f4'])
    programme.nowMs += 8 * 86_400_000
    assert.deepEqual(sent(await programme.put(report('f5', 'FLU', { cases: 9 }))), [])
  })

  it('are about whoever sent a report about himself', async () => {
    const document = await programme.put(report('self', 'SELF'))
    assert.deepEqual(document.fields, { patient_id: '2001', patient_uuid: 'mother' })
    assert.deepEqual(sent(document), [['+12025550123', 'Noted, Mary Smith']])
    const stranger = await programme.put({ ...report('self2', 'SELF'), from: '+12025550000' })
    const codes = (stranger.errors as { code: string }[]).map(({ code }) => code)
    assert.ok(codes.includes('sender_not_found'))
  })

  it('mute a person with the messages that wait, and what is said is said once', async () => {
    await programme.store(report('reg', 'REG', { patient_id: '2001' }))
    assert.equal(tasksOf(await programme.get('reg'), 'scheduled_tasks')[0]?.state, 'scheduled')
    const mute = await programme.put(report('mute', 'MUTE', { patient_id: '2001' }))
    assert.deepEqual(sent(mute), [['+12025550123', 'Mary Smith is muted']])
    assert.ok((await programme.get('mother')).muted)
    const history = (await programme.info('mother')).muting_history as Json[]
    assert.equal(history.length, 1)
    assert.equal(history[0]?.report_id, 'mute')
    assert.equal(tasksOf(await programme.get('reg'), 'scheduled_tasks')[0]?.state, 'muted')
    const info = await programme.info('mute')
    await programme.application.ask('DELETE', `/svc-sentinel/mute-info?rev=${info._rev}`)
    const again = await programme.put({ ...mute, touched: true })
    assert.deepEqual(again.tasks, mute.tasks)
    const second = await programme.put(report('mute2', 'MUTE', { patient_id: '2001' }))
    assert.deepEqual(sent(second), [['+12025550123', 'was muted before']])
  })

  it('end it', async () => {
    const back = await programme.put(report('unmute', 'UNMUTE', { patient_id: '2001' }))
    assert.deepEqual(sent(back), [['+12025550123', 'Mary Smith is back']])
    assert.equal('muted' in (await programme.get('mother')), false)
    assert.equal(tasksOf(await programme.get('reg'), 'scheduled_tasks')[0]?.state, 'scheduled')
  })

  it('mute a place with all in it, and whoever comes to it', async () => {
    await programme.store(report('mute3', 'MUTE', { place_id: '1001' }))
    for (const id of ['district', 'center', 'clinic', 'nurse', 'mother']) {
      assert.ok((await programme.get(id)).muted, `${id} is muted`)
    }
    const parent = { _id: 'clinic', parent: { _id: 'center', parent: { _id: 'district' } } }
    const newborn = await programme.put({ _id: 'newborn', type: 'person', name: 'New', parent })
    assert.ok(newborn.muted)
    await programme.store(report('unmute2', 'UNMUTE', { patient_id: '2001' }))
    for (const id of ['district', 'center', 'newborn']) {
      assert.equal('muted' in (await programme.get(id)), false, `${id} is not muted`)
    }
    const lost = await programme.put(report('mute4', 'MUTE', { patient_id: 'nobody' }))
    assert.deepEqual(sent(lost), [['+12025550123', 'who?']])
  })

  it('mute in the old way the messages alone', async () => {
    await programme.store(report('old', 'OLDMUTE', { patient_id: '2001' }))
    assert.equal(tasksOf(await programme.get('reg'), 'scheduled_tasks')[0]?.state, 'muted')
    assert.equal('muted' in (await programme.get('mother')), false)
  })

  it('keep only the newest of the reports about one week', async () => {
    const fields = { year: 2026, week: 7 }
    await programme.store(report('w1', 'WEEK', fields), report('w2', 'WEEK', fields))
    await programme.store(report('w3', 'WEEK', { ...fields, week: 8 }))
    await programme.store(report('w4', 'WEEK', fields))
    const left: string[] = []
    for (const id of ['w1', 'w2', 'w3', 'w4']) {
      if ((await programme.application.ask('GET', `/svc/${id}`)).status === 200) left.push(id)
    }
    assert.deepEqual(left, ['w3', 'w4'])
  })
})
