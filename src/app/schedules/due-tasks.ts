/**
 * Scheduled messages whose time has come become pending, with their text made where it was left for then. Only at the
 * hours that the settings allow, and never for what should have gone more than a week ago: late reminders confuse.
 *
 * Each document is written once, at the revision that was read: whoever changed it meanwhile is waited for, and nothing
 * is sent twice however often this runs.
 */
import type { ApplicationContext } from '../application-context.ts'
import { hydrateMany } from '../contacts/hydrate.ts'
import type { Document, JsonObject } from '../documents/document.ts'
import { isObject } from '../documents/document.ts'
import { smsSettings } from '../messages/denied-recipient.ts'
import { generateMessage, type MessageKit } from '../messages/generate-message.ts'
import { type MessageTask, messagesOf, taskList } from '../messages/message-task.ts'
import { setTaskState } from '../messages/task-state.ts'
import type { Translations } from '../messages/translations.ts'
import type { Settings } from '../settings/settings.ts'
import { stableUuid } from '../transitions/stable-id.ts'
import { momentOf } from './offset.ts'

const LATE_MS_MAX = 7 * 86_400_000
const SLICE = 100

export interface DueTasksResult {
  readonly written: number
  /** Somebody else was writing: to be tried again. */
  readonly conflicts: number
}

export async function sendDueTasks(
  context: ApplicationContext,
  translations: Translations,
  signal: AbortSignal,
): Promise<DueTasksResult> {
  const { data, clock, settings } = context
  const nowMs = clock()
  if (!isSendingTime(settings, nowMs)) return { written: 0, conflicts: 0 }
  const query = { startKey: ['scheduled', nowMs - LATE_MS_MAX], endKey: ['scheduled', nowMs] }
  const result = { written: 0, conflicts: 0 }
  const seen = new Set<string>()
  for await (const rows of data.rows(data.name, 'messages_by_state', query, signal)) {
    const ids = [...new Set(rows.map(({ id }) => id))].filter(id => !seen.has(id))
    for (const id of ids) seen.add(id)
    for (let at = 0; at < ids.length && !signal.aborted; at += SLICE) {
      const outcome = await sendSlice(context, translations, ids.slice(at, at + SLICE), nowMs)
      result.written += outcome.written
      result.conflicts += outcome.conflicts
    }
  }
  return result
}

async function sendSlice(
  context: ApplicationContext,
  translations: Translations,
  ids: readonly string[],
  nowMs: number,
): Promise<DueTasksResult> {
  const { data, settings, clock } = context
  const found = (await data.getMany(ids)).filter(document => document !== undefined)
  const whole = await hydrateMany(context, found)
  const changed = found.flatMap((document, index) => {
    const next = withDueTasks(document, whole[index] as JsonObject, nowMs, uuid => ({
      settings,
      translations,
      clock,
      newUuid: () => uuid,
    }))
    return next === document ? [] : [next]
  })
  const outcomes = await data.putMany(changed)
  const failed = outcomes.filter(outcome => !outcome.ok)
  for (const outcome of failed) {
    if (!outcome.ok && outcome.failure.code !== 'document_conflict') throw outcome.failure
  }
  return { written: outcomes.length - failed.length, conflicts: failed.length }
}

/** The document with what is due pending; the same one where nothing is. */
export function withDueTasks(
  document: Document,
  whole: JsonObject,
  nowMs: number,
  kitOf: (uuid: string) => MessageKit,
): Document {
  let isChanged = false
  const tasks = taskList(document.scheduled_tasks).map((task, index) => {
    const dueMs = momentOf(task.due) ?? momentOf(task.timestamp)
    const isDue = dueMs !== undefined && dueMs <= nowMs && dueMs >= nowMs - LATE_MS_MAX
    if (task.state !== 'scheduled' || !isDue) return task
    const uuid = stableUuid(
      document._id,
      'scheduled',
      String(task.type),
      String(task.group),
      String(index),
    )
    const next = sendTask(task, whole, nowMs, kitOf(uuid))
    isChanged ||= next !== task
    return next
  })
  return isChanged ? { ...document, scheduled_tasks: tasks } : document
}

function sendTask(
  task: MessageTask,
  whole: JsonObject,
  nowMs: number,
  kit: MessageKit,
): MessageTask {
  if (messagesOf(task).length > 0) return setTaskState(task, { state: 'pending' }, nowMs)
  const source = {
    translation_key: task.message_key ?? task.translation_key,
    message: task.message,
    recipient: task.recipient,
  }
  const message = generateMessage(kit, whole, source)
  if (message.message !== undefined && message.to !== undefined) {
    return setTaskState({ ...task, messages: [message] }, { state: 'pending' }, nowMs)
  }
  const clears = isObject(kit.settings.all.sms) && smsSettings(kit.settings).clear_failing_schedules
  return clears ? setTaskState(task, { state: 'clear' }, nowMs) : task
}

/** Between the morning and the evening of the settings; from midnight to eleven at night without. */
export function isSendingTime({ all }: Settings, nowMs: number): boolean {
  const at = (hours: unknown, minutes: unknown, usual: number): number => {
    const hour = Number(hours ?? usual)
    const minute = Number(minutes ?? 0)
    return new Date(nowMs).setHours(
      Number.isFinite(hour) ? hour : usual,
      Number.isFinite(minute) ? minute : 0,
      0,
      0,
    )
  }
  const morning = at(all.schedule_morning_hours, all.schedule_morning_minutes, 0)
  const evening = at(all.schedule_evening_hours, all.schedule_evening_minutes, 23)
  return nowMs >= morning && nowMs <= evening
}
