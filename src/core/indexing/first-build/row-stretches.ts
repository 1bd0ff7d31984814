/**
 * Rows on their way through the sorted runs of a first build that does not fit in memory, in stretches: rows that follow
 * each other and have one key. The key and its sort key stand once for all of them: views emit the same keys again and
 * again, and a sort key for each row would be most of what is written.
 *
 * Format of a stretch: its length, that of its prefix and that of its key (four bytes each, little endian), the prefix
 * (the places of its rows without their ids, see row-order.ts), the key, and for each row the number of the document
 * within the build, the lengths of id and value (seven bits a byte), and these as they stand in blocks. The number tells
 * rows of an older version of a document from newer ones.
 */
import { KeyWriter } from '../../../base/collate/key-writer.ts'
import { appendVarint } from '../byte-codec.ts'
import { idBytes } from '../row-order.ts'
import type { RowPieces } from './row-pieces.ts'

/** Version of this format: runs of another one are of no use. */
export const STRETCH_FORMAT = 1

/** A part of larger bytes. */
export interface Prefix {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

/** Collects rows, in order, for chunks of one tree of a run. */
export class StretchWriter {
  readonly #out = new KeyWriter(CHUNK_BYTES + STRETCH_BYTES)
  /** Where the open stretch begins; -1: none is. */
  #start = -1
  #prefixLength = 0
  #keyLength = 0

  /** There is enough to be taken. */
  get isFull(): boolean {
    return this.#out.length >= CHUNK_BYTES
  }

  get isEmpty(): boolean {
    return this.#out.length === 0
  }

