/**
 * Records: rows on their way through the sorted runs of a first build that does not fit in memory.
 *
 * Format of a record: the lengths of place, id, key and value and the number of the document within
 * the build (four bytes each), the place, and id, key and value as they stand in blocks. The number
 * tells rows of an older version of a document from newer ones.
 */
import type { KeyWriter } from '../../base/collate/key-writer.ts'
import type { RowPieces } from './row-pieces.ts'

/** Appends a record; `place` is written by the caller, who may have most of it already. */
export function appendRecord(out: KeyWriter, place: KeyWriter, row: RowPieces): void {
  const start = out.length
  out.reserve(RECORD_HEADER_LENGTH)
  out.length += RECORD_HEADER_LENGTH
  writeNumber(out.bytes, start, place.length)
  writeNumber(out.bytes, start + 4, row.idEnd - row.idStart)
  writeNumber(out.bytes, start + 8, row.keyEnd - row.keyStart)
  writeNumber(out.bytes, start + 12, row.valueEnd - row.valueStart)
  writeNumber(out.bytes, start + 16, row.document)
  out.append(place.bytes, 0, place.length)
  out.append(row.idBytes, row.idStart, row.idEnd)
  out.append(row.keyBytes, row.keyStart, row.keyEnd)
  out.append(row.valueBytes, row.valueStart, row.valueEnd)
}

/** Little-endian, four bytes; a record's numbers are read millions of times. */
const readNumber = (bytes: Buffer, at: number): number =>
  ((bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)) >>>
  0

function writeNumber(bytes: Buffer, at: number, value: number): void {
  bytes[at] = value
  bytes[at + 1] = value >>> 8
  bytes[at + 2] = value >>> 16
  bytes[at + 3] = value >>> 24
}

export const placeOfRecord = (record: Buffer): Buffer =>
  record.subarray(RECORD_HEADER_LENGTH, RECORD_HEADER_LENGTH + readNumber(record, 0))

/** Takes a record apart. */
export function readRecord(record: Buffer, row: RowPieces): void {
  row.idBytes = record
  row.keyBytes = record
  row.valueBytes = record
  row.idStart = RECORD_HEADER_LENGTH + readNumber(record, 0)
  row.idEnd = row.idStart + readNumber(record, 4)
  row.keyStart = row.idEnd
  row.keyEnd = row.keyStart + readNumber(record, 8)
  row.valueStart = row.keyEnd
  row.valueEnd = row.valueStart + readNumber(record, 12)
  row.document = readNumber(record, 16)
  row.hasSameKey = false
}

/** The length of the record that begins at `at`. */
export function recordLength(bytes: Buffer, at: number): number {
  let length = RECORD_HEADER_LENGTH
  for (let field = 0; field < 4; field++) length += readNumber(bytes, at + field * 4)
  return length
}

/** Orders records of one tree: by place, then the older first. */
export function compareRecords(one: Buffer, two: Buffer): number {
  const endOne = RECORD_HEADER_LENGTH + readNumber(one, 0)
  const endTwo = RECORD_HEADER_LENGTH + readNumber(two, 0)
  const order = one.compare(two, RECORD_HEADER_LENGTH, endTwo, RECORD_HEADER_LENGTH, endOne)
  return order !== 0 ? order : readNumber(one, 16) - readNumber(two, 16)
}

export const RECORD_HEADER_LENGTH = 20
