/**
 * The messages of a schedule as tasks of a report: each at a span after the day the schedule starts from, at a configured
 * time and day of the week. Pure.
 *
 * Messages whose time is past are left out, and with them the rest of their group, unless the schedule may begin in the
 * middle of one. A schedule that the report has already is not assigned again.
 */
import { type Document, isObject, isText, type JsonObject } from '../documents/document.ts'
import type { MessageSource } from '../messages/generate-message.ts'
import { type MessageTask, taskList } from '../messages/message-task.ts'
import { setTaskState } from '../messages/task-state.ts'
import { addSpan, momentOf, startOfDay } from './offset.ts'

export interface Schedule extends JsonObject {
  readonly name: string
}

export interface ScheduledMessage extends JsonObject, MessageSource {
  readonly group?: unknown
  readonly offset?: unknown
  readonly send_time?: unknown
  readonly send_day?: unknown
}

export interface Assignment {
  readonly schedule: Schedule
  readonly report: Document
  /** Whom the report is about. */
  readonly patient?: JsonObject | undefined
  readonly nowMs: number
  /** Messages of muted people wait. */
  readonly isMuted: boolean
  /** Makes the text of a message that brings it along. @param at which message of the schedule */
  readonly generate: (message: ScheduledMessage, at: number) => MessageTask['messages']
}

export function findSchedule(schedules: unknown, name: string): Schedule | undefined {
  if (!Array.isArray(schedules)) return undefined
  return schedules.find(each => isObject(each) && each.name === name) as Schedule | undefined
}

export const hasSchedule = (report: Document, name: string): boolean =>
  taskList(report.scheduled_tasks).some(({ type }) => type === name)

/** The tasks to add; none where there is no day to start from. */
export function scheduledTasks(assignment: Assignment): MessageTask[] {
  const { schedule, report, nowMs, isMuted } = assignment
  const startMs = startOf(assignment)
  if (startMs === undefined || hasSchedule(report, schedule.name)) return []
  const messages = Array.isArray(schedule.messages) ? schedule.messages.filter(isObject) : []
  const passed = new Set<unknown>()
  const tasks: MessageTask[] = []
  for (const [at, message] of (messages as ScheduledMessage[]).entries()) {
    const dueMs = dueOf(message, startMs)
    if (dueMs === undefined) continue
    if (dueMs < nowMs) {
      passed.add(message.group)
      continue
    }
    if (passed.has(message.group) && !schedule.start_mid_group) continue
    const task = taskOf(assignment, message, { at, dueMs })
    tasks.push(setTaskState(task, { state: isMuted ? 'muted' : 'scheduled' }, nowMs))
  }
  return tasks
}

function taskOf(
  { schedule, generate }: Assignment,
  message: ScheduledMessage,
  { at, dueMs }: { at: number; dueMs: number },
): MessageTask {
  const { translation_key: key, recipient, group } = message
  const messages = isText(key) ? undefined : generate(message, at)
  return {
    due: new Date(dueMs).toISOString(),
    ...(group === undefined ? {} : { group }),
    type: schedule.name,
    ...(schedule.translation_key === undefined
      ? {}
      : { translation_key: schedule.translation_key }),
    ...(isText(key) ? { message_key: key } : {}),
    ...(recipient === undefined ? {} : { recipient }),
    ...(messages === undefined ? {} : { messages }),
  }
}

/** The first of the named days that is known, in the report, its fields or whom it is about. */
function startOf({ schedule, report, patient }: Assignment): number | undefined {
  const fields = isObject(report.fields) ? report.fields : {}
  const names = [schedule.start_from].flat().filter(isText)
  for (const name of names.length === 0 ? ['reported_date'] : names) {
    for (const holder of [report, fields, patient ?? {}]) {
      const ms = Object.hasOwn(holder, name) ? momentOf(holder[name]) : undefined
      if (ms !== undefined) return ms
    }
  }
  return undefined
}

function dueOf(message: ScheduledMessage, startMs: number): number | undefined {
  const span = addSpan(startMs, message.offset)
  if (span === undefined) return undefined
  const onDay = isText(message.send_day) ? nextWeekday(span, message.send_day) : span
  return isText(message.send_time) ? atTime(onDay, message.send_time) : onDay
}

const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

/** The same day, or the next one that is called so. */
function nextWeekday(ms: number, name: string): number {
  const lower = name.trim().toLowerCase()
  const wanted = WEEKDAYS.findIndex(day => day === lower || day.slice(0, 3) === lower)
  if (wanted < 0) return ms
  const date = new Date(ms)
  date.setDate(date.getDate() + ((wanted - date.getDay() + 7) % 7))
  return date.getTime()
}

const TIME = /^\s*(\d{1,2}):(\d{2})\s*(?:([+-])(\d{2}):?(\d{2})|(Z))?\s*$/i

/** That time of that day, where the server is unless a zone is told. */
function atTime(ms: number, text: string): number {
  const parts = TIME.exec(text)
  if (parts === null) return ms
  const hours = Number(parts[1])
  const minutes = Number(parts[2])
  const isZoned = parts[3] !== undefined || parts[6] !== undefined
  if (!isZoned) return new Date(startOfDay(ms)).setHours(hours, minutes, 0, 0)
  const ahead = Number(parts[4] ?? 0) * 60 + Number(parts[5] ?? 0)
  const offsetMs = (parts[3] === '-' ? -ahead : ahead) * 60_000
  const day = new Date(ms + offsetMs)
  return (
    Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate(), hours, minutes) - offsetMs
  )
}
