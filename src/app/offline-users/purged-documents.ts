/**
 * Documents that devices no longer keep. Lists of them are kept for each set of roles, in a database of its own; where
 * there is none, nothing is purged.
 */
import { createHash } from 'node:crypto'
import { isFailure } from '../../base/errors.ts'
import { applicationDatabase } from '../../base/product-names.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import { DocumentDatabase } from '../documents/document-database.ts'

const PREFIX = 'purged:'

export function purgeDatabaseName(roles: readonly string[]): string {
  const key = JSON.stringify([...new Set(roles)].sort())
  return applicationDatabase(`purged-role-${createHash('md5').update(key).digest('hex')}`)
}

/** Those of the ids that are purged for people with these roles. */
export async function purgedAmong(
  server: ServerOperations,
  roles: readonly string[],
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const purged = new Set<string>()
  const lists = new DocumentDatabase(server, purgeDatabaseName(roles))
  try {
    const { rows } = await (await lists.open()).listNamedDocuments(
      'all',
      ids.map(id => PREFIX + id),
    )
    let at = 0
    for await (const batch of rows) {
      for (const row of batch) {
        if (row !== undefined && !row.deleted) purged.add(ids[at] as string)
        at++
      }
    }
  } catch (thrown) {
    if (!isFailure(thrown, 'database_missing')) throw thrown
  }
  return purged
}
