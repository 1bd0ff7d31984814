/**
 * Rows on their way into a first build: records in one growing buffer, sorted tree by tree, then
 * written out as runs or built at once.
 *
 * Format of a record: the lengths of place, id, key and value and the number of the document within
 * the build (four bytes each), the place, the framed text. The number tells rows of an older
 * version of a document from newer ones.
 */
import { KeyWriter } from '../../base/collate/key-writer.ts'
import { encodeBackReferences } from './back-references.ts'
import { type DocumentRows, type EmittedRow, SlicedRow, sliced } from './index-rows.ts'
import type { IndexTree } from './index-tree.ts'
import { type PlacedRecords, sortByPlace } from './place-sort.ts'
import { frameLength, type RowLengths } from './row-block.ts'

export class RowRecords implements PlacedRecords {
  readonly #trees: readonly IndexTree[]
  readonly #offsets: number[][]
  readonly #out = new KeyWriter()

  /** `trees`: those of the rows, then the one of the back references. */
  constructor(trees: readonly IndexTree[]) {
    this.#trees = trees
    this.#offsets = trees.map(() => [])
  }

  get bytes(): Buffer {
    return this.#out.bytes
  }

  get byteLength(): number {
    return this.#out.length
  }

  addDocument(document: DocumentRows, number: number): void {
    const id = Buffer.from(document.id)
    const idText = Buffer.from(JSON.stringify(document.id))
    const { rows: lists } = document
    for (let tree = 0; tree < lists.length; tree++) {
      for (const row of lists[tree] as readonly EmittedRow[]) {
        this.#add(tree, number, { id, idText, row: sliced(row) })
      }
    }
    const value = encodeBackReferences(document) ?? NOTHING
    const row = new SlicedRow(value, 0, 0, 0, value.length)
    this.#add(this.#trees.length - 1, number, { id, idText: id, row })
  }

  #add(tree: number, number: number, { id, idText, row }: AddedRow): void {
    const out = this.#out
    const { order, frame } = this.#trees[tree] as IndexTree
    const start = out.length
    this.#offsets[tree]?.push(start)
    out.reserve(RECORD_HEADER_LENGTH)
    out.length += RECORD_HEADER_LENGTH
    order.appendPlaceOf(out, row.bytes, row.keyStart, row.keyEnd)
    out.append(id)
    const placeLength = out.length - start - RECORD_HEADER_LENGTH
    out.append(frame.beforeId)
    out.append(idText)
    out.append(frame.beforeKey)
    out.append(row.bytes, row.keyStart, row.keyEnd)
    out.append(frame.beforeValue)
    out.append(row.bytes, row.valueStart, row.valueEnd)
    out.append(frame.afterValue)
    writeNumber(out.bytes, start, placeLength)
    writeNumber(out.bytes, start + 4, idText.length)
    writeNumber(out.bytes, start + 8, row.keyEnd - row.keyStart)
    writeNumber(out.bytes, start + 12, row.valueEnd - row.valueStart)
    writeNumber(out.bytes, start + 16, number)
  }

  /** The offsets of the records of a tree, in order. */
  sorted(tree: number): Uint32Array {
    const offsets = Uint32Array.from(this.#offsets[tree] ?? [])
    sortByPlace(this, offsets)
    return offsets
  }

  placeStart(offset: number): number {
    return offset + RECORD_HEADER_LENGTH
  }

  placeLength(offset: number): number {
    return readNumber(this.#out.bytes, offset)
  }

  /** A view of the whole record, valid until the next one is added. */
  record(tree: number, offset: number): Buffer {
    const { frame } = this.#trees[tree] as IndexTree
    return this.bytes.subarray(
      offset,
      offset + recordLength(this.bytes, offset, frameLength(frame)),
    )
  }

  clear(): void {
    this.#out.reset()
    for (const list of this.#offsets) list.length = 0
  }
}

interface AddedRow {
  readonly id: Buffer
  /** As it stands in the frame. */
  readonly idText: Buffer
  readonly row: SlicedRow
}

/** Little-endian, four bytes; a record's numbers are read millions of times. */
export const readNumber = (bytes: Buffer, at: number): number =>
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

/** A record taken apart. */
export interface RowRecord {
  readonly place: Buffer
  readonly text: Buffer
  readonly lengths: RowLengths
  readonly document: number
}

export function parseRecord(record: Buffer): RowRecord {
  const placeEnd = RECORD_HEADER_LENGTH + readNumber(record, 0)
  return {
    place: record.subarray(RECORD_HEADER_LENGTH, placeEnd),
    text: record.subarray(placeEnd),
    lengths: {
      id: readNumber(record, 4),
      key: readNumber(record, 8),
      value: readNumber(record, 12),
    },
    document: readNumber(record, 16),
  }
}

/** The length of the record that begins at `at`; `around` is what the frame of its tree adds. */
export function recordLength(bytes: Buffer, at: number, around: number): number {
  let length = RECORD_HEADER_LENGTH + around
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
const NOTHING = Buffer.alloc(0)
