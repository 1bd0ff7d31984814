/**
 * Rows of a view for a planned query. `scanView` gives texts that go to the wire as they are: each
 * is one row or several joined the way rows are joined there, so that whole blocks pass without
 * being looked at. `scanViewRows` gives them one by one for those who add something to each.
 */
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import { pieces } from '../../base/pull.ts'
import type { BlockIndex, RowScan } from '../indexing/block-index.ts'
import type { IndexLook } from '../indexing/index-looks.ts'
import type { RowBlock, RowSlice } from '../indexing/row-block.ts'
import { idBytes } from '../indexing/row-order.ts'
import type { ViewPlan } from './view-query.ts'

export interface ViewTexts {
  readonly look: IndexLook
  readonly total: number
  readonly offset: number
  /** Join them, and the batches, with `,\r\n`. */
  readonly batches: AsyncIterable<Buffer[]>
  /** The same at once, when one batch is all. */
  readonly whole: Buffer[] | undefined
}

export interface ViewRows {
  readonly look: IndexLook
  readonly total: number
  readonly offset: number
  readonly batches: AsyncIterable<ViewRow[]>
}

/** A row of a view; its parts are cut out when they are asked for. */
export class ViewRow {
  readonly #block: RowBlock
  readonly #row: number

  constructor(block: RowBlock, row: number) {
    this.#block = block
    this.#row = row
  }

  get id(): string {
    return idBytes(this.#block.idText(this.#row)).toString()
  }

  get keyText(): Buffer {
    return this.#block.keyText(this.#row)
  }

  get valueText(): Buffer {
    return this.#block.valueText(this.#row)
  }

  /** The whole row as on the wire: `{"id":…,"key":…,"value":…}`. */
  get text(): Buffer {
    return this.#block.text(this.#row, this.#row + 1)
  }
}

export function scanView(index: BlockIndex, tree: number, plan: ViewPlan): MaybePromise<ViewTexts> {
  const texts = plan.reverse ? rowTexts : sliceText
  return after(index.openScan(tree, plan), scan => {
    const { look, total, offset, whole } = scan
    return {
      look,
      total,
      offset,
      batches: mapSlices(scan, texts),
      whole: whole && mapped(whole, texts),
    }
  })
}

export function scanViewRows(
  index: BlockIndex,
  tree: number,
  plan: ViewPlan,
): MaybePromise<ViewRows> {
  const rows = (slice: RowSlice) =>
    rowNumbers(slice, plan.reverse).map(row => new ViewRow(slice.block, row))
  return after(index.openScan(tree, plan), scan => {
    const { look, total, offset } = scan
    return { look, total, offset, batches: mapSlices(scan, rows) }
  })
}

const mapSlices = <T>(scan: RowScan, map: (slice: RowSlice) => T[]): AsyncIterable<T[]> =>
  pieces(() => after(scan.next(), slices => slices && mapped(slices, map)))

/** `flatMap`, which costs more than all else for the one slice that there mostly is. */
function mapped<T>(slices: readonly RowSlice[], map: (slice: RowSlice) => T[]): T[] {
  const [first, second] = slices
  return first !== undefined && second === undefined ? map(first) : slices.flatMap(map)
}

const sliceText = ({ block, from, to }: RowSlice): Buffer[] => [block.text(from, to)]

/** The rows of a slice in reverse, one by one. */
const rowTexts = (slice: RowSlice): Buffer[] =>
  rowNumbers(slice, true).map(row => slice.block.text(row, row + 1))

const rowNumbers = ({ from, to }: RowSlice, reverse: boolean): number[] =>
  Array.from({ length: to - from }, (_, i) => (reverse ? to - 1 - i : from + i))
