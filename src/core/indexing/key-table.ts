/**
 * The different keys of the rows of one tree, numbered in the order they came. Keys of views repeat (the words of a
 * search view, the places of a hierarchy), so a first build keeps each text once, makes its sort key once and sorts
 * keys instead of rows.
 *
 * The table promises to give one text one number, but for texts whose hashes collide more often than chance would have
 * it: these get new numbers, since looking for them would take a stranger's documents too long. Nothing may rely on
 * different numbers meaning different keys; `rankKeys` gives equal keys equal ranks.
 */
import { KeyWriter } from '../../base/collate/key-writer.ts'
import { NumberList } from './number-list.ts'
import { sortByPlace } from './place-sort.ts'
import type { RowOrder } from './row-order.ts'

export class KeyTable {
  readonly #texts = new KeyWriter()
  /** Where the text of each key ends. */
  readonly #ends = new NumberList()
  /** By hash, two numbers a slot: that of a key and one more (0 where none is), and its hash. */
  #slots = new Uint32Array(SLOTS_AT_FIRST * 2)

  get count(): number {
    return this.#ends.length
  }

  /** About the memory of the table, and of sorting it. */
  get byteLength(): number {
    return this.#texts.length * 3 + this.count * 36
  }

  /** All texts, one behind the other. */
  get bytes(): Buffer {
    return this.#texts.bytes
  }

  start(key: number): number {
    return key === 0 ? 0 : (this.#ends.values[key - 1] as number)
  }

  end(key: number): number {
    return this.#ends.values[key] as number
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
    this.#texts.reset()
    this.#ends.clear()
    this.#slots.fill(0)
  }

  #has(key: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = this.start(key)
    const length = end - start
    if (this.end(key) - from !== length) return false
    const own = this.#texts.bytes
    for (let i = 0; i < length; i++) if (own[from + i] !== bytes[start + i]) return false
    return true
  }

  #add(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const key = this.count
    this.#texts.append(bytes, start, end)
    this.#ends.push(this.#texts.length)
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
export function rankKeys(table: KeyTable, order: RowOrder): KeyRanks {
  const { bytes, count } = table
  const out = new KeyWriter(1024)
  const starts = new Uint32Array(count + 1)
  for (let key = 0; key < count; key++) {
    order.appendPlaceOf(out, bytes, table.start(key), table.end(key))
    starts[key + 1] = out.length
  }
  const keys = sortedPlaces(out.bytes, starts)
  const ranks = new Uint32Array(count)
  let rank = 0
  for (let i = 1; i < count; i++) {
    const key = keys[i] as number
    if (!isEqual(out.bytes, starts, keys[i - 1] as number, key)) rank++
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
