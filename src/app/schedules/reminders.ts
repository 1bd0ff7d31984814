/**
 * Reminders to send a form in: at configured times every place of the configured kinds gets a message, unless it has sent
 * the form lately or is muted. Each is a document named after the form, the time and the place, so that none is made
 * twice; a log says that a time was served.
 */
import type { ApplicationContext } from '../application-context.ts'
import { hydrateMany } from '../contacts/hydrate.ts'
import { referenceTo } from '../contacts/lineage.ts'
import { type Document, isObject, isText, type JsonObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { generateMessage } from '../messages/generate-message.ts'
import { setTaskState } from '../messages/task-state.ts'
import type { Translations } from '../messages/translations.ts'
import { stableUuid } from '../transitions/stable-id.ts'
import { lastTime, recurrenceOf } from './cron.ts'
import { addSpan } from './offset.ts'

/** A time that was missed, because the server was not running, is made good for so long. */
const LATE_MS_MAX = 3_600_000
const SLICE = 100

export interface ReminderParts {
  readonly context: ApplicationContext
  readonly sentinel: DocumentDatabase
  readonly translations: Translations
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
}

export async function sendReminders(parts: ReminderParts, signal: AbortSignal): Promise<void> {
  const { reminders } = parts.context.settings.all
  for (const reminder of Array.isArray(reminders) ? reminders.filter(isObject) : []) {
    if (signal.aborted) return
    await sendReminder(parts, reminder, signal)
  }
}

async function sendReminder(
  parts: ReminderParts,
  reminder: JsonObject,
  signal: AbortSignal,
): Promise<void> {
  const { context, sentinel, warn } = parts
  const { form } = reminder
  const recurrence = recurrenceOf(reminder.cron, reminder.text_expression)
  if (!isText(form) || recurrence === undefined) {
    warn('a reminder has no form, or no time that can be understood', { form })
    return
  }
  const nowMs = context.clock()
  const timeMs = lastTime(recurrence, nowMs - LATE_MS_MAX, nowMs)
  const logId = `reminderlog:${form}:${timeMs}`
  if (timeMs === undefined || (await sentinel.get(logId)) !== undefined) return
  const startedMs = context.clock()
  for (const type of typesOf(reminder)) {
    const query = { startKey: [type], endKey: [type], reduce: false }
    const { data } = context
    for await (const rows of data.rows(`${data.name}-client`, 'contacts_by_type', query, signal)) {
      for (let at = 0; at < rows.length && !signal.aborted; at += SLICE) {
        const ids = rows.slice(at, at + SLICE).map(({ id }) => id)
        await remind(parts, { ...reminder, form }, timeMs, ids)
      }
    }
  }
  if (signal.aborted) return
  const duration = context.clock() - startedMs
  const log = { type: 'reminderlog', reminder, start: startedMs, end: context.clock(), duration }
  await sentinel.putMany([{ _id: logId, ...log, reported_date: context.clock() }])
}

const typesOf = ({ contact_types: types }: JsonObject): string[] => {
  const named = Array.isArray(types) ? types.filter(isText) : []
  return named.length > 0 ? named : ['clinic']
}

async function remind(
  parts: ReminderParts,
  reminder: JsonObject & { readonly form: string },
  timeMs: number,
  placeIds: readonly string[],
): Promise<void> {
  const { context } = parts
  const { data } = context
  const ids = placeIds.map(id => `reminder:${reminder.form}:${timeMs}:${id}`)
  const made = await data.getMany(ids)
  const places = (await data.getMany(placeIds)).filter(
    (place, index) => place !== undefined && made[index] === undefined && !place.muted,
  ) as Document[]
  const silent = await withRecentReports(context, reminder, places)
  const wanted = places.filter(({ _id }) => !silent.has(_id))
  const whole = await hydrateMany(context, wanted)
  const documents = wanted.flatMap((place, index) =>
    reminderFor(parts, reminder, timeMs, { place, whole: whole[index] as JsonObject }),
  )
  for (const outcome of await data.putMany(documents)) {
    // One that another run has just made is there: that is all that matters.
    if (!outcome.ok && outcome.failure.code !== 'document_conflict') throw outcome.failure
  }
}

function reminderFor(
  { context, translations }: ReminderParts,
  reminder: JsonObject & { readonly form: string },
  timeMs: number,
  { place, whole }: { place: Document; whole: JsonObject },
): Document[] {
  const { settings, clock } = context
  const { contact } = whole
  const phone = isObject(contact) && isText(contact.phone) ? contact.phone : undefined
  if (phone === undefined || (isObject(contact) && contact.muted)) return []
  const _id = `reminder:${reminder.form}:${timeMs}:${place._id}`
  const kit = { settings, translations, clock, newUuid: () => stableUuid(_id) }
  const { week, year } = isoWeekOf(timeMs)
  // Whoever is in charge of the place stands where a report has its sender.
  const record = {
    place: whole,
    contact: { ...(contact as JsonObject), parent: whole },
    from: phone,
  }
  const source = { ...reminder, recipient: reminder.recipient ?? 'reporting_unit' }
  const names = { form: reminder.form, week, year, timestamp: timeMs }
  const message = generateMessage(kit, record, source, names)
  const members = {
    messages: [message],
    form: reminder.form,
    timestamp: new Date(timeMs).toISOString(),
    type: 'reminder',
  }
  const task = setTaskState(members, { state: 'pending' }, clock())
  const about = { form: reminder.form, contact: referenceTo(place), place: referenceTo(place) }
  return [{ _id, type: 'reminder', ...about, reported_date: clock(), tasks: [task] }]
}

/** Places that have sent the form within the span in which they are left in peace. */
async function withRecentReports(
  { data, clock }: ApplicationContext,
  { form, mute_after_form_for: span }: JsonObject,
  places: readonly Document[],
): Promise<ReadonlySet<string>> {
  const sinceMs = isText(span) ? addSpan(clock(), `-${span.trim()}`) : undefined
  if (sinceMs === undefined || places.length === 0) return new Set()
  const keys = places.map(({ _id }) => [form, _id])
  const query = { keys, group: true }
  const rows = await data.allRows(data.name, 'reports_by_form_and_parent', query)
  const recent = rows.filter(({ value }) => isObject(value) && Number(value.max) >= sinceMs)
  return new Set(recent.map(({ key }) => (key as [string, string])[1]))
}

function isoWeekOf(ms: number): { readonly week: number; readonly year: number } {
  const date = new Date(ms)
  // The Thursday of the week decides to which year it belongs.
  const thursday = new Date(
    date.getFullYear(),
    date.getMonth(),
    date.getDate() + 3 - ((date.getDay() + 6) % 7),
  )
  const year = thursday.getFullYear()
  const firstMs = new Date(year, 0, 4).getTime()
  const week =
    1 +
    Math.round(
      (thursday.getTime() - firstMs) / (7 * 86_400_000) +
        (((new Date(firstMs).getDay() + 6) % 7) - 3) / 7,
    )
  return { week, year }
}
