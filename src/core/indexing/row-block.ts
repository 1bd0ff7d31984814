/**
 * A block: some hundred neighbouring rows of an index in one piece, the unit that is stored, read and compressed.
 *
 * Neighbours have much in common, and a block says it once. Format: the number of rows; the number of stretches of rows
 * with one key, then for all stretches how many rows, how many bytes the key has in common with the one before, and how
 * many of its own; for all rows how many bytes the id has in common with the one before, and how many of its own; for
 * all values their length and one more, or 0 for the value of the row before; then the bytes of keys, ids and values.
 *
 * A block in memory has keys, ids and values whole, and makes the text that a client reads from them. Which rows come
 * first is `row-order.ts`'s matter; writing is `block-writer.ts`'s, compression and storage `node-store.ts`'s.
 */
import { assert } from '../../base/assert.ts'
import { ByteReader } from './byte-codec.ts'
import { NumberList } from './number-list.ts'

/** What stands around id, key and value in the text of a row. */
export interface RowFrame {
  readonly beforeId: Buffer
  readonly beforeKey: Buffer
  readonly beforeValue: Buffer
  readonly afterValue: Buffer
  readonly betweenRows: Buffer
  /** All that stands between a value and the id of the next row. */
  readonly beforeNextId: Buffer
}

/** Ids are JSON strings with their quotes. */
export const WIRE_FRAME: RowFrame = {
  beforeId: Buffer.from('{"id":'),
  beforeKey: Buffer.from(',"key":'),
  beforeValue: Buffer.from(',"value":'),
  afterValue: Buffer.from('}'),
  betweenRows: Buffer.from(',\r\n'),
  beforeNextId: Buffer.from('},\r\n{"id":'),
}

/** Ids are plain UTF-8. */
export const BARE_FRAME: RowFrame = {
  beforeId: Buffer.alloc(0),
  beforeKey: Buffer.alloc(0),
  beforeValue: Buffer.alloc(0),
  afterValue: Buffer.alloc(0),
  betweenRows: Buffer.alloc(0),
  beforeNextId: Buffer.alloc(0),
}

export class RowBlock {
  readonly frame: RowFrame
  readonly count: number
  /** Keys, then ids, then values. */
  readonly bytes: Buffer
  /** Of the block as it was read, before compression. */
  readonly plainLength: number
  /** Stretches of neighbouring rows with one and the same key text. */
  readonly stretchCount: number
  /** Six numbers a row: where its key, its id and its value begin and end in `bytes`. */
  readonly #places: Uint32Array
  /** The first row of each stretch; undefined where every row is one. */
  readonly #stretches: Uint32Array | undefined

  constructor(plain: Buffer, frame: RowFrame) {
    const { count, bytes, places } = readColumns(plain)
    this.frame = frame
    this.count = count
    this.bytes = bytes
    this.plainLength = plain.length
    this.stretchCount = RUNS.length
    this.#places = places
    this.#stretches = RUNS.length === count ? undefined : firstRows(RUNS)
  }

  /** About the memory it takes. */
  get byteLength(): number {
    const numbers = this.count * PLACES + (this.#stretches?.length ?? 0)
    return this.bytes.length + numbers * 4 + 200
  }

  /** The first row of a stretch, `count` for the one after the last. */
  stretchStart(stretch: number): number {
    if (stretch >= this.stretchCount) return this.count
    return this.#stretches === undefined ? stretch : (this.#stretches[stretch] as number)
  }

  /** The stretch of a row, `stretchCount` for `count`. */
  stretchOf(row: number): number {
    if (row >= this.count) return this.stretchCount
    const starts = this.#stretches
    if (starts === undefined || row === 0) return row
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if ((starts[middle] as number) <= row) low = middle
      else high = middle - 1
    }
    return low
  }

  keyStart(row: number): number {
    return this.#places[row * PLACES] as number
  }

  keyLength(row: number): number {
    return this.#length(row * PLACES)
  }

  idStart(row: number): number {
    return this.#places[row * PLACES + ID] as number
  }

