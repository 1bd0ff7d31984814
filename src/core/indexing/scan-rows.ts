/**
 * Rows of ranges of places, forward or in reverse, in batches that are each read from one state of
 * the store.
 *
 * Positions (skip, offset) come from the counts in the tree and cost no walk. Between batches
 * nothing is held: the scan goes on after the last place it gave, so rows that change meanwhile may
 * show up further on, and a row is never given twice. A batch ends at the end of a block, and never
 * between rows that share a place.
 */
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Pull } from '../../base/pull.ts'
import type { Steps } from '../../engine/engine.ts'
import type { TreeRoot } from './index-tree.ts'
import type { NodeReader } from './node-store.ts'
import type { RowBlock, RowSlice } from './row-block.ts'
import { afterPlace } from './row-order.ts'
import { rowsBefore, TreeCursor } from './tree-cursor.ts'

/** From `lower` (included) to `upper` (left out); undefined leaves a side open. */
export interface PlaceRange {
  readonly lower?: Buffer | undefined
  readonly upper?: Buffer | undefined
}

export interface RowScanOptions {
  /** Given one after the other, in this order also when `reverse`. */
  readonly ranges: readonly PlaceRange[]
  readonly reverse: boolean
  /** Over all ranges together. */
  readonly skip: number
  readonly limit: number
  /** About the text of one batch; bounds the time one transaction takes. */
  readonly batchBytesMax?: number | undefined
}

/** Where a scan stands between batches. */
export interface ScanPosition {
  readonly range: number
  readonly bounds: PlaceRange
  readonly skip: number
  readonly limit: number
}

export interface RowBatch {
  /** In the order of the scan; the rows inside a slice always in the order of the tree. */
  readonly slices: readonly RowSlice[]
  /** Undefined when all is said. */
  readonly next: ScanPosition | undefined
  /** Rows of the tree before the bound where the first range of the batch begins (at its upper end in reverse). */
  readonly before: number
}

export const startOfScan = (options: RowScanOptions): ScanPosition | undefined =>
  options.ranges.length === 0 || options.limit === 0
    ? undefined
    : {
        range: 0,
        bounds: options.ranges[0] as PlaceRange,
        skip: options.skip,
        limit: options.limit,
      }

/** Rows before the first one given, in the direction of the scan; `before` of its first batch says it too. */
export function* scanOffset(
  nodes: NodeReader,
  root: TreeRoot,
  options: RowScanOptions,
): Steps<number> {
  const first = options.ranges[0]
  if (first === undefined) return 0
  const bound = options.reverse ? first.upper : first.lower
  if (bound === undefined) return Math.min(root.entry.rows, options.skip)
  return offsetFrom(root, options, yield* rowsBefore(nodes, root, bound))
}

/** The same when it is known how many rows lie before the bound where the scan begins. */
export function offsetFrom(root: TreeRoot, options: RowScanOptions, before: number): number {
  const total = root.entry.rows
  return Math.min(total, (options.reverse ? total - before : before) + options.skip)
}

export function* readRowBatch(
  nodes: NodeReader,
  root: TreeRoot,
  options: RowScanOptions,
  position: ScanPosition,
): Steps<RowBatch> {
  const batch = new Batch(options, position)
  while (batch.isOpen) {
    const start = yield* startRow(nodes, root, batch)
    if (start === undefined) batch.endRange()
    else if (options.reverse) yield* takeBackward(nodes, batch, start)
    else if (takeForward(nodes, batch, start.cursor, start.row)) {
      yield* takeMoreForward(nodes, batch, start.cursor)
    }
  }
  return { slices: batch.slices, next: batch.position, before: batch.before ?? 0 }
}

