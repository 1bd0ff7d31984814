/** Who sent a record, short ids, automatic answers: the transitions that need no more than a settings word. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { HIERARCHY } from '../../../support/application.ts'
import { type Programme, startProgramme } from '../../../support/programme.ts'

const FORMS = {
  F: { meta: { code: 'F' }, fields: { patient_id: { type: 'string', labels: { tiny: 'pid' } } } },
  OPEN: { meta: { code: 'OPEN' }, fields: {}, public_form: true },
}

describe('contacts and answers', () => {
  let programme: Programme
  before(async () => {
    programme = await startProgramme({
      forms: FORMS,
      transitions: {
        update_clinics: true,
        update_sent_by: true,
        default_responses: true,
        generate_shortcode_on_contacts: {},
        death_reporting: true,
        self_report: { disable: true },
        something_old: true,
      },
      default_responses: { start_date: '2020-01-01' },
      death_reporting: {
        mark_deceased_forms: ['DEATH'],
        undo_deceased_forms: ['UNDO'],
        date_field: 'fields.date',
      },
    })
    await programme.store(...HIERARCHY)
  })
  after(() => programme.close())

  it('gives people and places short ids that check themselves, once', async () => {
    const { place_id: center } = await programme.get('center')
    const { patient_id: nurse } = await programme.get('nurse')
    for (const code of [center, nurse]) assert.match(String(code), /^\d{5}$/)
    assert.notEqual(center, nurse)
    assert.equal((await programme.get('mother')).patient_id, '2001')
    const nurseDocument = await programme.put({
      ...(await programme.get('nurse')),
      name: 'Nadia N',
    })
    assert.equal(nurseDocument.patient_id, nurse)
  })

  it('keeps an info document about each document', async () => {
    const info = await programme.info('nurse')
    const { generate_shortcode_on_contacts: run } = info.transitions as Record<string, unknown>
    assert.equal((run as { ok: boolean }).ok, true)
    assert.equal((run as { last_rev: string }).last_rev.slice(0, 2), '1-')
    assert.equal(info.doc_id, 'nurse')
    assert.deepEqual((await programme.info('form:visit')).transitions, {})
  })

  it('says who sent a record, by the phone', async () => {
    const record = await programme.put({
      _id: 'r1',
      type: 'data_record',
      from: '+12025550123',
      form: 'F',
      fields: {},
      errors: [],
      tasks: [],
      reported_date: programme.nowMs,
    })
    assert.deepEqual(record.contact, {
      _id: 'mother',
      parent: { _id: 'clinic', parent: { _id: 'center', parent: { _id: 'district' } } },
    })
    assert.equal(record.sent_by, 'Mary Smith')
    assert.equal('patient' in record, false)
    assert.deepEqual(record.tasks, [])
  })

  it('says who sent a record, by the reference; a place stands for its primary contact', async () => {
    await programme.store({ ...(await programme.get('clinic')), rc_code: 'abc' })
    const record = await programme.put({
      _id: 'r2',
      type: 'data_record',
      refid: 'ABC',
      form: 'F',
      reported_date: programme.nowMs,
    })
    assert.equal((record.contact as { _id: string })._id, 'mother')
  })

  it('refuses a report from nobody known, unless its form is open to all', async () => {
    const base = { type: 'data_record', from: '+12025559999', reported_date: programme.nowMs }
    const refused = await programme.put({ _id: 'r3', ...base, form: 'F' })
    assert.deepEqual(
      (refused.errors as { code: string }[]).map(({ code }) => code),
      ['sys.facility_not_found'],
    )
    const [task] = refused.tasks as { state: string; messages: { to: string }[] }[]
    assert.equal(task?.state, 'pending')
    assert.equal(task?.messages[0]?.to, '+12025559999')
    const open = await programme.put({ _id: 'r4', ...base, form: 'OPEN' })
    assert.equal(open.errors, undefined)
  })

  it('answers a message that is no form, once, whatever happens to the record later', async () => {
    const record = await programme.put({
      _id: 'r5',
      type: 'data_record',
      from: '+12025550123',
      sms_message: { message: 'hello' },
      errors: [],
      tasks: [],
      reported_date: programme.nowMs,
    })
    const [task, ...more] = record.tasks as { messages: { message: string; uuid: string }[] }[]
    assert.deepEqual(more, [])
    assert.equal(task?.messages[0]?.message, 'Your message has arrived and will be looked at.')
    assert.match(task?.messages[0]?.uuid ?? '', /^[0-9a-f-]{36}$/)
    const read = await programme.put({ ...record, read: ['me'] })
    assert.equal((read.tasks as unknown[]).length, 1)
  })

  it('answers nothing twice when what it remembers is lost', async () => {
    const before = await programme.get('r5')
    const info = await programme.info('r5')
    const gone = `/svc-sentinel/r5-info?rev=${info._rev}`
    assert.equal((await programme.application.ask('DELETE', gone)).status, 200)
    const record = await programme.put({ ...before, read: ['me', 'you'] })
    assert.deepEqual(record.tasks, before.tasks)
    assert.deepEqual(record.errors, before.errors)
  })

  it('notes a death and takes it back', async () => {
    const report = { type: 'data_record', content_type: 'xml', reported_date: programme.nowMs }
    const fields = { patient_id: '2001', date: '2026-03-01T00:00:00Z' }
    await programme.store({ _id: 'death', ...report, form: 'DEATH', fields })
    assert.equal((await programme.get('mother')).date_of_death, Date.parse('2026-03-01T00:00:00Z'))
    await programme.store({ _id: 'undo', ...report, form: 'UNDO', fields: { patient_id: '2001' } })
    assert.equal('date_of_death' in (await programme.get('mother')), false)
  })

  it('writes down once what ran on a record that arrived, and anew what runs on its next revision', async () => {
    const { json } = await programme.application.ask('POST', '/api/v2/records', {
      body: 'from=%2B254711&message=hello',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    const { id } = json as { id: string }
    await programme.settled()
    const first = await programme.info(id)
    assert.match(first._rev as string, /^1-/)
    assert.ok(Object.hasOwn(first.transitions as object, 'default_responses'))
    programme.nowMs += 1000
    await programme.put({ ...(await programme.get(id)), read: ['me'] })
    const second = await programme.info(id)
    assert.match(second._rev as string, /^2-/)
    assert.equal(second.latest_replication_date, new Date(programme.nowMs).toISOString())
  })

  it('knows where it is', async () => {
    await programme.settled()
    const { json } = await programme.application.ask('GET', '/svc-sentinel/_local/transitions-seq')
    const { json: info } = await programme.application.ask('GET', '/svc')
    assert.equal((json as { value: string }).value, (info as { update_seq: string }).update_seq)
  })
})
