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
import type { DocumentRows } from './index-rows.ts'
import type { IndexTree } from './index-tree.ts'
import { type PlacedRecords, sortByPlace } from './place-sort.ts'
import { appendFramedRow, frameLength, type RowLengths } from './row-block.ts'

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
    document.rows.forEach((rows, tree) => {
      for (const { keyText, valueText } of rows) {
        this.#add({ tree, number, id, frame: { id: idText, key: keyText, value: valueText } })
      }
    })
    const value = encodeBackReferences(document) ?? NOTHING
    const tree = this.#trees.length - 1
    this.#add({ tree, number, id, frame: { id, key: NOTHING, value } })
  }

  #add({ tree, number, id, frame }: AddedRow): void {
    const out = this.#out
    const { order, frame: around } = this.#trees[tree] as IndexTree
    const start = out.length
    this.#offsets[tree]?.push(start)
    out.reserve(RECORD_HEADER_LENGTH)
    out.length += RECORD_HEADER_LENGTH
    order.appendPlace(out, frame.key, id)
    const placeLength = out.length - start - RECORD_HEADER_LENGTH
    appendFramedRow(out, around, frame)
    const header = [placeLength, frame.id.length, frame.key.length, frame.value.length, number]
    header.forEach((field, i) => {
      out.bytes.writeUInt32LE(field, start + i * 4)
    })
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
    return this.#out.bytes.readUInt32LE(offset)
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
  readonly tree: number
  readonly number: number
  readonly id: Buffer
  readonly frame: { readonly id: Buffer; readonly key: Buffer; readonly value: Buffer }
}

/** A record taken apart. */
export interface RowRecord {
  readonly place: Buffer
  readonly text: Buffer
  readonly lengths: RowLengths
  readonly document: number
}

export function parseRecord(record: Buffer): RowRecord {
  const placeEnd = RECORD_HEADER_LENGTH + record.readUInt32LE(0)
  return {
    place: record.subarray(RECORD_HEADER_LENGTH, placeEnd),
    text: record.subarray(placeEnd),
    lengths: {
      id: record.readUInt32LE(4),
      key: record.readUInt32LE(8),
      value: record.readUInt32LE(12),
    },
    document: record.readUInt32LE(16),
  }
}

/** The length of the record that begins at `at`; `around` is what the frame of its tree adds. */
export function recordLength(bytes: Buffer, at: number, around: number): number {
  let length = RECORD_HEADER_LENGTH + around
  for (let field = 0; field < 4; field++) length += bytes.readUInt32LE(at + field * 4)
  return length
}

/** Orders records of one tree: by place, then the older first. */
export function compareRecords(one: Buffer, two: Buffer): number {
  const endOne = RECORD_HEADER_LENGTH + one.readUInt32LE(0)
  const endTwo = RECORD_HEADER_LENGTH + two.readUInt32LE(0)
  const order = one.compare(two, RECORD_HEADER_LENGTH, endTwo, RECORD_HEADER_LENGTH, endOne)
  return order !== 0 ? order : one.readUInt32LE(16) - two.readUInt32LE(16)
}

export const RECORD_HEADER_LENGTH = 20
const NOTHING = Buffer.alloc(0)
