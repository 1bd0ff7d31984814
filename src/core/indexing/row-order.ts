/**
 * The order of rows in an index: by the sort key of the key text, then by document id, bytewise.
 *
 * A row's *place* is its sort key followed by its id. Sort keys are never the beginning of one
 * another, so places compare as plain bytes, and so does every bound of a range. Rows of one
 * document under equal keys share a place; they stay in the order they were emitted in. Blocks do
 * not hold sort keys: they are made again from the key text when a search needs some, which halves
 * the index on disk.
 *
 * In a tree of partitions the partition of the id, with its colon, stands before all that: the rows
 * of a partition lie together, and `within` makes bounds that never leave them.
 */
import type { Collation, Collator } from '../../base/collate/collator.ts'
import { KeyWriter } from '../../base/collate/key-writer.ts'
import type { RowBlock, RowFrame } from './row-block.ts'

/** `id`: rows have no key and sort by document id alone. */
export type TreeOrder = Collation | 'id'

/** What those need who make bounds of keys. */
export interface KeyOrder {
  /** The beginning of the places of all rows with an equal key. */
  sortKey(keyText: Uint8Array): Buffer
  /** Where rows can lie at all; an absent end is open. */
  readonly bounds: { readonly lower?: Buffer; readonly upper?: Buffer }
}

export class RowOrder implements KeyOrder {
  readonly bounds: KeyOrder['bounds'] = {}
  /** Rows are ordered by partition first. */
  readonly isPartitioned: boolean
  readonly kind: TreeOrder
  readonly #collator: Collator
  readonly #scratch = new KeyWriter()
  /** Of the sort key that was found to be the beginning of a place. */
  #keyLength = 0

  constructor(collator: Collator, order: TreeOrder, isPartitioned = false) {
    this.#collator = collator
    this.kind = order
    this.isPartitioned = isPartitioned
  }

  /** The order of the rows of one partition. */
  within(partition: string): KeyOrder {
    const lower = Buffer.from(`${partition}:`)
    const sortKey = (keyText: Uint8Array) => Buffer.concat([lower, this.sortKey(keyText)])
    return { sortKey, bounds: { lower, upper: Buffer.from(`${partition};`) } }
  }

  /** Appends the place of a row that is not in a block yet; `id` is plain UTF-8. */
  appendPlace(out: KeyWriter, keyText: Uint8Array, id: Uint8Array): void {
    if (this.isPartitioned) appendPartition(out, id)
    if (this.kind !== 'id') {
      this.#collator.append(out, keyText, 0, keyText.length, this.kind)
    }
    out.append(id)
  }

  /** What comes before the id in the place of a row; its id is a JSON string. */
  appendPrefix(
    out: KeyWriter,
    bytes: Uint8Array,
    keyStart: number,
    keyEnd: number,
    idText: Buffer,
  ): void {
    if (this.isPartitioned) appendPartition(out, idBytes(idText))
    this.appendPlaceOf(out, bytes, keyStart, keyEnd)
  }

  /** The same for a key that is part of other bytes, without partition and id. */
  appendPlaceOf(out: KeyWriter, bytes: Uint8Array, keyStart: number, keyEnd: number): void {
    if (this.kind !== 'id') this.#collator.append(out, bytes, keyStart, keyEnd, this.kind)
  }

