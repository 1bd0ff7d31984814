/** Times that come again, spans, messages that fall due, reminders. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  lastTime,
  parseCron,
  parseWords,
  recurrenceOf,
} from '../../../../src/app/schedules/cron.ts'
import { isSendingTime } from '../../../../src/app/schedules/due-tasks.ts'
import { addSpan } from '../../../../src/app/schedules/offset.ts'
import { settingsOf } from '../../../../src/app/settings/settings.ts'
import { HIERARCHY } from '../../../support/application.ts'
import { type Json, type Programme, startProgramme } from '../../../support/programme.ts'

const at = (text: string): number => new Date(text).getTime()

describe('recurring times', () => {
  const cases: [text: string, before: string, expected: string | undefined][] = [
    ['0 9 * * 1', '2026-03-10T10:00', '2026-03-09T09:00'],
    ['*/15 * * * *', '2026-03-10T10:14', '2026-03-10T10:00'],
    ['30 8 10 * *', '2026-03-10T10:00', '2026-03-10T08:30'],
    ['0 0 1 1 *', '2026-03-10T10:00', undefined],
    ['0 12 * mar sun', '2026-03-10T10:00', '2026-03-08T12:00'],
    ['0 6 9 * mon', '2026-03-10T10:00', '2026-03-09T06:00'],
    ['at 3:30 pm on Monday', '2026-03-10T10:00', '2026-03-09T15:30'],
    ['at 9:00 am every weekday', '2026-03-08T10:00', '2026-03-06T09:00'],
    ['at 7 am', '2026-03-10T06:00', '2026-03-09T07:00'],
    ['every 2 hours', '2026-03-10T11:30', '2026-03-10T10:00'],
    ['at 12:00 am on the first day of the month', '2026-03-04T11:30', '2026-03-01T00:00'],
  ]
  for (const [text, before, expected] of cases) {
    it(`${text} was before ${before} last at ${expected}`, () => {
      const recurrence = recurrenceOf(text, undefined)
      assert.ok(recurrence !== undefined)
      const found = lastTime(recurrence, at('2026-02-28T00:00'), at(before))
      assert.equal(found, expected === undefined ? undefined : at(expected))
    })
  }

  it('that nobody understands are none', () => {
    for (const text of ['', '* * * *', '60 * * * *', 'a b c d e', '5-1 * * * *', '*/0 * * * *']) {
      assert.equal(parseCron(text), undefined, text)
    }
    for (const text of ['whenever', 'at noon', 'at 9 on someday']) {
      assert.equal(parseWords(text), undefined, text)
    }
  })

  it('and spans go by the calendar', () => {
    assert.equal(addSpan(at('2026-01-31T10:00'), '1 month'), at('2026-02-28T10:00'))
    assert.equal(addSpan(at('2026-01-31T10:00'), '2 weeks'), at('2026-02-14T10:00'))
    assert.equal(addSpan(at('2026-01-31T10:00'), '-1 year'), at('2025-01-31T10:00'))
    assert.equal(addSpan(0, 'soon'), undefined)
  })

  it('have hours', () => {
    const settings = settingsOf({ schedule_morning_hours: 8, schedule_evening_hours: '17' })
    assert.equal(isSendingTime(settings, at('2026-03-10T07:59')), false)
    assert.equal(isSendingTime(settings, at('2026-03-10T08:00')), true)
    assert.equal(isSendingTime(settings, at('2026-03-10T17:01')), false)
    assert.equal(isSendingTime(settingsOf({}), at('2026-03-10T23:30')), false)
  })
})

describe('messages that fall due', () => {
  let programme: Programme
  before(async () => {
    programme = await startProgramme({
      reminders: [
        {
          form: 'STOCK',
          cron: '0 9 * * *',
          message: [{ locale: 'en', content: 'Send stock of week {{week}}, {{place.name}}' }],
          mute_after_form_for: '3 days',
        },
      ],
    })
    await programme.store(...HIERARCHY, {
      _id: 'messages-en',
      type: 'translations',
      code: 'en',
      generic: { 'visit.due': 'Visit {{patient_name}} now' },
    })
  })
  after(() => programme.close())

  const task = (due: number, more: Json = {}): Json => ({
    due: new Date(due).toISOString(),
    type: 'V',
    group: 1,
    message_key: 'visit.due',
    recipient: 'reporting_unit',
    state: 'scheduled',
    state_history: [],
    ...more,
  })
  const DAY = 86_400_000

  it('become pending with their text, once; what is too late stays', async () => {
    const { nowMs } = programme
    await programme.store({
      _id: 'reg',
      type: 'data_record',
      form: 'R',
      from: '+12025550123',
      patient_id: '2001',
      reported_date: nowMs,
      scheduled_tasks: [
        task(nowMs - 8 * DAY),
        task(nowMs - DAY),
        task(nowMs + DAY),
        task(nowMs - DAY, { message_key: 'no.such.key' }),
        task(nowMs - DAY, { state: 'cleared' }),
      ],
    })
    await programme.background.runRegular()
    const document = await programme.get('reg')
    const tasks = document.scheduled_tasks as { state: string; messages?: Json[] }[]
    assert.deepEqual(
      tasks.map(({ state }) => state),
      ['scheduled', 'pending', 'scheduled', 'scheduled', 'cleared'],
    )
    assert.equal(tasks[1]?.messages?.[0]?.message, 'Visit Mary Smith now')
    assert.equal(tasks[1]?.messages?.[0]?.to, '+12025550123')
    await programme.background.runRegular()
    assert.equal((await programme.get('reg'))._rev, document._rev)
  })

  it('are dropped where they cannot be made, if the settings say so', async () => {
    await programme.settings({ sms: { clear_failing_schedules: true } })
    await programme.background.runRegular()
    const document = await programme.get('reg')
    assert.equal((document.scheduled_tasks as { state: string }[])[3]?.state, 'clear')
  })

  it('remind places at their time, once, and not those that have reported', async () => {
    const nine = new Date(programme.nowMs + DAY).setHours(9, 0, 0, 0)
    programme.nowMs = nine + 4 * 60_000
    await programme.background.runRegular()
    const id = `reminder:STOCK:${nine}:clinic`
    const reminder = await programme.get(id)
    assert.equal(reminder.type, 'reminder')
    const [sent] = reminder.tasks as { state: string; messages: Json[] }[]
    assert.equal(sent?.state, 'pending')
    assert.equal(sent?.messages[0]?.to, '+12025550123')
    assert.match(String(sent?.messages[0]?.message), /^Send stock of week 11, Household One$/)
    programme.nowMs += 5 * 60_000
    await programme.background.runRegular()
    assert.equal((await programme.get(id))._rev, reminder._rev)
    const log = await programme.application.ask('GET', `/svc-sentinel/reminderlog:STOCK:${nine}`)
    assert.equal(log.status, 200)

    await programme.store({
      _id: 'stock',
      type: 'data_record',
      form: 'STOCK',
      reported_date: programme.nowMs,
      contact: { _id: 'mother', parent: { _id: 'clinic' } },
    })
    programme.nowMs = nine + DAY
    await programme.background.runRegular()
    const path = `/svc/${encodeURIComponent(`reminder:STOCK:${nine + DAY}:clinic`)}`
    assert.equal((await programme.application.ask('GET', path)).status, 404)
  })
})
