/**
 * The documents that have a key in a tree of a text index: they lie in the order of their ids. Rows are read in batches;
 * going far ahead opens the tree anew at the place in question instead of reading what lies between.
 */
import type { BlockIndex } from '../../indexing/block-index.ts'
import type { RowSlice } from '../../indexing/row-block.ts'
import { afterKey, idBytes } from '../../indexing/row-order.ts'
import type { DocStream } from './doc-stream.ts'

/** Lets others run when too much time went by. */
export type Pace = () => undefined | Promise<void>

/** From the value of a row, `[length, position …]`, to a score. */
export type Weigh = (value: readonly number[]) => number

export interface IndexedTree {
  readonly index: BlockIndex
  readonly tree: number
  readonly pace: Pace
}

export class KeyStream implements DocStream {
  readonly #source: IndexedTree
  readonly #sortKey: Buffer
  readonly #weigh: Weigh | undefined
  #slices: readonly RowSlice[] = []
  /** Where it stands: a slice, and a row of its block. */
  #slice = 0
  #row = 0
  #lastId: string | undefined
  #batches: AsyncIterator<readonly RowSlice[]> | undefined
  #isStarted = false
  /** Questions since rows were last read: few mean that those who ask leap over most of them. */
  #seekCount = 0
  id: string | undefined

  /** @param sortKey of the key, in the order of the tree */
  constructor(source: IndexedTree, sortKey: Buffer, weigh?: Weigh) {
    this.#source = source
    this.#sortKey = sortKey
    this.#weigh = weigh
  }

  seek(id: string): undefined | Promise<void> {
    this.#seekCount++
    if (this.id !== undefined && this.id >= id) return undefined
    if (this.#lastId !== undefined && this.#lastId >= id) {
      this.#skipTo(id)
      return undefined
    }
    if (this.#isStarted && this.#batches === undefined) {
      this.id = undefined
      return undefined
    }
    return this.#read(id)
  }

  score(): number {
    return this.#weigh === undefined ? 0 : this.#weigh(this.value())
  }

  /** Of the row it stands at. */
  value(): readonly number[] {
    const { block } = this.#slices[this.#slice] as RowSlice
    return JSON.parse(block.valueText(this.#row).toString('latin1')) as number[]
  }

  /** To a row that is at hand. */
  #skipTo(id: string): void {
    while (lastIdOf(this.#slices[this.#slice] as RowSlice) < id) {
      this.#slice++
      this.#row = (this.#slices[this.#slice] as RowSlice).from
    }
    const slice = this.#slices[this.#slice] as RowSlice
    let low = this.#row
    let high = slice.to - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if (idOf(slice, middle) < id) low = middle + 1
      else high = middle
    }
    this.#row = low
    this.id = idOf(slice, low)
  }

  async #read(id: string): Promise<void> {
    const isSparse = this.#seekCount < SPARSE_COUNT
    if (this.#batches !== undefined && !isSparse) {
      await this.#next()
      if (this.#lastId === undefined) return
      if (this.#lastId >= id) return this.#skipTo(id)
    }
    await this.#open(id)
    await this.#next()
    if (this.#lastId !== undefined) this.#skipTo(id)
  }

  async #open(id: string): Promise<void> {
    const { index, tree } = this.#source
    const lower = Buffer.concat([this.#sortKey, Buffer.from(id, 'latin1')])
    const scan = await index.openScan(tree, {
      ranges: [{ lower, upper: afterKey(this.#sortKey) }],
      reverse: false,
      skip: 0,
      limit: Number.MAX_SAFE_INTEGER,
      batchBytesMax: BATCH_BYTES_MAX,
    })
    this.#isStarted = true
    this.#batches = scan.batches[Symbol.asyncIterator]()
  }

  async #next(): Promise<void> {
    const paused = this.#source.pace()
    if (paused !== undefined) await paused
    const batch = await this.#batches?.next()
    const isEnd = batch === undefined || batch.done === true
    if (isEnd) this.#batches = undefined
    this.#slices = isEnd ? [] : batch.value
    this.#slice = 0
    this.#row = this.#slices[0]?.from ?? 0
    this.#seekCount = 0
    const last = this.#slices.at(-1)
    this.#lastId = last && lastIdOf(last)
    this.id = undefined
  }
}

/** To the end of a block. */
const BATCH_BYTES_MAX = 1
const SPARSE_COUNT = 16

const idOf = ({ block }: RowSlice, row: number): string =>
  idBytes(block.idText(row)).toString('latin1')
const lastIdOf = (slice: RowSlice): string => idOf(slice, slice.to - 1)
