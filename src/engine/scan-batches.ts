/**
 * `Store.scan` in terms of one-batch reads: read a batch, hand it out, go on after its last key.
 *
 * No snapshot lives between two batches, so a slow consumer costs nothing. Every engine whose
 * `ReadTx.scan` is right gets a right `scan` from here.
 */
import type { BatchOptions, Entry, Range, ScanOptions } from './engine.ts'
import { isEmptyRange, restOfRange } from './key-order.ts'

export const BATCH_COUNT_DEFAULT = 1000
export const BATCH_BYTES_DEFAULT = 1024 * 1024

export type ReadBatch = (range: Range, options: BatchOptions) => Promise<Entry[]>

export async function* scanBatches(
  read: ReadBatch,
  range: Range,
  options: ScanOptions = {},
): AsyncGenerator<Entry[], void, undefined> {
  const reverse = options.reverse ?? false
  const countMax = options.batchCountMax ?? BATCH_COUNT_DEFAULT
  const bytesMax = options.batchBytesMax ?? BATCH_BYTES_DEFAULT
  const keysOnly = options.keysOnly ?? false
  let left = options.limit ?? Number.POSITIVE_INFINITY
  let rest = range
  while (left > 0 && !isEmptyRange(rest)) {
    const limit = Math.min(countMax, left)
    const rows = await read(rest, { limit, bytesMax, reverse, keysOnly })
    const last = rows.at(-1)
    if (last === undefined) return
    // Taken before the consumer sees the batch: the rows are theirs and may be changed.
    rest = restOfRange(rest, Buffer.from(last.key), reverse)
    left -= rows.length
    yield rows
  }
}