/** Batches that have rows; `read` gives undefined when the tree has none any more. */
export function pullBatches(
  first: RowBatch | undefined,
  read: (from: ScanPosition) => MaybePromise<RowBatch | undefined>,
): Pull<readonly RowSlice[]> {
  let ready = first
  let position: ScanPosition | undefined
  const next = (): MaybePromise<readonly RowSlice[] | undefined> => {
    for (;;) {
      const batch = ready
      ready = undefined
      if (batch !== undefined) position = batch.next
      if (batch !== undefined && batch.slices.length > 0) return batch.slices
      const from = position
      position = undefined
      if (from === undefined) return undefined
      const found = read(from)
      if (found instanceof Promise) {
        return found.then(later => {
          ready = later
          return next()
        })
      }
      ready = found
    }
  }
  return next
}

/** The batch under construction and where the scan stands. */
class Batch {
  readonly slices: RowSlice[] = []
  readonly #options: RowScanOptions
  /** Where the range before ended: ranges that follow each other closely begin from there. */
  ended: EndedRange | undefined
  before: number | undefined
  #position: ScanPosition | undefined
  #bytesLeft: number

  constructor(options: RowScanOptions, position: ScanPosition) {
    this.#options = options
    this.#position = position
    this.#bytesLeft = options.batchBytesMax ?? BATCH_BYTES_MAX
  }

  get position(): ScanPosition | undefined {
    return this.#position
  }

  get at(): ScanPosition {
    return this.#position as ScanPosition
  }

  get isReverse(): boolean {
    return this.#options.reverse
  }

  get isOpen(): boolean {
    return this.#position !== undefined && this.#bytesLeft > 0
  }

  take(block: RowBlock, from: number, to: number): void {
    if (from >= to) return
    this.slices.push({ block, from, to })
    const limit = this.at.limit - (to - from)
    // The length of the last slice does not matter any more.
    if (limit > 0) this.#bytesLeft -= block.textLength(from, to)
    this.#position = limit === 0 ? undefined : { ...this.at, limit, skip: 0 }
  }

  skipRows(count: number): void {
    this.#position = { ...this.at, skip: this.at.skip - count }
  }

  moveBounds(bounds: PlaceRange): void {
    this.#position = { ...this.at, bounds, skip: 0 }
  }

