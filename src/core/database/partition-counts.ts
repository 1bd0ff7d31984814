/**
 * How many documents and bytes each partition of a partitioned database holds: one small value per partition, kept by
 * every commit and purge, so that asking costs one read and a full partition is known before it is written to.
 *
 * Bytes are those of winners: `externalBytes` what the outside would see, `storedBytes` as they lie in the store.
 * Design and local documents belong to no partition.
 */
import { ByteReader, ByteWriter } from '../../base/bytes.ts'
import type { ReadTx, Steps, WriteTx } from '../../engine/engine.ts'
import { partitionOf } from '../document/document-id.ts'
import type { DocumentState } from './document-state.ts'
import { partitionKey } from './keyspace.ts'

export interface PartitionCounts {
  readonly liveCount: number
  readonly deletedCount: number
  readonly storedBytes: number
  readonly externalBytes: number
}

const NOTHING: PartitionCounts = {
  liveCount: 0,
  deletedCount: 0,
  storedBytes: 0,
  externalBytes: 0,
}

/** One for each, in order. */
export function* readPartitions(
  tx: ReadTx,
  partitions: readonly string[],
): Steps<PartitionCounts[]> {
  if (partitions.length === 0) return []
  const values = yield* tx.getMany(partitions.map(partitionKey))
  return values.map(value => (value === undefined ? NOTHING : decode(value)))
}

/** What one transaction does to partitions. */
export class PartitionChanges {
  readonly #changes = new Map<string, PartitionCounts>()

  /** @param isGone the document is forgotten altogether */
  add(state: DocumentState, isGone = false): void {
    const partition = partitionOf(state.id)
    if (partition === undefined) return
    const { before } = state
    const change: PartitionCounts = {
      liveCount: Number(!isGone && state.isLive) - Number(before?.deleted === false),
      deletedCount: Number(!isGone && !state.isLive) - Number(before?.deleted === true),
      storedBytes: isGone ? -state.storedBytesBefore : state.storedBytesGained,
      externalBytes: isGone ? -state.externalBytesBefore : state.externalBytesGained,
    }
    this.#changes.set(partition, sumOf(this.#changes.get(partition) ?? NOTHING, change))
  }

  *apply(tx: WriteTx): Steps<void> {
    const partitions = [...this.#changes.keys()]
    const before = yield* readPartitions(tx, partitions)
    for (const [at, partition] of partitions.entries()) {
      const change = this.#changes.get(partition) as PartitionCounts
      const after = sumOf(before[at] as PartitionCounts, change)
      const key = partitionKey(partition)
      if (after.liveCount + after.deletedCount <= 0) tx.delete(key)
      else tx.put(key, encode(after))
    }
  }
}

const sumOf = (one: PartitionCounts, other: PartitionCounts): PartitionCounts => ({
  liveCount: one.liveCount + other.liveCount,
  deletedCount: one.deletedCount + other.deletedCount,
  storedBytes: one.storedBytes + other.storedBytes,
  externalBytes: one.externalBytes + other.externalBytes,
})

const encode = (counts: PartitionCounts): Buffer =>
  new ByteWriter(32)
    .varint(Math.max(0, counts.liveCount))
    .varint(Math.max(0, counts.deletedCount))
    .varint(Math.max(0, counts.storedBytes))
    .varint(Math.max(0, counts.externalBytes))
    .finish()

function decode(bytes: Buffer): PartitionCounts {
  const reader = new ByteReader(bytes)
  return {
    liveCount: reader.varint(),
    deletedCount: reader.varint(),
    storedBytes: reader.varint(),
    externalBytes: reader.varint(),
  }
}