  place(keyText: Uint8Array, id: Uint8Array): Buffer {
    this.#scratch.reset()
    this.appendPlace(this.#scratch, keyText, id)
    return this.#scratch.copy()
  }

  /** The place of a row from its texts as they stand in blocks of this frame. */
  placeOfTexts(keyText: Buffer, idText: Buffer, frame: RowFrame): Buffer {
    return this.place(keyText, frame.beforeId.length === 0 ? idText : idBytes(idText))
  }

  placeOf(block: RowBlock, row: number): Buffer {
    this.#writePlace(block, row)
    return this.#scratch.copy()
  }

  /** The sort key alone: the beginning of the places of all rows with an equal key. */
  sortKeyOf(block: RowBlock, row: number): Buffer {
    return this.kind === 'id' ? Buffer.alloc(0) : this.sortKey(block.keyText(row))
  }

  sortKey(keyText: Uint8Array): Buffer {
    return this.kind === 'id' ? Buffer.alloc(0) : this.#collator.sortKey(keyText, this.kind)
  }

  compare(block: RowBlock, row: number, place: Uint8Array): number {
    if (!this.isPartitioned) {
      const order = this.#compareKey(block, row, place)
      return order === 0 ? compareId(block, row, place, this.#keyLength) : order
    }
    this.#writePlace(block, row)
    const { bytes, length } = this.#scratch
    return bytes.compare(place, 0, place.length, 0, length)
  }

  /** The first row at or after `place`, from row `from` on; `block.count` when there is none. */
  lowerBound(block: RowBlock, place: Uint8Array, from = 0): number {
    if (this.isPartitioned) return this.#lowerBoundOfRows(block, place, from, block.count)
    const first = block.stretchOf(from)
    const row = this.#lowerBoundOfStretches(block, place, first, block.stretchCount, AFTER)
    return Math.max(from, row)
  }

  /**
   * The same for a place that is probably near `from`: looks at few rows then, at twice as many otherwise. What lies
   * from `end` on is not looked at; `end` when all rows before it are before `place`.
   */
  lowerBoundNear(block: RowBlock, place: Uint8Array, from: number, end = block.count): number {
    if (this.isPartitioned) return Math.min(end, this.#lowerBoundOfRowsNear(block, place, from))
    let low = block.stretchOf(from)
    for (let step = 1; low + step <= block.stretchCount; step *= 2) {
      const next = low + step - 1
      const order = this.#compareStretch(block, next, place)
      if (order >= 0) {
        const row = this.#lowerBoundOfStretches(block, place, low, next, order)
        return Math.min(end, Math.max(from, row))
      }
      low = next + 1
      if (block.stretchStart(low) >= end) return end
    }
    return Math.min(end, this.#lowerBoundOfStretches(block, place, low, block.stretchCount, AFTER))
  }

  /** @param order of stretch `end`, which is not before `place` */
  #lowerBoundOfStretches(
    block: RowBlock,
    place: Uint8Array,
    from: number,
    end: number,
    order: number,
  ): number {
    let low = from
    let high = end
    let highOrder = order
    while (low < high) {
      const middle = (low + high) >>> 1
      const found = this.#compareStretch(block, middle, place)
      if (found < 0) low = middle + 1
      else {
        high = middle
        highOrder = found
      }
    }
    const row = block.stretchStart(high)
    return highOrder === 0 ? this.#lowerBoundOfIds(block, place, row) : row
  }

  /** Negative when all rows of a stretch are before `place`, positive when none is, 0 where their ids decide. */
  #compareStretch(block: RowBlock, stretch: number, place: Uint8Array): number {
    const order = this.#compareKey(block, block.stretchStart(stretch), place)
    if (order !== 0) return order
    const length = this.#keyLength
    if (length === place.length) return AFTER
    if (place[length] === END_OF_IDS_BYTE) return BEFORE
    const last = block.stretchStart(stretch + 1) - 1
    return compareId(block, last, place, length) < 0 ? BEFORE : 0
  }

  /** Within the stretch that begins with `from`: its key is the beginning of `place`, and its last row not before it. */
  #lowerBoundOfIds(block: RowBlock, place: Uint8Array, from: number): number {
    const length = this.#keyLength
    let low = from
    let high = block.stretchStart(block.stretchOf(from) + 1) - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareId(block, middle, place, length) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  /**
   * 0 when the row's sort key is the beginning of `place`: `#keyLength` says then how long it is, which is the same for
   * all such rows, since no sort key is the beginning of another.
   */
  #compareKey(block: RowBlock, row: number, place: Uint8Array): number {
    const out = this.#scratch
    out.reset()
    if (this.kind !== 'id') {
      const start = block.keyStart(row)
      this.#collator.append(out, block.bytes, start, start + block.keyLength(row), this.kind)
    }
    const { bytes, length } = out
    const shared = Math.min(length, place.length)
    for (let i = 0; i < shared; i++) {
      const difference = (bytes[i] as number) - (place[i] as number)
      if (difference !== 0) return difference
    }
    if (length > place.length) return AFTER
    this.#keyLength = length
    return 0
  }

  #lowerBoundOfRowsNear(block: RowBlock, place: Uint8Array, from: number): number {
    let low = from
    for (let step = 1; low + step <= block.count; step *= 2) {
      if (this.compare(block, low + step - 1, place) >= 0) {
        return this.#lowerBoundOfRows(block, place, low, low + step - 1)
      }
      low += step
    }
    return this.#lowerBoundOfRows(block, place, low, block.count)
  }

