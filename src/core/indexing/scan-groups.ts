/**
 * Groups of rows whose keys have something in common (the whole key, or the first elements of it),
 * each as the parts that sum it up. A group inside one block is a slice of that block; a longer one
 * comes from the reductions in the tree, so groups cost by their number and not by their rows.
 * Batches and resuming as in scan-rows.ts; every group is read from one state of the store.
 *
 * Where to go on is what `groupOf` says. Bounds that do not hold the key they were made of would lead back, and the scan
 * round in a circle: they are a failed assertion here.
 */
import { assert } from '../../base/assert.ts'
import type { Steps } from '../../engine/engine.ts'
import type { TreeRoot } from './index-tree.ts'
import type { NodeReader } from './node-store.ts'
import type { ReducePart } from './reducer.ts'
import type { RowBlock } from './row-block.ts'
import type { PlaceRange, RowScanOptions, ScanPosition } from './scan-rows.ts'
import { partsBetween, TreeCursor } from './tree-cursor.ts'

/** The group that a key belongs to: its name on the wire and the places it spans. */
export interface GroupBounds {
  readonly keyText: Buffer
  readonly lower: Buffer
  readonly upper: Buffer
}

export interface GroupScanOptions extends RowScanOptions {
  readonly groupOf: (keyText: Buffer) => GroupBounds
  readonly batchGroupsMax?: number | undefined
}

export interface RowGroup {
  readonly keyText: Buffer
  readonly parts: readonly ReducePart[]
}

export interface GroupBatch {
  readonly groups: readonly RowGroup[]
  readonly next: ScanPosition | undefined
}

export function* readGroupBatch(
  nodes: NodeReader,
  root: TreeRoot,
  options: GroupScanOptions,
  position: ScanPosition,
): Steps<GroupBatch> {
  const walk = new GroupWalk(nodes, root, options)
  const groups: RowGroup[] = []
  const groupsMax = options.batchGroupsMax ?? BATCH_GROUPS_MAX
  let at: ScanPosition | undefined = position
  for (let seen = 0; at !== undefined && seen < groupsMax; seen++) {
    const isEdge = seen === 0 || seen === groupsMax - 1
    const found: FoundGroup | undefined = yield* walk.next(at.bounds, at.skip === 0, isEdge)
    if (found === undefined) {
      at = nextRange(options, at)
      walk.forget()
      continue
    }
    if (at.skip > 0) {
      at = { ...at, bounds: found.rest, skip: at.skip - 1 }
      continue
    }
    groups.push(found.group)
    at = at.limit === 1 ? undefined : { ...at, bounds: found.rest, limit: at.limit - 1 }
  }
  return { groups, next: at }
}

function nextRange(options: GroupScanOptions, at: ScanPosition): ScanPosition | undefined {
  const bounds = options.ranges[at.range + 1]
  return bounds === undefined ? undefined : { ...at, range: at.range + 1, bounds }
}

interface FoundGroup {
  readonly group: RowGroup
  /** What is left of the range. */
  readonly rest: PlaceRange
}

/** Goes from group to group; stays in the block while groups are short. */
class GroupWalk {
  readonly #nodes: NodeReader
  readonly #root: TreeRoot
  readonly #options: GroupScanOptions
  #cursor: TreeCursor
  /**
   * Forward: the next row. Backward: the row after the next one. Undefined: not known, look it up.
   */
  #row: number | undefined

  constructor(nodes: NodeReader, root: TreeRoot, options: GroupScanOptions) {
    this.#nodes = nodes
    this.#root = root
    this.#options = options
    this.#cursor = new TreeCursor(nodes, root)
  }

  forget(): void {
    this.#row = undefined
  }

  *next(bounds: PlaceRange, wantsParts: boolean, isEdge: boolean): Steps<FoundGroup | undefined> {
    return this.#options.reverse
      ? yield* this.#previousGroup(bounds, wantsParts, isEdge)
      : yield* this.#nextGroup(bounds, wantsParts, isEdge)
  }

