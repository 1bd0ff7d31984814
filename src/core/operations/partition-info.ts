/** What there is to know about one partition of a database, and the check that a database has any. */
import { Failure } from '../../base/errors.ts'
import type { Database } from '../database/database.ts'
import { type PartitionCounts, readPartitions } from '../database/partition-counts.ts'
import { validatePartition } from '../document/document-id.ts'

export interface PartitionInfo extends PartitionCounts {
  readonly partition: string
}

/** A partition that nobody wrote to yet is an empty one. */
export async function readPartitionInfo(
  database: Database,
  partition: string,
): Promise<PartitionInfo> {
  validatePartition(partition)
  requirePartitions(database)
  const [counts] = await database.read(tx => readPartitions(tx, [partition]))
  return { partition, ...(counts as PartitionCounts) }
}

/** Fails with `request_invalid`. */
export function requirePartitions({ properties }: Pick<Database, 'properties'>): void {
  if (properties.partitioned) return
  throw new Failure('request_invalid', { reason: 'database is not partitioned' })
}
