/**
 * A place in the sequence index: which document changed there last and what its leaves are. A changes feed without
 * documents is answered from these alone.
 *
 *   flags   u8      1 = the winner is deleted
 *   leaves  varint count, then each: varint pos, run id (winner first, in the order clients see)
 *   id      the rest
 */
import { ByteReader, ByteWriter } from '../../base/bytes.ts'
import type { Revision } from '../document/revision.ts'

export interface ChangeEntry {
  readonly seq: number
  readonly id: string
  readonly deleted: boolean
  readonly leaves: readonly Revision[]
}

export function encodeChange(change: Omit<ChangeEntry, 'seq'>): Buffer {
  const writer = new ByteWriter(64 + change.id.length * 3)
    .u8(change.deleted ? 1 : 0)
    .varint(change.leaves.length)
  for (const leaf of change.leaves) writer.varint(leaf.pos).run(leaf.id)
  return writer.bytes(Buffer.from(change.id)).finish()
}

export function decodeChange(seq: number, bytes: Buffer): ChangeEntry {
  const reader = new ByteReader(bytes)
  const deleted = reader.u8() === 1
  const leaves: Revision[] = []
  for (let left = reader.varint(); left > 0; left--) {
    leaves.push({ pos: reader.varint(), id: reader.run() })
  }
  return { seq, deleted, leaves, id: reader.rest().toString('utf8') }
}
