/**
 * Mutes a contact with all below it, or ends that, and the scheduled messages of their registrations with it. There may be
 * thousands, so they are written a slice at a time and not with the batch; all of it may be done again.
 */
import { Failure } from '../../base/errors.ts'
import type { Document } from '../documents/document.ts'
import { without } from '../documents/document.ts'
import { changeTasks } from '../messages/message-task.ts'
import { setTaskState } from '../messages/task-state.ts'
import { momentOf, startOfDay } from '../schedules/offset.ts'
import { registrationsOf } from './registrations.ts'
import type { Work } from './work.ts'

const SLICE = 200
const ATTEMPTS_MAX = 5

export async function muteBelow(work: Work, id: string, isMuting: boolean): Promise<void> {
  const { data } = work.desk
  const rows = data.rows(data.name, 'contacts_by_depth', { startKey: [id], endKey: [id] })
  for await (const batch of rows) {
    for (let at = 0; at < batch.length; at += SLICE) {
      const ids = [...new Set(batch.slice(at, at + SLICE).map(row => row.id))]
      await muteSlice(work, ids, isMuting)
    }
  }
}

async function muteSlice(work: Work, ids: readonly string[], isMuting: boolean): Promise<void> {
  const { desk } = work
  const nowMs = desk.clock()
  const date = new Date(nowMs).toISOString()
  const isOther = (document: Document): boolean => Boolean(document.muted) !== isMuting
  const stored = await desk.data.readStored(ids)
  const others = stored.flatMap(each => (each !== undefined && isOther(each) ? [each._id] : []))
  await desk.rememberMuting(others, { muted: isMuting, date, report_id: work.id })
  await edit(work, others, document => {
    if (!isOther(document)) return document
    return isMuting
      ? { ...document, muted: date }
      : (without(document, 'muted') as unknown as Document)
  })
  const contacts = await desk.data.getMany(ids)
  const codes = contacts.flatMap(contact => [contact?.patient_id, contact?.place_id])
  const known = [...new Set(codes.filter(Boolean).map(String))]
  const registrations = await registrationsOf(desk, known)
  const changed = registrations.map(({ _id }) => _id)
  await edit(work, changed, document => withMutedTasks(document, isMuting, nowMs))
}

/** Changes documents past the batch; whoever else changes one of them meanwhile is waited for. */
async function edit(
  work: Work,
  ids: readonly string[],
  change: (document: Document) => Document,
): Promise<void> {
  const { data } = work.desk
  let left = ids
  for (let attempt = 1; left.length > 0; attempt++) {
    if (attempt > ATTEMPTS_MAX) throw new Failure('document_conflict', { subject: String(left[0]) })
    const stored = (await data.readStored(left)).filter(each => each !== undefined)
    const changed = stored.flatMap(document => {
      const next = change(document)
      return next === document ? [] : [next]
    })
    const outcomes = await data.putMany(changed)
    left = outcomes.flatMap(outcome => {
      if (outcome.ok) return []
      if (outcome.failure.code !== 'document_conflict') throw outcome.failure
      return [outcome.id]
    })
  }
  data.forget(ids)
}

/** Scheduled messages wait while somebody is muted; those whose day is past when it ends stay as they are. */
export function withMutedTasks(document: Document, isMuting: boolean, nowMs: number): Document {
  const today = startOfDay(nowMs)
  return changeTasks(document, (task, list) => {
    if (list !== 'scheduled_tasks') return task
    if (isMuting) {
      const isOpen = task.state === 'scheduled' || task.state === 'pending'
      return isOpen ? setTaskState(task, { state: 'muted' }, nowMs) : task
    }
    const isToCome = task.state === 'muted' && (momentOf(task.due) ?? 0) >= today
    return isToCome ? setTaskState(task, { state: 'scheduled' }, nowMs) : task
  })
}
