/**
 * How many change entries lie beyond a sequence, without walking them: `pending` of a changes feed.
 *
 * Sequences are counted in spans of 1,024, spans in spans of 1,024 again. A commit adds its new entries and takes
 * away the entries it replaced; a count adds up at most a few thousand small values even for a billion changes.
 */
import { ByteReader, ByteWriter } from '../../base/bytes.ts'
import { getOrAdd } from '../../base/get-or-add.ts'
import type { ReadTx, Steps, WriteTx } from '../../engine/engine.ts'
import { changeKey, sequenceCountKey, sequenceCounts } from './keyspace.ts'

const SPAN = 1024
const LEVELS = 2
const ROWS_MAX = 4096

/** What one commit changes: sequence -> +1 or -1, gathered per span and written once. */
export class SequenceCountChanges {
  readonly #byLevel = Array.from({ length: LEVELS }, () => new Map<number, number>())

  add(seq: number, amount: 1 | -1): void {
    let span = seq
    for (const changes of this.#byLevel) {
      span = Math.floor(span / SPAN)
      changes.set(span, getOrAdd(changes, span, () => 0) + amount)
    }
  }

  *apply(tx: WriteTx): Steps<void> {
    for (const [level, changes] of this.#byLevel.entries()) {
      const spans = [...changes].filter(([, amount]) => amount !== 0)
      const keys = spans.map(([span]) => sequenceCountKey(level, span))
      const values = yield* tx.getMany(keys)
      for (const [index, key] of keys.entries()) {
        const count = readCount(values[index]) + (spans[index] as [number, number])[1]
        if (count === 0) tx.delete(key)
        else tx.put(key, writeCount(count))
      }
    }
  }
}

/** The number of change entries with a sequence greater than `seq`. */
export function* countAfter(tx: ReadTx, seq: number): Steps<number> {
  const from = seq + 1
  const small = Math.ceil(from / SPAN)
  const large = Math.ceil(small / SPAN)
  let total = 0
  if (small * SPAN > from) {
    const range = { start: changeKey(from), end: changeKey(small * SPAN) }
    total += (yield* tx.scan(range, { limit: SPAN, keysOnly: true })).length
  }
  if (large * SPAN > small) {
    const range = { start: sequenceCountKey(0, small), end: sequenceCountKey(0, large * SPAN) }
    const rows = yield* tx.scan(range, { limit: SPAN })
    for (const row of rows) total += readCount(row.value)
  }
  let range = sequenceCounts(1, large)
  for (;;) {
    const rows = yield* tx.scan(range, { limit: ROWS_MAX })
    for (const row of rows) total += readCount(row.value)
    const last = rows.at(-1)
    if (rows.length < ROWS_MAX || !last) return total
    range = { start: Buffer.concat([last.key, Buffer.of(0)]), end: range.end }
  }
}

const readCount = (bytes: Buffer | undefined): number =>
  bytes === undefined ? 0 : new ByteReader(bytes).varint()

const writeCount = (count: number): Buffer => new ByteWriter(8).varint(count).finish()
