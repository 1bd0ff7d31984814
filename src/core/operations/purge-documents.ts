/** Purging on behalf of a user: who may, how much at a time, and telling those who follow the database. */
import { Failure } from '../../base/errors.ts'
import { serverAdminCheck } from '../auth/authorize.ts'
import type { User } from '../auth/user.ts'
import { type Database, PURGED_INFOS_LIMIT_DEFAULT } from '../database/database.ts'
import { type PurgeRequest, purgeDocuments as purge, scanPurges } from '../database/purge.ts'
import { requirePartition } from '../document/document-id.ts'
import type { Revision } from '../document/revision.ts'

export interface PurgeLimits {
  readonly documentsMax: number
  readonly revisionsMax: number
}

/** The revisions that really went, by document. */
export async function purgeDocuments(
  { database, user }: { readonly database: Database; readonly user: User },
  requests: readonly PurgeRequest[],
  { documentsMax, revisionsMax }: PurgeLimits,
): Promise<Revision[][]> {
  serverAdminCheck(user)
  if (requests.length > documentsMax) {
    throw new Failure('request_invalid', { reason: 'Exceeded maximum number of documents.' })
  }
  if (requests.reduce((sum, { revs }) => sum + revs.length, 0) > revisionsMax) {
    throw new Failure('request_invalid', { reason: 'Exceeded maximum number of revisions.' })
  }
  const { partitioned } = database.properties
  if (partitioned) for (const { id } of requests) requirePartition(id)
  const work = purge(requests, PURGED_INFOS_LIMIT_DEFAULT, partitioned)
  const { removed, seq } = await database.store.write(work)
  if (requests.length > 0) database.announce(seq)
  return removed
}

/** What was purged and is still on record. */
export async function listPurges(database: Database): Promise<PurgeRequest[]> {
  const purges: PurgeRequest[] = []
  for await (const batch of scanPurges(database.store)) purges.push(...batch)
  return purges
}
