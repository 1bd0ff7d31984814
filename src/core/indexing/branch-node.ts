/**
 * An inner node of an index tree: for each child its separator (a place not above its first row),
 * its node number, how many rows lie below it, and what each reducer made of them. With these,
 * positions and reductions of any range come from the nodes on the way down alone.
 *
 * Format: the number of children; for each one separator (length, bytes), node number, rows, and
 * for each reducer its reduction (length, bytes). Nodes never change once written: a change makes a
 * new node with a new number.
 */
import { KeyWriter } from '../../base/collate/key-writer.ts'
import { appendBlob, appendVarint, ByteReader } from './byte-codec.ts'

/** What a parent knows about a child; the root's entry is kept in the root record of its tree. */
export interface ChildEntry {
  readonly separator: Buffer
  readonly node: number
  readonly rows: number
  readonly reductions: readonly Buffer[]
}

export class BranchNode {
  readonly count: number
  readonly bytes: Buffer
  readonly #reducerCount: number
  /** Per child: where its separator begins and ends. */
  readonly #separators: Uint32Array
  readonly #nodes: Float64Array
  /** Rows before each child; one more for all rows. */
  readonly #rowsBefore: Float64Array
  readonly #reductionStarts: Uint32Array

  constructor(bytes: Buffer, reducerCount: number) {
    const reader = new ByteReader(bytes)
    const count = reader.varint()
    this.count = count
    this.bytes = bytes
    this.#reducerCount = reducerCount
    this.#separators = new Uint32Array(count * 2)
    this.#nodes = new Float64Array(count)
    this.#rowsBefore = new Float64Array(count + 1)
    this.#reductionStarts = new Uint32Array(count)
    for (let child = 0; child < count; child++) this.#readChild(reader, child)
  }

  /** As it is stored; branches are not compressed. */
  get plainLength(): number {
    return this.bytes.length
  }

  /** About the memory it takes. */
  get byteLength(): number {
    return this.bytes.length + this.count * 28 + 200
  }

  #readChild(reader: ByteReader, child: number): void {
    const length = reader.varint()
    this.#separators[child * 2] = reader.at
    reader.at += length
    this.#separators[child * 2 + 1] = reader.at
    this.#nodes[child] = reader.varint()
    this.#rowsBefore[child + 1] = (this.#rowsBefore[child] as number) + reader.varint()
    this.#reductionStarts[child] = reader.at
    for (let i = 0; i < this.#reducerCount; i++) {
      const skipped = reader.varint()
      reader.at += skipped
    }
  }

  node(child: number): number {
    return this.#nodes[child] as number
  }

  rowsBefore(child: number): number {
    return this.#rowsBefore[child] as number
  }

  rows(child: number): number {
    return this.rowsBefore(child + 1) - this.rowsBefore(child)
  }

  separator(child: number): Buffer {
    return this.bytes.subarray(this.#separators[child * 2], this.#separators[child * 2 + 1])
  }

  reduction(child: number, reducer: number): Buffer {
    const reader = new ByteReader(this.bytes, this.#reductionStarts[child])
    for (let i = 0; i < reducer; i++) reader.blob()
    return reader.blob()
  }

  entry(child: number): ChildEntry {
    const reductions = Array.from({ length: this.#reducerCount }, (_, i) =>
      this.reduction(child, i),
    )
    return {
      separator: this.separator(child),
      node: this.node(child),
      rows: this.rows(child),
      reductions,
    }
  }

  /**
   * The child where the first row at or after `place` lies, or the one before it when that child
   * begins with it.
   */
  childBefore(place: Uint8Array): number {
    return Math.max(0, this.#countBelow(place, 0) - 1)
  }

  /** The last child that may hold rows at `place`. */
  childAt(place: Uint8Array): number {
    return Math.max(0, this.#countBelow(place, 1) - 1)
  }

  /** The child that holds the row with this number, counted from 0. */
  childOfRow(row: number): number {
    let low = 0
    let high = this.count - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (this.rowsBefore(middle) <= row) low = middle
      else high = middle - 1
    }
    return low
  }

  /** How many separators are below `place` (or equal to it, when `orderMax` is 1). */
  #countBelow(place: Uint8Array, orderMax: number): number {
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#compare(middle, place) < orderMax) low = middle + 1
      else high = middle
    }
    return low
  }

  /** By hand: separators are short, and a call into native code costs more than most of them. */
  #compare(child: number, place: Uint8Array): number {
    const { bytes } = this
    const start = this.#separators[child * 2] as number
    const length = (this.#separators[child * 2 + 1] as number) - start
    const shared = Math.min(length, place.length)
    for (let i = 0; i < shared; i++) {
      const difference = (bytes[start + i] as number) - (place[i] as number)
      if (difference !== 0) return difference < 0 ? -1 : 1
    }
    return Math.sign(length - place.length)
  }
}

export function encodeBranch(children: readonly ChildEntry[]): Buffer {
  const out = new KeyWriter()
  appendVarint(out, children.length)
  for (const child of children) {
    appendBlob(out, child.separator)
    appendVarint(out, child.node)
    appendVarint(out, child.rows)
    for (const reduction of child.reductions) appendBlob(out, reduction)
  }
  return out.bytes.subarray(0, out.length)
}

/** About the bytes a child takes in its parent. */
export function entryLength(separator: Uint8Array, reductionBytes: number): number {
  return separator.length + reductionBytes + 10
}

/**
 * The shortest bytes above `low` and not above `high`; `high` itself when both are the same place.
 */
export function shortestSeparator(low: Uint8Array, high: Buffer): Buffer {
  let same = 0
  while (same < low.length && same < high.length && low[same] === high[same]) same++
  return Buffer.from(high.subarray(0, Math.min(same + 1, high.length)))
}
