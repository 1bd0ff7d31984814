/**
 * A block: some hundred neighbouring rows of an index in one piece of bytes, the unit that is
 * stored, read, compressed and copied to the wire.
 *
 * Format: the number of rows; the lengths of their ids, then of their keys, then of their values
 * (columns compress better than rows); then the text of the rows. In the `wire` frame the text is
 * exactly what a client reads, rows and separators, so a scan hands out slices of it. In the `bare`
 * frame it is id, key and value. Which rows come first is `row-order.ts`'s matter; compression and
 * storage are `node-store.ts`'s.
 */
import { KeyWriter } from '../../base/collate/key-writer.ts'
import { appendVarint, ByteReader } from './byte-codec.ts'

/** What stands around id, key and value in the text of a row. */
export interface RowFrame {
  readonly beforeId: Buffer
  readonly beforeKey: Buffer
  readonly beforeValue: Buffer
  readonly afterValue: Buffer
  readonly betweenRows: Buffer
}

/** Ids are JSON strings with their quotes. */
export const WIRE_FRAME: RowFrame = {
  beforeId: Buffer.from('{"id":'),
  beforeKey: Buffer.from(',"key":'),
  beforeValue: Buffer.from(',"value":'),
  afterValue: Buffer.from('}'),
  betweenRows: Buffer.from(',\r\n'),
}

/** Ids are plain UTF-8. */
export const BARE_FRAME: RowFrame = {
  beforeId: Buffer.alloc(0),
  beforeKey: Buffer.alloc(0),
  beforeValue: Buffer.alloc(0),
  afterValue: Buffer.alloc(0),
  betweenRows: Buffer.alloc(0),
}

export class RowBlock {
  readonly frame: RowFrame
  readonly count: number
  readonly bytes: Buffer
  readonly #idLengths: Uint32Array
  readonly #keyLengths: Uint32Array
  readonly #valueLengths: Uint32Array
  /** Where each row begins in `bytes`; one more for the end of the last and its separator. */
  readonly #starts: Uint32Array

  constructor(bytes: Buffer, frame: RowFrame) {
    const reader = new ByteReader(bytes)
    const count = reader.varint()
    this.frame = frame
    this.count = count
    this.bytes = bytes
    this.#idLengths = readColumn(reader, count)
    this.#keyLengths = readColumn(reader, count)
    this.#valueLengths = readColumn(reader, count)
    this.#starts = new Uint32Array(count + 1)
    const around = frameLength(frame) + frame.betweenRows.length
    let start = reader.at
    for (let row = 0; row < count; row++) {
      this.#starts[row] = start
      start += around + this.idLength(row) + this.keyLength(row) + this.valueLength(row)
    }
    this.#starts[count] = start
  }

  idLength(row: number): number {
    return this.#idLengths[row] as number
  }

  keyLength(row: number): number {
    return this.#keyLengths[row] as number
  }

  valueLength(row: number): number {
    return this.#valueLengths[row] as number
  }

