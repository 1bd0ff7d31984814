/**
 * How many documents each offline user replicates: written down whenever one of them asks, so that those who run the
 * service see who holds too many.
 */
import { isFailure } from '../../base/errors.ts'
import type { Document } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { notFound } from '../documents/refusal.ts'
import type { ReplicatedIds } from './replicated-documents.ts'

const PREFIX = 'replication-count-'
const ATTEMPTS_MAX = 3

/** @param logs the database of logs */
export async function recordCount(
  logs: DocumentDatabase,
  user: string,
  { warnCount, unpurgedCount, ids }: ReplicatedIds,
  nowMs: number,
): Promise<void> {
  const tasks = ids.length - warnCount
  const counted = { user, date: nowMs, count: warnCount, all_docs_count: unpurgedCount - tasks }
  for (let attempt = 1; ; attempt++) {
    const stored = await logs.get(PREFIX + user)
    try {
      const rev = stored?._rev === undefined ? {} : { _rev: stored._rev }
      await logs.put({ _id: PREFIX + user, ...rev, ...counted })
      return
    } catch (thrown) {
      // Another request of the same user counted at the same time: its word is as good.
      if (!isFailure(thrown, 'document_conflict')) throw thrown
      if (attempt === ATTEMPTS_MAX) return
    }
  }
}

export async function readCount(logs: DocumentDatabase, user: string): Promise<Document> {
  const count = await logs.get(PREFIX + user)
  if (count === undefined) throw notFound(`Failed to find a count for [${user}].`)
  return count
}

/** Of all users, in the order of their names. */
export async function* allCounts(
  logs: DocumentDatabase,
): AsyncGenerator<readonly Document[], void, undefined> {
  const range = { start: PREFIX, end: `${PREFIX}\uffff` }
  const listing = await (await logs.open()).listDocuments('all', range)
  const ids: string[] = []
  for await (const batch of listing.rows) {
    for (const { idSource, idStart, idEnd } of batch) {
      ids.push(idSource.toString('utf8', idStart, idEnd))
    }
    const counts = await logs.getMany(ids.splice(0))
    yield counts.filter(count => count !== undefined)
  }
}
