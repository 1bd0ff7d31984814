/**
 * Rows in key order: a list of short sorted blocks, searched by halving. An insert moves the rows
 * of one block only. Buffers are kept as given; `scan` hands out copies.
 */
import type { BatchOptions, Entry, Key, Range } from '../engine.ts'
import { compareKeys } from '../key-order.ts'

const BLOCK_ROWS_MAX = 256
const NO_BYTES = Buffer.alloc(0)

interface Row {
  readonly key: Buffer
  value: Buffer
}

/**
 * Where a row is, or would be inserted: always a row's place, or behind the last one of the last
 * block.
 */
interface Place {
  readonly block: number
  readonly at: number
}

export class SortedRows {
  /** No block is empty but the only one. */
  readonly #blocks: Row[][] = [[]]

  get(key: Key): Buffer | undefined {
    return this.#find(key)?.value
  }

  put(key: Buffer, value: Buffer): void {
    const row = this.#find(key)
    if (row !== undefined) row.value = value
    else this.#insert({ key, value })
  }

  delete(key: Key): void {
    const { block, at } = this.#lowerBound(key)
    const row = this.#blocks[block]?.[at]
    if (row !== undefined && compareKeys(row.key, key) === 0) this.#cut(block, at, at + 1)
  }

  deleteRange(range: Range): void {
    if (compareKeys(range.start, range.end) >= 0) return
    const from = this.#lowerBound(range.start)
    const to = this.#lowerBound(range.end)
    // From the back, so that the numbers of blocks in front stay right.
    for (let block = to.block; block >= from.block; block--) {
      const rows = this.#blocks[block]?.length ?? 0
      this.#cut(block, block === from.block ? from.at : 0, block === to.block ? to.at : rows)
    }
  }

  scan(range: Range, options: BatchOptions): Entry[] {
    const rows: Entry[] = []
    const bytesMax = options.bytesMax ?? Number.POSITIVE_INFINITY
    let bytes = 0
    for (const row of options.reverse ? this.#backward(range) : this.#forward(range)) {
      if (rows.length >= options.limit || (rows.length > 0 && bytes >= bytesMax)) break
      const value = options.keysOnly ? NO_BYTES : Buffer.from(row.value)
      rows.push({ key: Buffer.from(row.key), value })
      bytes += value.length
    }
    return rows
  }

  /** Bytes of all keys and values. */
  bytes(): number {
    let sum = 0
    for (const block of this.#blocks) {
      for (const row of block) sum += row.key.length + row.value.length
    }
    return sum
  }

  *#forward(range: Range): Generator<Row> {
    let { block, at } = this.#lowerBound(range.start)
    for (; block < this.#blocks.length; block++, at = 0) {
      for (const row of (this.#blocks[block] as Row[]).slice(at)) {
        if (compareKeys(row.key, range.end) >= 0) return
        yield row
      }
    }
  }

  *#backward(range: Range): Generator<Row> {
    let { block, at } = this.#lowerBound(range.end)
    for (; block >= 0; block--, at = this.#blocks[block]?.length ?? 0) {
      const rows = this.#blocks[block] as Row[]
      for (let each = at - 1; each >= 0; each--) {
        const row = rows[each] as Row
        if (compareKeys(row.key, range.start) < 0) return
        yield row
      }
    }
  }

  #find(key: Key): Row | undefined {
    const { block, at } = this.#lowerBound(key)
    const row = this.#blocks[block]?.[at]
    return row !== undefined && compareKeys(row.key, key) === 0 ? row : undefined
  }

  #insert(row: Row): void {
    const { block, at } = this.#lowerBound(row.key)
    const rows = this.#blocks[block] as Row[]
    rows.splice(at, 0, row)
    if (rows.length <= BLOCK_ROWS_MAX) return
    this.#blocks.splice(block + 1, 0, rows.splice(rows.length >>> 1))
  }

  #cut(block: number, from: number, to: number): void {
    const rows = this.#blocks[block] as Row[]
    rows.splice(from, to - from)
    if (rows.length === 0 && this.#blocks.length > 1) this.#blocks.splice(block, 1)
  }

  #lowerBound(key: Key): Place {
    // The first block whose last key is not before `key`; the last block when there is none.
    const last = this.#blocks.length - 1
    const block = lowerBound(last, each => compareKeys(lastKey(this.#blocks[each]), key) < 0)
    const rows = this.#blocks[block] as Row[]
    return { block, at: lowerBound(rows.length, at => compareKeys((rows[at] as Row).key, key) < 0) }
  }
}

const lastKey = (rows: readonly Row[] | undefined): Key => rows?.at(-1)?.key ?? NO_BYTES

/** The first of 0 to `count` that is not `before`; `count` when all are. */
function lowerBound(count: number, before: (at: number) => boolean): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (before(middle)) low = middle + 1
    else high = middle
  }
  return low
}