  /** @param continues the row is known to have prefix and key of the one before */
  add(prefix: Prefix, row: RowPieces, continues: boolean): void {
    const out = this.#out
    const isOpen = this.#start >= 0 && out.length - this.#start < STRETCH_BYTES
    if (!(isOpen && (continues || this.#fits(prefix, row)))) this.#begin(prefix, row)
    out.reserve(15)
    appendVarint(out, row.document)
    appendVarint(out, row.idEnd - row.idStart)
    appendVarint(out, row.valueEnd - row.valueStart)
    out.append(row.idBytes, row.idStart, row.idEnd)
    out.append(row.valueBytes, row.valueStart, row.valueEnd)
  }

  /** The stretches that were written since the last time, in memory of their own. */
  take(): Buffer {
    this.#end()
    const { bytes, length } = this.#out
    const chunk = Buffer.allocUnsafeSlow(length)
    bytes.copy(chunk, 0, 0, length)
    this.#out.reset()
    return chunk
  }

  #fits(prefix: Prefix, row: RowPieces): boolean {
    const { bytes } = this.#out
    const at = this.#start + HEADER_LENGTH
    const keyAt = at + this.#prefixLength
    return (
      isSame(bytes, at, this.#prefixLength, prefix.bytes, prefix.start, prefix.end) &&
      isSame(bytes, keyAt, this.#keyLength, row.keyBytes, row.keyStart, row.keyEnd)
    )
  }

  #begin({ bytes, start, end }: Prefix, row: RowPieces): void {
    this.#end()
    const out = this.#out
    this.#start = out.length
    this.#prefixLength = end - start
    this.#keyLength = row.keyEnd - row.keyStart
    out.reserve(HEADER_LENGTH)
    out.length += HEADER_LENGTH
    out.append(bytes, start, end)
    out.append(row.keyBytes, row.keyStart, row.keyEnd)
  }

  #end(): void {
    if (this.#start < 0) return
    const { bytes, length } = this.#out
    bytes.writeUInt32LE(length - this.#start, this.#start)
    bytes.writeUInt32LE(this.#prefixLength, this.#start + 4)
    bytes.writeUInt32LE(this.#keyLength, this.#start + 8)
    this.#start = -1
  }
}

/** Goes over the rows of stretches, of which bytes are given piece by piece. */
export class StretchReader {
  bytes: Buffer = Buffer.alloc(0)
  /** Counts the stretches. */
  stretch = 0
  prefixStart = 0
  prefixEnd = 0
  document = 0
  idStart = 0
  idEnd = 0
  #keyStart = 0
  #keyEnd = 0
  #valueStart = 0
  #valueEnd = 0
  #at = 0
  #stretchEnd = 0

  /** Goes to the next row; false when more bytes are needed for it. */
  advance(): boolean {
    if (this.#at === this.#stretchEnd && !this.#open()) return false
    this.document = this.#number()
    const idLength = this.#number()
    const valueLength = this.#number()
    this.idStart = this.#at
    this.idEnd = this.idStart + idLength
    this.#valueStart = this.idEnd
    this.#valueEnd = this.idEnd + valueLength
    this.#at = this.#valueEnd
    return true
  }

  /** Adds bytes behind those that are left; a row at hand is lost. */
  give(chunk: Buffer): void {
    const left = this.bytes.subarray(this.#at)
    this.bytes = left.length === 0 ? chunk : Buffer.concat([left, chunk])
    this.#at = 0
    this.#stretchEnd = 0
  }

  /** All bytes were read. */
  get isDone(): boolean {
    return this.#at === this.bytes.length
  }

  /** The row at hand; its bytes stay as they are. */
  fill(row: RowPieces): void {
    row.idBytes = this.bytes
    row.keyBytes = this.bytes
    row.valueBytes = this.bytes
    row.keyStart = this.#keyStart
    row.keyEnd = this.#keyEnd
    row.idStart = this.idStart
    row.idEnd = this.idEnd
    row.valueStart = this.#valueStart
    row.valueEnd = this.#valueEnd
    row.document = this.document
    row.hasSameKey = false
  }

  #open(): boolean {
    const { bytes } = this
    const left = bytes.length - this.#at
    if (left < HEADER_LENGTH) return false
    const length = bytes.readUInt32LE(this.#at)
    if (left < length) return false
    this.prefixStart = this.#at + HEADER_LENGTH
    this.prefixEnd = this.prefixStart + bytes.readUInt32LE(this.#at + 4)
    this.#keyStart = this.prefixEnd
    this.#keyEnd = this.#keyStart + bytes.readUInt32LE(this.#at + 8)
    this.#stretchEnd = this.#at + length
    this.#at = this.#keyEnd
    this.stretch++
    return true
  }

  #number(): number {
    const { bytes } = this
    let byte = bytes[this.#at++] as number
    if (byte < 0x80) return byte
    let value = byte - 0x80
    for (let scale = 128; ; scale *= 128) {
      byte = bytes[this.#at++] as number
      if (byte < 0x80) return value + byte * scale
      value += (byte - 0x80) * scale
    }
  }
}

export function comparePrefixes(one: StretchReader, two: StretchReader): number {
  const { bytes: own, prefixEnd: ownEnd } = one
  const { bytes: other, prefixEnd: otherEnd } = two
  let at = one.prefixStart
  let otherAt = two.prefixStart
  for (; at < ownEnd && otherAt < otherEnd; at++, otherAt++) {
    const order = (own[at] as number) - (other[otherAt] as number)
    if (order !== 0) return order
  }
  return ownEnd - at - (otherEnd - otherAt)
}

/**
 * Orders rows of one tree: by place, then the older first.
 *
 * @param hasWireIds ids are JSON strings; their order is that of the texts they stand for
 */
export function compareRows(one: StretchReader, two: StretchReader, hasWireIds: boolean): number {
  return (
    comparePrefixes(one, two) || compareIds(one, two, hasWireIds) || one.document - two.document
  )
}

function compareIds(one: StretchReader, two: StretchReader, hasWireIds: boolean): number {
  const { bytes: own } = one
  const { bytes: other } = two
  const quote = hasWireIds ? 1 : 0
  const ownEnd = one.idEnd - quote
  const otherEnd = two.idEnd - quote
  let at = one.idStart + quote
  let otherAt = two.idStart + quote
  for (; at < ownEnd && otherAt < otherEnd; at++, otherAt++) {
    const byte = own[at] as number
    const otherByte = other[otherAt] as number
    // What comes before is the same and has no escapes.
    if (hasWireIds && (byte === BACKSLASH || otherByte === BACKSLASH)) {
      return Buffer.compare(plainId(one), plainId(two))
    }
    if (byte !== otherByte) return byte - otherByte
  }
  return ownEnd - at - (otherEnd - otherAt)
}

const plainId = ({ bytes, idStart, idEnd }: StretchReader): Buffer =>
  idBytes(bytes.subarray(idStart, idEnd))

function isSame(
  own: Buffer,
  ownStart: number,
  length: number,
  bytes: Buffer,
  start: number,
  end: number,
): boolean {
  if (end - start !== length) return false
  for (let i = 0; i < length; i++) if (own[ownStart + i] !== bytes[start + i]) return false
  return true
}

const HEADER_LENGTH = 12
const BACKSLASH = 0x5c
/** A stretch that grows longer is ended; it must be in memory whole to be read. */
const STRETCH_BYTES = 32 * 1024
const CHUNK_BYTES = 256 * 1024
