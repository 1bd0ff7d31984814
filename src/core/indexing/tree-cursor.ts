/**
 * Moves over the blocks of a tree within one transaction, and answers the questions that need only
 * the way down: how many rows lie before a place, and what parts sum up a range.
 */
import { assert } from '../../base/assert.ts'
import type { Steps } from '../../engine/engine.ts'
import type { BranchNode } from './branch-node.ts'
import type { TreeRoot } from './index-tree.ts'
import type { NodeReader } from './node-store.ts'
import type { ReducePart } from './reducer.ts'
import type { RowBlock } from './row-block.ts'

export class TreeCursor {
  readonly #nodes: NodeReader
  readonly #root: TreeRoot
  /** The branches from the root down, with the child we went to. */
  readonly #path: { branch: BranchNode; child: number }[] = []
  #block: RowBlock | undefined

  constructor(nodes: NodeReader, root: TreeRoot) {
    this.#nodes = nodes
    this.#root = root
  }

  /** The block the cursor stands on. */
  get block(): RowBlock {
    assert(this.#block !== undefined, 'the cursor stands nowhere')
    return this.#block
  }

  /** A place not above the first row of this block. */
  lowerSeparator(): Buffer {
    const last = this.#path[this.#path.length - 1]
    return last === undefined ? NOTHING : last.branch.separator(last.child)
  }

  /** A place not below the last row of this block; undefined when it is the last block. */
  upperSeparator(): Buffer | undefined {
    for (let level = this.#path.length - 1; level >= 0; level--) {
      const { branch, child } = this.#path[level] as { branch: BranchNode; child: number }
      if (child + 1 < branch.count) return branch.separator(child + 1)
    }
    return undefined
  }

  /** The number of a row of this block within the tree, counted from 0. */
  rowNumber(row: number): number {
    let number = row
    for (const { branch, child } of this.#path) number += branch.rowsBefore(child)
    return number
  }

  /**
   * Goes to the block with the first row at or after `place`; gives that row, which may be one
   * behind the last.
   */
  *seek(place: Uint8Array): Steps<number> {
    const nodes = this.#nodes
    let node = this.#restart()
    for (let level = this.#root.height; level > 0; level--) {
      const branch = (nodes.known(node) ?? (yield* nodes.branch(node))) as BranchNode
      node = this.#enter(branch, branch.childBefore(place))
    }
    this.#block = (nodes.known(node) ?? (yield* nodes.block(node))) as RowBlock
    const row = this.#nodes.tree.order.lowerBound(this.block, place)
    if (row < this.block.count) return row
    return (yield* this.next()) ? 0 : this.block.count
  }

  /** Goes to the row with this number, counted from 0. */
  *seekRow(number: number): Steps<number> {
    const nodes = this.#nodes
    let left = number
    let node = this.#restart()
    for (let level = this.#root.height; level > 0; level--) {
      const branch = (nodes.known(node) ?? (yield* nodes.branch(node))) as BranchNode
      const child = branch.childOfRow(left)
      left -= branch.rowsBefore(child)
      node = this.#enter(branch, child)
    }
    this.#block = (nodes.known(node) ?? (yield* nodes.block(node))) as RowBlock
    return left
  }

  *next(): Steps<boolean> {
    return yield* this.#step(1)
  }

  *previous(): Steps<boolean> {
    return yield* this.#step(-1)
  }

  /** The node where every way down begins. */
  #restart(): number {
    this.#path.length = 0
    return this.#root.entry.node
  }

  /** One level down; the node to go on with. */
  #enter(branch: BranchNode, child: number): number {
    this.#path.push({ branch, child })
    return branch.node(child)
  }

  *#step(by: 1 | -1): Steps<boolean> {
    let level = this.#path.length - 1
    for (; level >= 0; level--) {
      const at = this.#path[level] as { branch: BranchNode; child: number }
      const child = at.child + by
      if (child >= 0 && child < at.branch.count) {
        at.child = child
        break
      }
    }
    if (level < 0) return false
    for (level++; level < this.#path.length; level++) {
      const above = this.#path[level - 1] as { branch: BranchNode; child: number }
      const branch = yield* this.#nodes.branch(above.branch.node(above.child))
      this.#path[level] = { branch, child: by > 0 ? 0 : branch.count - 1 }
    }
    const last = this.#path[this.#path.length - 1] as { branch: BranchNode; child: number }
    this.#block = yield* this.#nodes.block(last.branch.node(last.child))
    return true
  }
}

/** How many rows lie before `place`. */
export function* rowsBefore(nodes: NodeReader, root: TreeRoot, place: Uint8Array): Steps<number> {
  let node = root.entry.node
  let before = 0
  for (let level = root.height; level > 0; level--) {
    const branch = yield* nodes.branch(node)
    const child = branch.childBefore(place)
    before += branch.rowsBefore(child)
    node = branch.node(child)
  }
  return before + nodes.tree.order.lowerBound(yield* nodes.block(node), place)
}

/**
 * The parts that make up the rows from `lower` on and before `upper`, in order; undefined leaves a
 * side open.
 */
export function* partsBetween(
  nodes: NodeReader,
  root: TreeRoot,
  lower: Uint8Array | undefined,
  upper: Uint8Array | undefined,
): Steps<ReducePart[]> {
  const parts: ReducePart[] = []
  const { rows, reductions } = root.entry
  const whole: ReducePart = { count: rows, reduction: reducer => reductions[reducer] as Buffer }
  if (lower === undefined && upper === undefined) return [whole]
  yield* collectParts(
    { nodes, parts },
    { node: root.entry.node, level: root.height, whole, lower, upper },
  )
  return parts
}

interface Stretch {
  readonly node: number
  readonly level: number
  /** What stands for all rows below the node. */
  readonly whole: ReducePart
  readonly lower: Uint8Array | undefined
  readonly upper: Uint8Array | undefined
}

function* collectParts(
  into: { nodes: NodeReader; parts: ReducePart[] },
  { node, level, whole, lower, upper }: Stretch,
): Steps<void> {
  if (level === 0) {
    const block = yield* into.nodes.block(node)
    const { order } = into.nodes.tree
    const from = lower === undefined ? 0 : order.lowerBound(block, lower)
    const to = upper === undefined ? block.count : order.lowerBound(block, upper)
    if (from === 0 && to === block.count) into.parts.push(whole)
    else if (from < to) into.parts.push({ rows: { block, from, to } })
    return
  }
  const branch = yield* into.nodes.branch(node)
  const first = lower === undefined ? 0 : branch.childBefore(lower)
  const last = upper === undefined ? branch.count - 1 : branch.childBefore(upper)
  for (let child = first; child <= last; child++) {
    const all: ReducePart = {
      count: branch.rows(child),
      reduction: reducer => branch.reduction(child, reducer),
    }
    const from = child === first ? lower : undefined
    const to = child === last ? upper : undefined
    // Nearly all lie wholly inside, and are not gone down to.
    if (from === undefined && to === undefined) into.parts.push(all)
    else {
      const node = branch.node(child)
      yield* collectParts(into, { node, level: level - 1, whole: all, lower: from, upper: to })
    }
  }
}

const NOTHING = Buffer.alloc(0)
