/**
 * The documents that have a key in a tree of a text index: they lie in the order of their ids. Rows are read in batches;
 * going far ahead opens the tree anew at the place in question instead of reading what lies between.
 */
import type { BlockIndex } from '../../indexing/block-index.ts'
import type { RowBlock, RowSlice } from '../../indexing/row-block.ts'
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

interface Row {
  readonly id: string
  readonly block: RowBlock
  readonly row: number
}

export class KeyStream implements DocStream {
  readonly #source: IndexedTree
  readonly #sortKey: Buffer
  readonly #weigh: Weigh | undefined
  #rows: readonly Row[] = []
  #at = 0
  #batches: AsyncIterator<readonly RowSlice[]> | undefined
  #isStarted = false

  /** @param sortKey of the key, in the order of the tree */
  constructor(source: IndexedTree, sortKey: Buffer, weigh?: Weigh) {
    this.#source = source
    this.#sortKey = sortKey
    this.#weigh = weigh
  }

  get id(): string | undefined {
    return this.#rows[this.#at]?.id
  }

  seek(id: string): undefined | Promise<void> {
    const last = this.#rows[this.#rows.length - 1]
    if (last !== undefined && last.id >= id) {
      this.#skipTo(id)
      return undefined
    }
    const isEnded = this.#isStarted && this.#batches === undefined
    if (isEnded) {
      this.#at = this.#rows.length
      return undefined
    }
    return this.#read(id)
  }

  score(): number {
    return this.#weigh === undefined ? 0 : this.#weigh(this.value())
  }

  /** Of the row it stands at. */
  value(): readonly number[] {
    const { block, row } = this.#rows[this.#at] as Row
    return JSON.parse(block.valueText(row).toString('latin1')) as number[]
  }

  #skipTo(id: string): void {
    let low = this.#at
    let high = this.#rows.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#rows[middle] as Row).id < id) low = middle + 1
      else high = middle
    }
    this.#at = low
  }

  async #read(id: string): Promise<void> {
    if (this.#batches !== undefined) {
      await this.#next()
      const last = this.#rows[this.#rows.length - 1]
      if (last === undefined) return
      if (last.id >= id) return this.#skipTo(id)
    }
    await this.#open(id)
    await this.#next()
    this.#skipTo(id)
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
    this.#at = 0
    if (batch === undefined || batch.done === true) {
      this.#batches = undefined
      this.#rows = []
    } else this.#rows = batch.value.flatMap(rowsOf)
  }
}

const BATCH_BYTES_MAX = 16 * 1024

function rowsOf({ block, from, to }: RowSlice): Row[] {
  const rows: Row[] = []
  for (let row = from; row < to; row++) {
    rows.push({ id: idBytes(block.idText(row)).toString('latin1'), block, row })
  }
  return rows
}