  idLength(row: number): number {
    return this.#length(row * PLACES + ID)
  }

  valueStart(row: number): number {
    return this.#places[row * PLACES + VALUE] as number
  }

  valueLength(row: number): number {
    return this.#length(row * PLACES + VALUE)
  }

  keyText(row: number): Buffer {
    return this.#part(row * PLACES)
  }

  idText(row: number): Buffer {
    return this.#part(row * PLACES + ID)
  }

  valueText(row: number): Buffer {
    return this.#part(row * PLACES + VALUE)
  }

  #length(at: number): number {
    return (this.#places[at + 1] as number) - (this.#places[at] as number)
  }

  #part(at: number): Buffer {
    return this.bytes.subarray(this.#places[at], this.#places[at + 1])
  }

  /** The length of `text`. */
  textLength(from: number, to: number): number {
    const { frame } = this
    let length = (to - from) * (frameLength(frame) + frame.betweenRows.length)
    for (let at = from * PLACES; at < to * PLACES; at += 2) length += this.#length(at)
    return length - frame.betweenRows.length
  }

  /** What a client reads: the rows [from, to) with separators between them. */
  text(from: number, to: number): Buffer {
    const text = Buffer.allocUnsafe(this.textLength(from, to))
    const { frame, bytes } = this
    const places = this.#places
    const between = frame.beforeNextId
    let at = copyInto(text, 0, frame.beforeId, 0, frame.beforeId.length)
    let key = -1
    // What stands between id and value is copied from the row before where the key is the same.
    let middle = 0
    let middleEnd = 0
    for (let row = from; row < to; row++) {
      const place = row * PLACES
      if (row > from) at = copyInto(text, at, between, 0, between.length)
      const id = places[place + ID] as number
      at = copyInto(text, at, bytes, id, places[place + ID + 1] as number)
      if (places[place] === key) at = copyInto(text, at, text, middle, middleEnd)
      else {
        key = places[place] as number
        middle = at
        at = copyInto(text, at, frame.beforeKey, 0, frame.beforeKey.length)
        at = copyInto(text, at, bytes, key, places[place + 1] as number)
        at = copyInto(text, at, frame.beforeValue, 0, frame.beforeValue.length)
        middleEnd = at
      }
      const value = places[place + VALUE] as number
      at = copyInto(text, at, bytes, value, places[place + VALUE + 1] as number)
    }
    copyInto(text, at, frame.afterValue, 0, frame.afterValue.length)
    return text
  }

