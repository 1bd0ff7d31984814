/**
 * The different keys of the rows of one tree, numbered in the order they came. Keys of views repeat (the words of a
 * search view, the places of a hierarchy), so a first build keeps each text once, makes its sort key once and sorts
 * keys instead of rows.
 *
 * The table promises to give one text one number, but for texts whose hashes collide more often than chance would have
 * it: these get new numbers, since looking for them would take a stranger's documents too long. Nothing may rely on
 * different numbers meaning different keys; `rankKeys` gives equal keys equal ranks.
 */
import { KeyWriter } from '../../../base/collate/key-writer.ts'
import type { RowOrder } from '../row-order.ts'
import { sortByPlace } from './place-sort.ts'
import { asBuffer, type TextImage, TextList } from './text-list.ts'

export class KeyTable {
  readonly #texts = new TextList()
  /** By hash, two numbers a slot: that of a key and one more (0 where none is), and its hash. */
  #slots = new Uint32Array(SLOTS_AT_FIRST * 2)

  get count(): number {
    return this.#texts.count
  }

  /** About the memory of the table, and of sorting it. */
  get byteLength(): number {
    return this.#texts.out.length * 3 + this.count * 36
  }

  /** The texts of all keys, by their numbers. */
  image(): TextImage {
    return this.#texts.image()
  }

  /** The number of the key bytes[start, end). */
  numberOf(bytes: Uint8Array, start: number, end: number): number {
    let hash = end - start
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), FNV_PRIME)
    hash = (hash ^ (hash >>> 15)) >>> 0
    const slots = this.#slots
    const mask = slots.length / 2 - 1
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const slot = ((hash + tries) & mask) * 2
      const known = slots[slot] as number
      if (known === 0) break
      if (slots[slot + 1] === hash && this.#has(known - 1, bytes, start, end)) return known - 1
    }
    return this.#add(bytes, start, end, hash)
  }

  clear(): void {
    this.#texts.clear()
    this.#slots.fill(0)
  }

  #has(key: number, bytes: Uint8Array, start: number, end: number): boolean {
    const { starts, out } = this.#texts
    const from = starts.values[key] as number
    const length = end - start
    if ((starts.values[key + 1] as number) - from !== length) return false
    const own = out.bytes
    for (let i = 0; i < length; i++) if (own[from + i] !== bytes[start + i]) return false
    return true
  }

  #add(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const key = this.count
    this.#texts.addPart(bytes, start, end)
    if (this.count * 4 > this.#slots.length) this.#grow()
    enter(this.#slots, hash, key + 1)
    return key
  }

  #grow(): void {
    const old = this.#slots
    const slots = new Uint32Array(old.length * 2)
    for (let slot = 0; slot < old.length; slot += 2) {
      if (old[slot] !== 0) enter(slots, old[slot + 1] as number, old[slot] as number)
    }
    this.#slots = slots
  }
}

function enter(slots: Uint32Array, hash: number, entry: number): void {
  const mask = slots.length / 2 - 1
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const slot = ((hash + tries) & mask) * 2
    if (slots[slot] !== 0) continue
    slots[slot] = entry
    slots[slot + 1] = hash
    return
  }
}

export interface KeyRanks {
  /** The rank of each key. */
  readonly ranks: Uint32Array
  /** How many different ones there are. */
  readonly rankCount: number
}

/** Ranks keys by the order of their rows; keys that sort alike have one rank. */
export function rankKeys(keys: TextImage, order: RowOrder): KeyRanks {
  const { starts: from } = keys
  const bytes = asBuffer(keys.bytes)
  const count = from.length - 1
  const out = new KeyWriter(1024)
  const starts = new Uint32Array(count + 1)
  for (let key = 0; key < count; key++) {
    order.appendPlaceOf(out, bytes, from[key] as number, from[key + 1] as number)
    starts[key + 1] = out.length
  }
  const sorted = sortedPlaces(out.bytes, starts)
  const ranks = new Uint32Array(count)
  let rank = 0
  for (let i = 1; i < count; i++) {
    const key = sorted[i] as number
    if (!isEqual(out.bytes, starts, sorted[i - 1] as number, key)) rank++
    ranks[key] = rank
  }
  return { ranks, rankCount: count === 0 ? 0 : rank + 1 }
}

/** The numbers of places that lie one behind the other in `bytes`, sorted, the earlier of equal ones first. */
export function sortedPlaces(bytes: Buffer, starts: Uint32Array): Uint32Array {
  const numbers = new Uint32Array(starts.length - 1)
  for (let i = 0; i < numbers.length; i++) numbers[i] = i
  const places = {
    bytes,
    placeStart: (number: number) => starts[number] as number,
    placeLength: (number: number) => (starts[number + 1] as number) - (starts[number] as number),
  }
  sortByPlace(places, numbers)
  return numbers
}

export function isEqual(bytes: Buffer, starts: Uint32Array, one: number, two: number): boolean {
  const from = starts[one] as number
  const other = starts[two] as number
  const length = (starts[one + 1] as number) - from
  if ((starts[two + 1] as number) - other !== length) return false
  for (let i = 0; i < length; i++) if (bytes[from + i] !== bytes[other + i]) return false
  return true
}

const FNV_PRIME = 0x01000193
const SLOTS_AT_FIRST = 1024
/** Half of the slots are free: chance needs a handful. */
const TRIES_MAX = 64
