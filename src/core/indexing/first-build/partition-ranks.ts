/**
 * Puts rows that are sorted already in the order of partitions: what a first build of a partitioned tree does beyond
 * others. Rows of one partition keep their order.
 */
import { KeyWriter } from '../../../base/collate/key-writer.ts'
import { NumberList } from '../number-list.ts'
import { appendPartition } from '../row-order.ts'
import { isEqual, sortedPlaces } from './key-table.ts'

export interface PartitionRanks {
  /** The rank of the partition of each document. */
  readonly ranks: Uint32Array
  readonly rankCount: number
}

/**
 * @param bytes the ids of all documents, one behind the other
 * @param starts where each begins, and where the last one ends
 * @param documents in the order of their ids, so that those of a partition mostly follow each other
 */
export function rankPartitions(
  bytes: Buffer,
  starts: Uint32Array,
  documents: Uint32Array,
): PartitionRanks {
  const names = new KeyWriter()
  const nameStarts = new NumberList()
  nameStarts.push(0)
  const runs = new Uint32Array(starts.length - 1)
  let last = -1
  for (const document of documents) {
    const from = names.length
    appendPartition(names, bytes.subarray(starts[document], starts[document + 1]))
    const isSame = last >= 0 && isRepeated(names, nameStarts.values[last] as number, from)
    if (isSame) names.length = from
    else {
      last++
      nameStarts.push(names.length)
    }
    runs[document] = last
  }
  const { ranks: rankOf, rankCount } = ranksOf(names.bytes, nameStarts.taken())
  const ranks = new Uint32Array(runs.length)
  for (const document of documents) ranks[document] = rankOf[runs[document] as number] as number
  return { ranks, rankCount }
}

/** Whether names[from, end) is the same as names[start, from). */
function isRepeated({ bytes, length }: KeyWriter, start: number, from: number): boolean {
  return from - start === length - from && bytes.compare(bytes, start, from, from, length) === 0
}

function ranksOf(bytes: Buffer, starts: Uint32Array): PartitionRanks {
  const sorted = sortedPlaces(bytes, starts)
  const ranks = new Uint32Array(sorted.length)
  let rank = 0
  for (let i = 1; i < sorted.length; i++) {
    const name = sorted[i] as number
    if (!isEqual(bytes, starts, sorted[i - 1] as number, name)) rank++
    ranks[name] = rank
  }
  return { ranks, rankCount: sorted.length === 0 ? 0 : rank + 1 }
}

/** @param rows two numbers each: that of the document, and the row's own */
export function byPartition(rows: Uint32Array, { ranks, rankCount }: PartitionRanks): Uint32Array {
  const next = new Uint32Array(rankCount + 1)
  for (let at = 0; at < rows.length; at += ROW_NUMBERS) {
    const after = (ranks[rows[at] as number] as number) + 1
    next[after] = (next[after] as number) + 1
  }
  for (let rank = 1; rank <= rankCount; rank++) {
    next[rank] = (next[rank] as number) + (next[rank - 1] as number)
  }
  const sorted = new Uint32Array(rows.length)
  for (let at = 0; at < rows.length; at += ROW_NUMBERS) {
    const rank = ranks[rows[at] as number] as number
    const to = next[rank] as number
    next[rank] = to + 1
    sorted[to * ROW_NUMBERS] = rows[at] as number
    sorted[to * ROW_NUMBERS + 1] = rows[at + 1] as number
  }
  return sorted
}

export const ROW_NUMBERS = 2
