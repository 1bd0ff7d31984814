/**
 * Messages as documents carry them: a record has `tasks` (to be sent at once) and `scheduled_tasks` (to be sent when they
 * are due), each with its messages, its state and how it came to it. Pure: documents go in, changed copies come out.
 */
import { isObject, type JsonObject } from '../documents/document.ts'

export interface TaskMessage {
  readonly uuid?: string
  readonly to?: string
  readonly message?: string
  readonly [member: string]: unknown
}

export interface StateEntry {
  readonly state: string
  readonly state_details?: unknown
  /** ISO 8601. */
  readonly timestamp: string
}

export interface MessageTask {
  /** Absent on a scheduled task whose text is made when it is due. */
  readonly messages?: readonly TaskMessage[]
  readonly state?: string
  readonly state_details?: unknown
  readonly state_history?: readonly StateEntry[]
  /** The name an aggregator has for it. */
  readonly gateway_ref?: string
  readonly [member: string]: unknown
}

const LISTS = ['tasks', 'scheduled_tasks'] as const

/** Immediate ones first, then scheduled ones, as they stand in the document. */
export const tasksOf = (document: JsonObject): MessageTask[] =>
  LISTS.flatMap(name => taskList(document[name]))

export const taskList = (value: unknown): MessageTask[] =>
  Array.isArray(value) ? value.filter(isObject) : []

export const messagesOf = ({ messages }: MessageTask): readonly TaskMessage[] =>
  Array.isArray(messages) ? messages.filter(isObject) : []

/**
 * The document with each task changed; the same document where `change` returns the very tasks it was given.
 */
export function changeTasks<D extends JsonObject>(
  document: D,
  change: (task: MessageTask, list: (typeof LISTS)[number]) => MessageTask,
): D {
  let changed = document
  for (const name of LISTS) {
    const before = document[name]
    if (!Array.isArray(before)) continue
    const after = before.map(task => (isObject(task) ? change(task, name) : task))
    const isSame = after.every((task, index) => task === before[index])
    if (!isSame) changed = { ...changed, [name]: after }
  }
  return changed
}