  *#nextGroup(
    { lower, upper }: PlaceRange,
    wantsParts: boolean,
    isEdge: boolean,
  ): Steps<FoundGroup | undefined> {
    const { order } = this.#nodes.tree
    let row: number =
      this.#row ??
      (lower === undefined ? yield* this.#cursor.seekRow(0) : yield* this.#cursor.seek(lower))
    if (row === this.#cursor.block.count) {
      if (!(yield* this.#cursor.next())) return undefined
      row = 0
    }
    const { block } = this.#cursor
    if (upper !== undefined && order.compare(block, row, upper) >= 0) return undefined
    const group = this.#options.groupOf(block.keyText(row))
    if (isEdge) this.#assertInside(group, block, row)
    const end = least(group.upper, upper)
    const to = this.#endInBlock(block, row, end)
    assert(to > row, OUTSIDE)
    const separator = this.#cursor.upperSeparator()
    const rest = { lower: end, upper }
    if (to < block.count || separator === undefined || Buffer.compare(separator, end) >= 0) {
      this.#row = to
      return {
        group: { keyText: group.keyText, parts: [{ rows: { block, from: row, to } }] },
        rest,
      }
    }
    if (!isEdge) this.#assertInside(group, block, row)
    this.#row = undefined
    const start = lower === undefined ? group.lower : greatest(group.lower, lower)
    const parts = wantsParts ? yield* partsBetween(this.#nodes, this.#root, start, end) : []
    return { group: { keyText: group.keyText, parts }, rest }
  }

  *#previousGroup(
    { lower, upper }: PlaceRange,
    wantsParts: boolean,
    isEdge: boolean,
  ): Steps<FoundGroup | undefined> {
    const { order } = this.#nodes.tree
    const to = yield* this.#rowBefore(upper)
    if (to === undefined) return undefined
    const { block } = this.#cursor
    const last = to - 1
    if (lower !== undefined && order.compare(block, last, lower) < 0) return undefined
    const group = this.#options.groupOf(block.keyText(last))
    if (isEdge) this.#assertInside(group, block, last)
    const start = lower === undefined ? group.lower : greatest(group.lower, lower)
    const from = this.#startInBlock(block, last, start)
    assert(from < to, OUTSIDE)
    const rest = { lower, upper: start }
    if (from > 0 || Buffer.compare(this.#cursor.lowerSeparator(), start) < 0) {
      this.#row = from
      return { group: { keyText: group.keyText, parts: [{ rows: { block, from, to } }] }, rest }
    }
    if (!isEdge) this.#assertInside(group, block, last)
    this.#row = undefined
    const end = least(group.upper, upper)
    const parts = wantsParts ? yield* partsBetween(this.#nodes, this.#root, start, end) : []
    return { group: { keyText: group.keyText, parts }, rest }
  }

  /**
   * Takes the sort key of a row, which is dear. So it is asked where the walk goes by the bounds next, to another block
   * or batch, and of the first group, which shows a mistake in all of them before anything is answered.
   */
  #assertInside({ lower, upper }: GroupBounds, block: RowBlock, row: number): void {
    const { order } = this.#nodes.tree
    assert(order.compare(block, row, lower) >= 0, OUTSIDE)
    assert(order.compare(block, row, upper) < 0, OUTSIDE)
  }

  /** The row after the last one before `upper`, never 0; undefined when there is none. */
  *#rowBefore(upper: Buffer | undefined): Steps<number | undefined> {
    let row = this.#row
    if (row === undefined) {
      row =
        upper === undefined
          ? (yield* this.#cursor.seekRow(this.#root.entry.rows - 1)) + 1
          : yield* this.#cursor.seek(upper)
    }
    if (row > 0) return row
    return (yield* this.#cursor.previous()) ? this.#cursor.block.count : undefined
  }

  /**
   * The first row of the block that is at or after `end`; neighbours of one key are told by their
   * text.
   */
  #endInBlock(block: RowBlock, row: number, end: Buffer): number {
    const { order } = this.#nodes.tree
    let next = row + 1
    while (next < block.count && block.hasSameKeyText(next, row) && next - row < LINEAR_MAX) next++
    if (next === block.count || order.compare(block, next, end) >= 0) {
      // A range may end among rows of one key, by document id.
      return next > row + 1 && order.compare(block, next - 1, end) >= 0
        ? order.lowerBound(block, end, row)
        : next
    }
    return order.lowerBound(block, end, next)
  }

  #startInBlock(block: RowBlock, last: number, start: Buffer): number {
    const { order } = this.#nodes.tree
    let first = last
    while (first > 0 && block.hasSameKeyText(first - 1, last) && last - first < LINEAR_MAX) first--
    const isStart = first === 0 || order.compare(block, first - 1, start) < 0
    if (isStart && order.compare(block, first, start) >= 0) return first
    return order.lowerBound(block, start)
  }
}

const least = (one: Buffer, other: Buffer | undefined): Buffer =>
  other !== undefined && Buffer.compare(other, one) < 0 ? other : one
const greatest = (one: Buffer, other: Buffer): Buffer =>
  Buffer.compare(other, one) > 0 ? other : one

const OUTSIDE = 'a row lies within the bounds of its group'
const BATCH_GROUPS_MAX = 512
/** So many neighbours are looked at one by one before a binary search. */
const LINEAR_MAX = 32
