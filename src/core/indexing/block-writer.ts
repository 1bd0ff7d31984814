/**
 * Collects rows, in order, for one block (row-block.ts has the format). A row comes in three calls, its key, its id and
 * its value, each a part of larger bytes, which must stay as they are until the block is finished: what a row has in
 * common with the one before is found there.
 */
import { KeyWriter } from '../../base/collate/key-writer.ts'
import { appendVarint } from './byte-codec.ts'
import { NumberList } from './number-list.ts'
import type { RowSlice } from './row-block.ts'

export class BlockWriter {
  readonly #runs = new NumberList()
  readonly #keyShared = new NumberList()
  readonly #keyOwn = new NumberList()
  readonly #idShared = new NumberList()
  readonly #idOwn = new NumberList()
  readonly #values = new NumberList()
  readonly #keyBytes = new KeyWriter(WRITER_BYTES)
  readonly #idBytes = new KeyWriter(WRITER_BYTES)
  readonly #valueBytes = new KeyWriter(WRITER_BYTES)
  readonly #key = new LastText()
  readonly #id = new LastText()
  readonly #value = new LastText()

  get count(): number {
    return this.#idOwn.length
  }

  /** About the length of the block if it were finished now. */
  get byteLength(): number {
    const texts = this.#keyBytes.length + this.#idBytes.length + this.#valueBytes.length
    return texts + 3 * (this.count + this.#runs.length) + 4
  }

  /** Of the row that came last. */
  get lastKey(): Buffer {
    return this.#key.text
  }

  get lastId(): Buffer {
    return this.#id.text
  }

  addKey(bytes: Buffer, start: number, end: number): void {
    const last = this.#key
    const runs = this.#runs
    const isFirst = runs.length === 0
    const shared = isFirst ? 0 : last.shared(bytes, start, end)
    if (!isFirst && shared === end - start && shared === last.end - last.start) {
      this.repeatKey()
      return
    }
    runs.push(1)
    this.#keyShared.push(shared)
    this.#keyOwn.push(end - start - shared)
    this.#keyBytes.append(bytes, start + shared, end)
    last.set(bytes, start, end)
  }

  /** For a row with the key of the one before in the same block. */
  repeatKey(): void {
    const { values, length } = this.#runs
    values[length - 1] = (values[length - 1] as number) + 1
  }

  addId(bytes: Buffer, start: number, end: number): void {
    const shared = this.count === 0 ? 0 : this.#id.shared(bytes, start, end)
    this.#idShared.push(shared)
    this.#idOwn.push(end - start - shared)
    this.#idBytes.append(bytes, start + shared, end)
    this.#id.set(bytes, start, end)
  }

  addValue(bytes: Buffer, start: number, end: number): void {
    const last = this.#value
    const length = end - start
    const isRepeated =
      this.#values.length > 0 &&
      length === last.end - last.start &&
      last.shared(bytes, start, end) === length
    if (isRepeated) {
      this.#values.push(0)
      return
    }
    this.#values.push(length + 1)
    this.#valueBytes.append(bytes, start, end)
    last.set(bytes, start, end)
  }

  /** Adds a row of another block. */
  addRowOf({ block }: RowSlice, row: number): void {
    const { bytes } = block
    const keyStart = block.keyStart(row)
    const idStart = block.idStart(row)
    const valueStart = block.valueStart(row)
    this.addKey(bytes, keyStart, keyStart + block.keyLength(row))
    this.addId(bytes, idStart, idStart + block.idLength(row))
    this.addValue(bytes, valueStart, valueStart + block.valueLength(row))
  }

  /** The bytes of the block; the writer is empty afterwards. */
  finish(): Buffer {
    HEAD.reset()
    appendVarint(HEAD, this.count)
    appendVarint(HEAD, this.#runs.length)
    for (const column of [this.#runs, this.#keyShared, this.#keyOwn]) appendColumn(column)
    for (const column of [this.#idShared, this.#idOwn, this.#values]) appendColumn(column)
    const texts = [this.#keyBytes, this.#idBytes, this.#valueBytes]
    const length = texts.reduce((sum, text) => sum + text.length, HEAD.length)
    const block = Buffer.allocUnsafeSlow(length)
    let at = HEAD.bytes.copy(block, 0, 0, HEAD.length)
    for (const text of texts) {
      at += text.bytes.copy(block, at, 0, text.length)
      text.reset()
    }
    return block
  }
}

function appendColumn(column: NumberList): void {
  const { values, length } = column
  HEAD.reserve(length * 5)
  for (let i = 0; i < length; i++) {
    const value = values[i] as number
    if (value < 0x80) HEAD.bytes[HEAD.length++] = value
    else appendVarint(HEAD, value)
  }
  column.clear()
}

/** A part of larger bytes. */
class LastText {
  bytes: Buffer = NOTHING
  start = 0
  end = 0

  get text(): Buffer {
    return this.bytes.subarray(this.start, this.end)
  }

  set(bytes: Buffer, start: number, end: number): void {
    this.bytes = bytes
    this.start = start
    this.end = end
  }

  /** How many bytes of its beginning this and another text have in common. */
  shared(bytes: Buffer, start: number, end: number): number {
    const { bytes: own, start: from } = this
    const most = Math.min(end - start, this.end - from)
    let same = 0
    while (same < most && own[from + same] === bytes[start + same]) same++
    return same
  }
}

const NOTHING = Buffer.alloc(0)
const HEAD = new KeyWriter(1024)
/** Most blocks fit without growing. */
const WRITER_BYTES = 8 * 1024
