/**
 * Every key of a database's store, and nothing else knows one. `docs/data-layout.md` shows the same table.
 *
 *   01                    head: sequence and counters, rewritten by every commit
 *   02                    properties of the database, fixed at creation (JSON)
 *   03                    security object (JSON)
 *   04 / 05               revision limit / purged-infos limit
 *   06                    stamp of the design documents: the sequence of the last commit that touched one
 *   07                    compaction under way: who runs it and until when it counts (JSON)
 *   10 id                 document record: revision tree, winner, the winner's body
 *   11 seq                change entry: which document changed, its leaves
 *   12 bodyKey            body of a revision that is not its document's winner
 *   13 id                 local document
 *   14 sha256             attachment content: references and where its chunks lie
 *   15 contentKey chunk   attachment bytes
 *   16 purgeSeq           what a purge removed
 *   17 id                 number of live documents from this id up to the next such key
 *   18 level span         number of change entries in a span of sequences
 *   19 contentKey         upload under way: when it began
 *   1a partition          counts and bytes of a partition, where the database has partitions
 *
 * Numbers are 8 bytes big-endian, so byte order is number order. An id longer than ID_BYTES_MAX is cut and its
 * hash appended: the key stays unique and short; `document-scan.ts` puts such neighbours back in exact order.
 */
import { createHash } from 'node:crypto'
import type { Range } from '../../engine/engine.ts'

export const HEAD = Buffer.from([0x01])
export const PROPERTIES = Buffer.from([0x02])
export const SECURITY = Buffer.from([0x03])
export const REVISION_LIMIT = Buffer.from([0x04])
export const PURGED_INFOS_LIMIT = Buffer.from([0x05])
export const DESIGN_STAMP = Buffer.from([0x06])
export const COMPACTION = Buffer.from([0x07])

const DOCUMENT = 0x10
const CHANGE = 0x11
const BODY = 0x12
const LOCAL = 0x13
const CONTENT = 0x14
const CHUNK = 0x15
const PURGE = 0x16
const ID_COUNT = 0x17
const SEQUENCE_COUNT = 0x18
const UPLOAD = 0x19
const PARTITION = 0x1a

/** Longest id that is a key as it is. */
export const ID_BYTES_MAX = 1024
const HASH_BYTES = 32

export const documentKey = (id: string): Buffer => idKey(DOCUMENT, id)
/** For an id that is at hand as UTF-8, from `start` to the end of the bytes. */
export function documentKeyOfIdBytes(bytes: Buffer, start: number): Buffer {
  const length = bytes.length - start
  if (length > ID_BYTES_MAX) return documentKey(bytes.toString('utf8', start))
  const key = Buffer.allocUnsafe(1 + length)
  key[0] = DOCUMENT
  bytes.copy(key, 1, start)
  return key
}

export const localKey = (id: string): Buffer => idKey(LOCAL, id)
export const partitionKey = (partition: string): Buffer => idKey(PARTITION, partition)
export const idCountKey = (idBytes: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(ID_COUNT), idBytes])

export const changeKey = (seq: number): Buffer => numberKey(CHANGE, seq)
export const bodyKey = (key: number): Buffer => numberKey(BODY, key)
export const purgeKey = (seq: number): Buffer => numberKey(PURGE, seq)

export const uploadKey = (content: number): Buffer => numberKey(UPLOAD, content)

export const contentKey = (sha256: Uint8Array): Buffer =>
  Buffer.concat([Buffer.of(CONTENT), sha256])

export function chunkKey(content: number, chunk: number): Buffer {
  const key = Buffer.allocUnsafe(13)
  key[0] = CHUNK
  writeNumber(key, content, 1)
  key.writeUInt32BE(chunk, 9)
  return key
}

export function sequenceCountKey(level: number, span: number): Buffer {
  const key = Buffer.allocUnsafe(10)
  key[0] = SEQUENCE_COUNT
  key[1] = level
  writeNumber(key, span, 2)
  return key
}

export const DOCUMENTS: Range = whole(DOCUMENT)
export const CHANGES: Range = whole(CHANGE)
export const LOCALS: Range = whole(LOCAL)
export const CONTENTS: Range = whole(CONTENT)
export const BODIES: Range = whole(BODY)
export const PURGES: Range = whole(PURGE)
export const ID_COUNTS: Range = whole(ID_COUNT)
export const UPLOADS: Range = whole(UPLOAD)

export const chunksOf = (content: number): Range => ({
  start: chunkKey(content, 0),
  end: chunkKey(content + 1, 0),
})

/** Document keys from one id to another, both given as `idBytes`; to the end without the second. */
export const documentsBetween = (start: Uint8Array, end?: Uint8Array): Range => ({
  start: Buffer.concat([DOCUMENTS.start, start]),
  end: end === undefined ? DOCUMENTS.end : Buffer.concat([DOCUMENTS.start, end]),
})

export const sequenceCounts = (level: number, fromSpan: number): Range => ({
  start: sequenceCountKey(level, fromSpan),
  end: Buffer.of(SEQUENCE_COUNT, level + 1),
})

export const changesAfter = (seq: number): Range => ({
  start: changeKey(seq + 1),
  end: CHANGES.end,
})

/** The id bytes of a document or local key; undefined when the id was too long to be in its key. */
export function idOfKey(key: Buffer): string | undefined {
  return key.length > 1 + ID_BYTES_MAX ? undefined : key.toString('utf8', 1)
}

/** What a key holds of its id, for finding neighbours that share a cut prefix. */
export const idBytesOfKey = (key: Buffer): Buffer => key.subarray(1)

export const seqOfKey = (key: Buffer): number => readNumber(key, 1)

/** The bytes that stand for an id wherever ids are ordered; the key without its first byte. */
export function idBytes(id: string): Buffer {
  const bytes = Buffer.from(id)
  if (bytes.length <= ID_BYTES_MAX) return bytes
  const hash = createHash('sha256').update(bytes).digest()
  return Buffer.concat([bytes.subarray(0, ID_BYTES_MAX), hash], ID_BYTES_MAX + HASH_BYTES)
}

function idKey(kind: number, id: string): Buffer {
  const length = Buffer.byteLength(id)
  if (length > ID_BYTES_MAX) return Buffer.concat([Buffer.of(kind), idBytes(id)])
  const key = Buffer.allocUnsafe(1 + length)
  key[0] = kind
  key.write(id, 1)
  return key
}

function numberKey(kind: number, value: number): Buffer {
  const key = Buffer.allocUnsafe(9)
  key[0] = kind
  writeNumber(key, value, 1)
  return key
}

function writeNumber(target: Buffer, value: number, at: number): void {
  target.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at)
  target.writeUInt32BE(value % 0x1_0000_0000, at + 4)
}

function readNumber(source: Buffer, at: number): number {
  return source.readUInt32BE(at) * 0x1_0000_0000 + source.readUInt32BE(at + 4)
}

function whole(kind: number): Range {
  return { start: Buffer.of(kind), end: Buffer.of(kind + 1) }
}