  /** Rows of one key lie apart where the partition of their ids comes first, so each is compared for itself. */
  #lowerBoundOfRows(block: RowBlock, place: Uint8Array, from: number, end: number): number {
    let low = from
    let high = end
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.compare(block, middle, place) < 0) low = middle + 1
      else high = middle
    }
    return low
  }

  #writePlace(block: RowBlock, row: number): void {
    const out = this.#scratch
    out.reset()
    if (this.isPartitioned) appendPartition(out, idBytes(block.idText(row)))
    if (this.kind !== 'id') {
      const start = block.keyStart(row)
      this.#collator.append(out, block.bytes, start, start + block.keyLength(row), this.kind)
    }
    appendId(out, block, row)
  }
}

/** That of an id without a colon is all of it. */
export function appendPartition(out: KeyWriter, id: Uint8Array): void {
  const colon = id.indexOf(COLON)
  out.append(id, 0, colon < 0 ? id.length : colon)
  out.byte(COLON)
}

/** Compares the id of a row with place[from …], byte by byte: they differ early, or are short. */
function compareId(block: RowBlock, row: number, place: Uint8Array, from: number): number {
  const { bytes } = block
  let at = block.idStart(row)
  let end = at + block.idLength(row)
  const isQuoted = bytes[at] === QUOTE && block.frame.beforeId.length > 0
  if (isQuoted) {
    at++
    end--
  }
  for (let i = from; ; i++, at++) {
    if (at === end) return i === place.length ? 0 : BEFORE
    if (i === place.length) return AFTER
    const byte = bytes[at] as number
    if (byte === BACKSLASH && isQuoted) {
      return Buffer.compare(idBytes(block.idText(row)), place.subarray(from))
    }
    const difference = byte - (place[i] as number)
    if (difference !== 0) return difference
  }
}

/** In the wire frame ids are JSON strings; nearly all of them have no escapes. */
function appendId(out: KeyWriter, block: RowBlock, row: number): void {
  const { bytes } = block
  const start = block.idStart(row)
  const end = start + block.idLength(row)
  if (bytes[start] !== QUOTE || block.frame.beforeId.length === 0) {
    out.append(bytes, start, end)
    return
  }
  out.append(idBytes(bytes.subarray(start, end)))
}

/** The UTF-8 of an id written as a JSON string. */
export function idBytes(idText: Buffer): Buffer {
  if (!idText.includes(BACKSLASH)) return idText.subarray(1, idText.length - 1)
  return Buffer.from(JSON.parse(idText.toString()) as string)
}

/** Comes after the places of all rows under a sort key: no byte of UTF-8 is FF. */
export const afterKey = (sortKey: Uint8Array): Buffer => Buffer.concat([sortKey, END_OF_IDS])
/** The first place after `place`. */
export const afterPlace = (place: Uint8Array): Buffer => Buffer.concat([place, NEXT])

const BEFORE = -1
const AFTER = 1
const END_OF_IDS_BYTE = 0xff
const END_OF_IDS = Uint8Array.of(END_OF_IDS_BYTE)
const NEXT = Uint8Array.of(0)
const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
