/**
 * Takes rows of a scan until a batch is full: by their number, or by the bytes of their values. The row that goes over
 * the bytes is still in it, so a batch is never empty while there are rows.
 */
import type { BatchOptions, Entry } from '../engine.ts'

export function rowsOfBatch<T>(
  found: Iterator<T>,
  batch: BatchOptions,
  entryOf: (row: T) => Entry,
): Entry[] {
  const rows: Entry[] = []
  const bytesMax = batch.bytesMax ?? Number.POSITIVE_INFINITY
  let bytes = 0
  for (const row of { [Symbol.iterator]: () => found }) {
    const entry = entryOf(row)
    rows.push(entry)
    bytes += entry.value.length
    if (rows.length >= batch.limit || bytes >= bytesMax) break
  }
  return rows
}