  /**
   * True when two rows of this block have the same key text, which is the usual case of an equal
   * key.
   */
  hasSameKeyText(one: number, two: number): boolean {
    const start = this.keyStart(one)
    const other = this.keyStart(two)
    if (start === other) return true
    const length = this.keyLength(one)
    if (length !== this.keyLength(two)) return false
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

export const frameLength = (frame: RowFrame): number =>
  frame.beforeId.length +
  frame.beforeKey.length +
  frame.beforeValue.length +
  frame.afterValue.length

/** Copies from[start, end) and answers where it ends. Short pieces by hand: quicker than a call into native code. */
function copyInto(out: Buffer, to: number, from: Buffer, start: number, end: number): number {
  if (end - start > SHORT_BYTES) return to + from.copy(out, to, start, end)
  let at = to
  for (let i = start; i < end; i++) out[at++] = from[i] as number
  return at
}

function readColumns(plain: Buffer): { count: number; bytes: Buffer; places: Uint32Array } {
  const reader = new ByteReader(plain)
  const count = reader.varint()
  const runCount = reader.varint()
  assert(count <= plain.length && runCount <= count, 'a block that cannot be')
  readColumn(reader, RUNS, runCount)
  const keyLength = readColumn(reader, KEY_SHARED, runCount)
  const keyOwn = readColumn(reader, KEY_OWN, runCount)
  const idLength = readColumn(reader, ID_SHARED, count)
  const idOwn = readColumn(reader, ID_OWN, count)
  readColumn(reader, VALUES, count)
  const valuesAt = reader.at + keyOwn + idOwn
  const idsFrom = keyLength + keyOwn
  const valuesFrom = idsFrom + idLength + idOwn
  assert(valuesAt <= plain.length, 'a block ends too early')
  const bytes = Buffer.allocUnsafeSlow(valuesFrom + plain.length - valuesAt)
  expand(reader, { shared: KEY_SHARED, own: KEY_OWN, ends: KEY_ENDS }, bytes, 0)
  expand(reader, { shared: ID_SHARED, own: ID_OWN, ends: ID_ENDS }, bytes, idsFrom)
  plain.copy(bytes, valuesFrom, valuesAt)
  const places = new Uint32Array(count * PLACES)
  placeKeys(places)
  placeIds(places, idsFrom)
  assert(placeValues(places, valuesFrom) === bytes.length, 'a block of wrong length')
  return { count, bytes, places }
}

/** Reads a column; what its numbers add up to. */
function readColumn(reader: ByteReader, into: NumberList, count: number): number {
  const { bytes } = reader
  into.clear()
  into.reserve(count)
  into.length = count
  const column = into.values
  let sum = 0
  for (let i = 0; i < count; i++) {
    const byte = bytes[reader.at] as number
    let value = byte
    if (byte < 0x80) reader.at++
    else value = reader.varint()
    column[i] = value
    sum += value
  }
  return sum
}

/** Writes texts whole that are stored as what they have in common with the one before, and their own rest. */
function expand(
  reader: ByteReader,
  { shared, own, ends }: { shared: NumberList; own: NumberList; ends: NumberList },
  bytes: Buffer,
  from: number,
): void {
  const { bytes: plain } = reader
  let source = reader.at
  let at = from
  let last = at
  ends.clear()
  for (let i = 0; i < own.length; i++) {
    const start = at
    for (const end = last + (shared.values[i] as number); last < end; last++) {
      bytes[at++] = bytes[last] as number
    }
    for (const end = source + (own.values[i] as number); source < end; source++) {
      bytes[at++] = plain[source] as number
    }
    last = start
    ends.push(at)
  }
  reader.at = source
}

/** All rows of a stretch have its key. */
function placeKeys(places: Uint32Array): void {
  let at = 0
  let start = 0
  for (let run = 0; run < RUNS.length; run++) {
    const end = KEY_ENDS.values[run] as number
    for (let left = RUNS.values[run] as number; left > 0; left--, at += PLACES) {
      places[at] = start
      places[at + 1] = end
    }
    start = end
  }
  assert(at === places.length, 'a block whose keys are for other rows')
}

/** From how many rows each stretch has. */
function firstRows(runs: NumberList): Uint32Array {
  const starts = new Uint32Array(runs.length)
  let row = 0
  for (let run = 0; run < runs.length; run++) {
    starts[run] = row
    row += runs.values[run] as number
  }
  return starts
}

function placeIds(places: Uint32Array, from: number): void {
  let start = from
  for (let row = 0; row < ID_ENDS.length; row++) {
    const end = ID_ENDS.values[row] as number
    places[row * PLACES + ID] = start
    places[row * PLACES + ID + 1] = end
    start = end
  }
}

/** Where the last value ends. */
function placeValues(places: Uint32Array, from: number): number {
  let start = from
  let end = from
  for (let row = 0; row < VALUES.length; row++) {
    const code = VALUES.values[row] as number
    if (code > 0) {
      start = end
      end = start + code - 1
    }
    places[row * PLACES + VALUE] = start
    places[row * PLACES + VALUE + 1] = end
  }
  return end
}

/** Of `RowBlock.#places`. */
const PLACES = 6
const ID = 2
const VALUE = 4

/** Columns of the block that is being read: one at a time, and reading does not wait for anything. */
const RUNS = new NumberList()
const KEY_SHARED = new NumberList()
const KEY_OWN = new NumberList()
const KEY_ENDS = new NumberList()
const ID_SHARED = new NumberList()
const ID_OWN = new NumberList()
const ID_ENDS = new NumberList()
const VALUES = new NumberList()

const SHORT_BYTES = 64
