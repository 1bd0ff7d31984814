/** Counts by views whose reduction is a count: a handful of nodes is read, whatever the number of rows. */
import type { DocumentDatabase, RowQuery } from '../documents/document-database.ts'

export interface CountQuery extends Pick<RowQuery, 'startKey' | 'endKey'> {
  readonly design: string
  readonly view: string
}

/** @param signal ends the waiting for an index that is far behind */
export async function countRows(
  database: DocumentDatabase,
  { design, view, ...range }: CountQuery,
  signal: AbortSignal,
): Promise<number> {
  for await (const [row] of database.rows(design, view, range, signal)) {
    if (row !== undefined) return row.value as number
  }
  return 0
}

/** By the first member of the keys. */
export async function countByFirst(
  database: DocumentDatabase,
  { design, view }: CountQuery,
  signal: AbortSignal,
): Promise<ReadonlyMap<unknown, number>> {
  const counts = new Map<unknown, number>()
  for await (const rows of database.rows(design, view, { groupLevel: 1 }, signal)) {
    for (const { key, value } of rows) counts.set((key as unknown[])[0], value as number)
  }
  return counts
}
