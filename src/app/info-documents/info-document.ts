/**
 * What is known about a document beside what is in it: when it was first and last written, which transitions ran on it,
 * which pushes were made of it. Kept in the sentinel database as `{id}-info`, so that knowing it changes no document.
 * Pure.
 */
import { type Document, isObject, type JsonObject } from '../documents/document.ts'

export interface InfoDocument extends Document {
  readonly type: 'info'
  readonly doc_id: string
  /** ISO 8601. */
  readonly initial_replication_date: unknown
  readonly latest_replication_date: unknown
  readonly transitions?: Readonly<Record<string, TransitionRun>>
  readonly completed_tasks?: readonly CompletedTask[]
  readonly muting_history?: readonly MutingEntry[]
}

export interface TransitionRun {
  /** The revision it ran on. */
  readonly last_rev?: string
  readonly seq?: string | undefined
  readonly ok: boolean
  readonly run_date?: string
}

export interface CompletedTask {
  readonly type: 'outbound'
  readonly name: string
  readonly timestamp: number
  /** SHA-256 of what was sent. */
  readonly hash: string
}

export interface MutingEntry {
  readonly muted: boolean
  readonly date: string
  readonly report_id?: string | undefined
}

const ENDING = '-info'

export const infoIdOf = (documentId: string): string => documentId + ENDING
export const isInfoId = (id: string): boolean => id.endsWith(ENDING)

export const newInfo = (documentId: string, nowMs: number): InfoDocument => ({
  _id: infoIdOf(documentId),
  type: 'info',
  doc_id: documentId,
  initial_replication_date: new Date(nowMs).toISOString(),
  latest_replication_date: new Date(nowMs).toISOString(),
})

export const runsOf = ({ transitions }: InfoDocument): Readonly<Record<string, TransitionRun>> =>
  isObject(transitions) ? (transitions as Readonly<Record<string, TransitionRun>>) : {}

export const withRuns = (
  info: InfoDocument,
  runs: Readonly<Record<string, TransitionRun>>,
): InfoDocument => ({ ...info, transitions: { ...runsOf(info), ...runs } })

export const stamped = (info: InfoDocument, nowMs: number): InfoDocument => ({
  ...info,
  latest_replication_date: new Date(nowMs).toISOString(),
})

export function withMuting(info: InfoDocument, entry: MutingEntry): InfoDocument {
  const history = info.muting_history ?? []
  const last = history.at(-1)
  // Done before: whoever repeats it after a crash leaves no second entry.
  if (last?.report_id === entry.report_id && last?.muted === entry.muted) return info
  return { ...info, muting_history: [...history, entry] }
}

/** Only the last push of each name matters: what was sent is compared with it. */
export function withPush(info: InfoDocument, task: CompletedTask): InfoDocument {
  const tasks = Array.isArray(info.completed_tasks) ? info.completed_tasks : []
  return { ...info, completed_tasks: [...tasks, task].slice(-TASKS_MAX) }
}

const TASKS_MAX = 100

export const lastPush = ({ completed_tasks: tasks }: InfoDocument, name: string) =>
  (Array.isArray(tasks) ? (tasks as readonly CompletedTask[]) : []).findLast(
    task => isObject(task as unknown as JsonObject) && task.name === name,
  )
