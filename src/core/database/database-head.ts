/**
 * The head of a database: its sequence and counters. One small value that every commit reads and rewrites, so that
 * commits of all processes are in one order and the counters are always right.
 */
import { ByteReader, ByteWriter } from '../../base/bytes.ts'

export interface DatabaseHead {
  readonly updateSeq: number
  readonly liveCount: number
  readonly deletedCount: number
  readonly purgeSeq: number
  /** The lowest purge sequence whose record is still kept. */
  readonly oldestPurgeSeq: number
  /** Where the next body or attachment content will lie. */
  readonly nextBodyKey: number
  /** Bytes of the bodies and attachments of winners, uncompressed: what the outside would see. */
  readonly externalBytes: number
}

export const EMPTY_HEAD: DatabaseHead = {
  updateSeq: 0,
  liveCount: 0,
  deletedCount: 0,
  purgeSeq: 0,
  oldestPurgeSeq: 0,
  nextBodyKey: 1,
  externalBytes: 0,
}

export function encodeHead(head: DatabaseHead): Buffer {
  return new ByteWriter(64)
    .varint(head.updateSeq)
    .varint(head.liveCount)
    .varint(head.deletedCount)
    .varint(head.purgeSeq)
    .varint(head.oldestPurgeSeq)
    .varint(head.nextBodyKey)
    .varint(head.externalBytes)
    .finish()
}

export function decodeHead(bytes: Buffer): DatabaseHead {
  const reader = new ByteReader(bytes)
  return {
    updateSeq: reader.varint(),
    liveCount: reader.varint(),
    deletedCount: reader.varint(),
    purgeSeq: reader.varint(),
    oldestPurgeSeq: reader.varint(),
    nextBodyKey: reader.varint(),
    externalBytes: reader.varint(),
  }
}