  endRange(): void {
    if (this.#position === undefined) return
    const range = this.#position.range + 1
    const bounds = this.#options.ranges[range]
    // Many small ranges cost more than their bytes: each takes a walk down the tree.
    this.#bytesLeft -= RANGE_COST_BYTES
    this.#position = bounds === undefined ? undefined : { ...this.#position, range, bounds }
  }
}

interface StartRow {
  readonly cursor: TreeCursor
  /** Forward: the first row to give. Backward: the row after the first one to give. */
  readonly row: number
}

/** All rows in front of `row` of the cursor's block lie before this place. */
interface EndedRange extends StartRow {
  readonly before: Buffer
}

/** A range may be the wrong way round: it is empty then, and ends where it begins. */
const laterOf = (lower: Buffer | undefined, upper: Buffer): Buffer =>
  lower !== undefined && Buffer.compare(lower, upper) > 0 ? lower : upper

/** The start of a range that begins where the one before ended or further on in the same block. */
function* startAfter(
  nodes: NodeReader,
  ended: EndedRange,
  lower: Buffer,
): Steps<StartRow | undefined> {
  if (Buffer.compare(ended.before, lower) > 0) return undefined
  const { cursor } = ended
  const next = cursor.upperSeparator()
  if (next !== undefined && Buffer.compare(lower, next) >= 0) return undefined
  const row = nodes.tree.order.lowerBoundNear(cursor.block, lower, ended.row)
  if (row < cursor.block.count) return { cursor, row }
  return { cursor, row: (yield* cursor.next()) ? 0 : cursor.block.count }
}

/**
 * Goes to where the range begins, past the rows to skip; undefined when nothing of the range is
 * left.
 */
function* startRow(nodes: NodeReader, root: TreeRoot, batch: Batch): Steps<StartRow | undefined> {
  const { bounds, skip, limit } = batch.at
  const { lower, upper } = bounds
  const isReverse = batch.isReverse
  const cursor = new TreeCursor(nodes, root)
  if (limit === 0) return undefined
  if (skip > 0) {
    const first = lower === undefined ? 0 : yield* rowsBefore(nodes, root, lower)
    const end = upper === undefined ? root.entry.rows : yield* rowsBefore(nodes, root, upper)
    batch.before ??= isReverse ? end : first
    if (end - first <= skip) {
      batch.skipRows(Math.max(0, end - first))
      return undefined
    }
    const row = yield* cursor.seekRow(isReverse ? end - skip - 1 : first + skip)
    return { cursor, row: isReverse ? row + 1 : row }
  }
  if (!isReverse) {
    if (lower === undefined) {
      batch.before ??= 0
      return { cursor, row: yield* cursor.seekRow(0) }
    }
    const near = batch.ended && (yield* startAfter(nodes, batch.ended, lower))
    if (near !== undefined) return near
    const row = yield* cursor.seek(lower)
    batch.before ??= cursor.rowNumber(row)
    return { cursor, row }
  }
  if (upper === undefined) {
    batch.before ??= root.entry.rows
    return { cursor, row: (yield* cursor.seekRow(root.entry.rows - 1)) + 1 }
  }
  const row = yield* cursor.seek(upper)
  batch.before ??= cursor.rowNumber(row)
  if (row > 0) return { cursor, row }
  return (yield* cursor.previous()) ? { cursor, row: cursor.block.count } : undefined
}

function* takeMoreForward(nodes: NodeReader, batch: Batch, cursor: TreeCursor): Steps<void> {
  do yield* cursor.next()
  while (takeForward(nodes, batch, cursor, 0))
}

/** What the cursor's block has of the range, from row `from` on; true when the next block is to be taken too. */
function takeForward(nodes: NodeReader, batch: Batch, cursor: TreeCursor, from: number): boolean {
  const { order } = nodes.tree
  const { block } = cursor
  const { upper } = batch.at.bounds
  const next = cursor.upperSeparator()
  // Only the last block of a range has to be searched for its end.
  const isWhole = upper === undefined || (next !== undefined && Buffer.compare(next, upper) < 0)
  const most = Math.min(block.count, from + batch.at.limit)
  const end = isWhole ? block.count : order.lowerBoundNear(block, upper, from, most)
  batch.take(block, from, Math.min(end, most))
  if (batch.position === undefined) return false
  if (end < block.count || next === undefined) {
    batch.ended = upper && { cursor, row: end, before: laterOf(batch.at.bounds.lower, upper) }
    batch.endRange()
    return false
  }
  if (batch.isOpen) return true
  const last = order.placeOf(block, block.count - 1)
  if (last.equals(next)) return true
  batch.moveBounds({ lower: afterPlace(last), upper })
  return false
}

function* takeBackward(nodes: NodeReader, batch: Batch, { cursor, row }: StartRow): Steps<void> {
  const { order } = nodes.tree
  let to = row
  for (;;) {
    const { block } = cursor
    const { lower } = batch.at.bounds
    const separator = cursor.lowerSeparator()
    const isWhole = lower === undefined || Buffer.compare(separator, lower) >= 0
    const least = Math.max(0, to - batch.at.limit)
    const start = isWhole ? 0 : order.lowerBound(block, lower, least)
    batch.take(block, Math.max(start, least), to)
    if (batch.position === undefined) return
    if (start > 0) return batch.endRange()
    if (!batch.isOpen) {
      const first = order.placeOf(block, 0)
      if (!first.equals(separator)) return batch.moveBounds({ lower, upper: first })
    }
    if (!(yield* cursor.previous())) return batch.endRange()
    to = cursor.block.count
  }
}

/** Some milliseconds of one transaction. */
const BATCH_BYTES_MAX = 256 * 1024
const RANGE_COST_BYTES = 1024