  idStart(row: number): number {
    return (this.#starts[row] as number) + this.frame.beforeId.length
  }

  keyStart(row: number): number {
    return this.idStart(row) + this.idLength(row) + this.frame.beforeKey.length
  }

  valueStart(row: number): number {
    return this.keyStart(row) + this.keyLength(row) + this.frame.beforeValue.length
  }

  idText(row: number): Buffer {
    const start = this.idStart(row)
    return this.bytes.subarray(start, start + this.idLength(row))
  }

  keyText(row: number): Buffer {
    const start = this.keyStart(row)
    return this.bytes.subarray(start, start + this.keyLength(row))
  }

  valueText(row: number): Buffer {
    const start = this.valueStart(row)
    return this.bytes.subarray(start, start + this.valueLength(row))
  }

  /** The text of the rows [from, to) with separators between them. */
  text(from: number, to: number): Buffer {
    const start = this.#starts[from] as number
    return this.bytes.subarray(start, (this.#starts[to] as number) - this.frame.betweenRows.length)
  }

  /**
   * True when two rows of this block have the same key text, which is the usual case of an equal
   * key.
   */
  hasSameKeyText(one: number, two: number): boolean {
    const length = this.keyLength(one)
    if (length !== this.keyLength(two)) return false
    const start = this.keyStart(one)
    const other = this.keyStart(two)
    for (let i = 0; i < length; i++) {
      if (this.bytes[start + i] !== this.bytes[other + i]) return false
    }
    return true
  }
}

/** Some neighbouring rows of a block. */
export interface RowSlice {
  readonly block: RowBlock
  readonly from: number
  readonly to: number
}

/** Collects rows, in order, for one block. */
export class BlockWriter {
  readonly #frame: RowFrame
  readonly #lengths: [number[], number[], number[]] = [[], [], []]
  readonly #text = new KeyWriter(WRITER_BYTES)

  constructor(frame: RowFrame) {
    this.#frame = frame
  }

  get count(): number {
    return this.#lengths[0].length
  }

  /** About the length of the block if it were finished now. */
  get byteLength(): number {
    return this.#text.length + 4 * this.count
  }

  /** Adds the framed text of a row. */
  addRow(text: Uint8Array, lengths: RowLengths): void {
    if (this.count > 0) this.#text.append(this.#frame.betweenRows)
    this.#text.append(text)
    this.#lengths[0].push(lengths.id)
    this.#lengths[1].push(lengths.key)
    this.#lengths[2].push(lengths.value)
  }

  /** The same for a row whose framed text is part of other bytes. */
  addRowAt(bytes: Uint8Array, start: number, end: number, record: RowLengths): void {
    if (this.count > 0) this.#text.append(this.#frame.betweenRows)
    this.#text.append(bytes, start, end)
    this.#lengths[0].push(record.id)
    this.#lengths[1].push(record.key)
    this.#lengths[2].push(record.value)
  }

  addSlice({ block, from, to }: RowSlice): void {
    if (from >= to) return
    if (this.count > 0) this.#text.append(this.#frame.betweenRows)
    this.#text.append(block.text(from, to))
    for (let row = from; row < to; row++) {
      this.#lengths[0].push(block.idLength(row))
      this.#lengths[1].push(block.keyLength(row))
      this.#lengths[2].push(block.valueLength(row))
    }
  }

  /** The bytes of the block; the writer is empty afterwards. */
  finish(): Buffer {
    HEAD.reset()
    appendVarint(HEAD, this.count)
    for (const column of this.#lengths) {
      for (const length of column) appendVarint(HEAD, length)
      column.length = 0
    }
    const bytes = Buffer.allocUnsafe(HEAD.length + this.#text.length)
    HEAD.bytes.copy(bytes, 0, 0, HEAD.length)
    this.#text.bytes.copy(bytes, HEAD.length, 0, this.#text.length)
    this.#text.reset()
    return bytes
  }
}

export interface RowLengths {
  readonly id: number
  readonly key: number
  readonly value: number
}

/** Appends a row in its frame to `out`. */
export function appendFramedRow(
  out: KeyWriter,
  frame: RowFrame,
  row: { readonly id: Uint8Array; readonly key: Uint8Array; readonly value: Uint8Array },
): void {
  out.append(frame.beforeId)
  out.append(row.id)
  out.append(frame.beforeKey)
  out.append(row.key)
  out.append(frame.beforeValue)
  out.append(row.value)
  out.append(frame.afterValue)
}

export const frameLength = (frame: RowFrame): number =>
  frame.beforeId.length +
  frame.beforeKey.length +
  frame.beforeValue.length +
  frame.afterValue.length

const HEAD = new KeyWriter(1024)
/** Most blocks fit without growing. */
const WRITER_BYTES = 16 * 1024

function readColumn(reader: ByteReader, count: number): Uint32Array {
  const column = new Uint32Array(count)
  for (let row = 0; row < count; row++) column[row] = reader.varint()
  return column
}
