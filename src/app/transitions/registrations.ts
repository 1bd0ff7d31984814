/**
 * Registrations of a person, a place or a case: reports of forms that are configured as such. What later reports do to
 * their scheduled messages: clear them, or note that they were answered. Pure but for the reading.
 */
import { type Document, isObject, isText, type JsonObject } from '../documents/document.ts'
import { type MessageTask, taskList } from '../messages/message-task.ts'
import { setTaskState } from '../messages/task-state.ts'
import { addSpan, momentOf } from '../schedules/offset.ts'
import type { Desk } from './desk.ts'
import { formDefinition, rulesFor } from './submission.ts'
import type { Work } from './work.ts'

/** Short ids of whom a report is about. */
export function subjectCodes({ patient, place, stored, fields }: Work): string[] {
  const codes = [
    patient?.patient_id,
    patient?.place_id,
    place?.place_id,
    stored.patient_id,
    stored.place_id,
    fields.patient_id,
    fields.place_id,
  ]
  return [...new Set(codes.filter(code => code !== undefined && code !== '').map(String))]
}

/** By short ids of people and places. */
export async function registrationsOf(desk: Desk, codes: readonly string[]): Promise<Document[]> {
  if (codes.length === 0) return []
  const rows = await desk.data.allRows(desk.client, 'registered_patients', { keys: codes })
  return readRegistrations(
    desk,
    rows.map(({ id }) => id),
  )
}

/** By the id of a case. */
export async function registrationsOfCase(desk: Desk, code: string): Promise<Document[]> {
  const { data } = desk
  const rows = await data.allRows(data.name, 'docs_by_shortcode', { keys: [code] })
  const found = await readRegistrations(
    desk,
    rows.map(({ id }) => id),
  )
  return found.filter(({ case_id: id }) => String(id) === code)
}

async function readRegistrations(desk: Desk, ids: readonly string[]): Promise<Document[]> {
  const found = await desk.data.getMany([...new Set(ids)])
  const documents = found.filter(document => document !== undefined)
  return documents.filter(document => isRegistration(desk, document))
}

export function isRegistration({ settings }: Desk, document: Document): boolean {
  const { form, type, content_type: contentType } = document
  if (type !== 'data_record' || typeof form !== 'string') return false
  if (rulesFor(settings.all.registrations, form) === undefined) return false
  return contentType === 'xml' || formDefinition(settings, form) !== undefined
}

/** Names of schedules: a list, or one text with commas. */
export function scheduleNames(given: unknown): string[] {
  const list = Array.isArray(given) ? given : typeof given === 'string' ? given.split(',') : []
  return list.flatMap(name => (isText(name) ? [name.trim()] : []))
}

export interface Silence {
  /** Of schedules. */
  readonly types: readonly string[]
  /** How long no message is to come; all there are without. */
  readonly span?: unknown
}

const OPEN = ['scheduled', 'pending']
const SENT = [
  'pending',
  'forwarded-to-gateway',
  'received-by-gateway',
  'forwarded-by-gateway',
  'sent',
  'delivered',
]

/** The registration with messages cleared by the work's report; the same one when there are none. */
export function silenced(registration: Document, work: Work, silence: Silence): Document {
  const nowMs = work.desk.clock()
  const tasks = taskList(registration.scheduled_tasks)
  const open = tasks.filter(task => isOfType(task, silence) && OPEN.includes(task.state ?? ''))
  const untilMs = isText(silence.span) ? addSpan(work.reportedMs, silence.span) : undefined
  const groups = new Set(
    open.filter(({ due }) => untilMs === undefined || (momentOf(due) ?? 0) <= untilMs).map(groupOf),
  )
  const isCleared = (task: MessageTask): boolean => open.includes(task) && groups.has(groupOf(task))
  const answered = answeredTask(
    tasks.filter(task => !isCleared(task)),
    work,
    silence,
  )
  let isChanged = false
  const next = tasks.map(task => {
    if (isCleared(task)) {
      isChanged = true
      return { ...setTaskState(task, { state: 'cleared' }, nowMs), cleared_by: work.id }
    }
    if (task !== answered) return task
    isChanged = true
    return { ...task, responded_to_by: work.id }
  })
  return isChanged ? { ...registration, scheduled_tasks: next } : registration
}

const isOfType = ({ type }: MessageTask, { types }: Silence): boolean =>
  typeof type === 'string' && types.includes(type)

const groupOf = ({ type, group }: MessageTask): string => JSON.stringify([type, group])

/** The last message that had been sent when the report was made, unless another report has answered it. */
function answeredTask(
  tasks: readonly MessageTask[],
  { reportedMs }: Work,
  silence: Silence,
): MessageTask | undefined {
  const sent = tasks.filter(
    task =>
      isOfType(task, silence) &&
      SENT.includes(task.state ?? '') &&
      (momentOf(task.due) ?? Number.POSITIVE_INFINITY) <= reportedMs,
  )
  const last = sent.reduce<MessageTask | undefined>(
    (latest, task) =>
      latest === undefined || (momentOf(task.due) ?? 0) >= (momentOf(latest.due) ?? 0)
        ? task
        : latest,
    undefined,
  )
  return last?.responded_to_by === undefined ? last : undefined
}

/** Tells the registrations of a report's subject; answers the newest of them. */
export function silence(
  work: Work,
  registrations: readonly Document[],
  wanted: Silence,
): Document | undefined {
  for (const registration of registrations) {
    if (registration._id === work.id) continue
    const next = silenced(registration, work, wanted)
    if (next !== registration) work.changeOther(next)
  }
  return newest(registrations.filter(({ _id }) => _id !== work.id))
}

const newest = (documents: readonly Document[]): Document | undefined =>
  documents.reduce<Document | undefined>(
    (latest, document) => (dateOf(document) > dateOf(latest) ? document : latest),
    undefined,
  )

const dateOf = (document: JsonObject | undefined): number =>
  isObject(document) && typeof document.reported_date === 'number' ? document.reported_date : -1
