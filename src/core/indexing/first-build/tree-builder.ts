/**
 * Builds a tree from blocks that come in order: reduces them, writes them, and makes branch upon branch, each node
 * written once.
 */

import { BRANCH_CHILDREN_MIN } from '../block-size.ts'
import { type ChildEntry, encodeBranch, entryLength } from '../branch-node.ts'
import type { IndexTree, TreeRoot } from '../index-tree.ts'
import { plainNode } from '../node-store.ts'
import { reduceNodes } from '../reduce-nodes.ts'
import type { ReduceJob } from '../reducer.ts'
import { RowBlock } from '../row-block.ts'
import type { CutBlock } from './block-cutter.ts'
import type { NodeNumbers } from './node-sink.ts'

export class TreeBuilder {
  readonly #tree: IndexTree
  readonly #sink: NodeNumbers
  readonly #branchBytes: number
  /** Entries that wait for a parent, by level. */
  readonly #levels: ChildEntry[][] = []

  constructor(tree: IndexTree, sink: NodeNumbers, branchBytes: number) {
    this.#tree = tree
    this.#sink = sink
    this.#branchBytes = branchBytes
  }

  async add(blocks: readonly CutBlock[]): Promise<void> {
    if (blocks.length === 0) return
    const jobs: ReduceJob[] = []
    const reductions = await reduceNodes(this.#tree, () => {
      if (jobs.length === 0) jobs.push(...blocks.map(({ payload }) => this.#jobOf(payload)))
      return jobs
    })
    const entries = blocks.map(
      ({ separator, packed, rows }, i): ChildEntry => ({
        separator,
        node: this.#sink.put(packed),
        rows,
        reductions: reductions[i] ?? [],
      }),
    )
    this.#level(0).push(...entries)
    await this.#raise(false)
    await this.#sink.drain()
  }

  /** The root's entry and height; undefined when there were no blocks. */
  async finish(): Promise<Omit<TreeRoot, 'incarnation'> | undefined> {
    await this.#raise(true)
    await this.#sink.drain()
    const height = this.#levels.length - 1
    const entry = this.#levels[height]?.[0]
    return entry === undefined ? undefined : { height, entry }
  }

  #jobOf(payload: Buffer): ReduceJob {
    const block = new RowBlock(payload, this.#tree.frame)
    return { rows: { block, from: 0, to: block.count } }
  }

  /** Makes parents of all full sets of children, or of all there are when the tree ends here. */
  async #raise(isEnd: boolean): Promise<void> {
    for (let level = 0; level < this.#levels.length; level++) {
      const waiting = this.#level(level)
      if (isEnd && level === this.#levels.length - 1 && waiting.length === 1) return
      const sets = takeSets(waiting, this.#branchBytes, isEnd)
      if (sets.length === 0) continue
      this.#level(level + 1).push(...(await this.#makeBranches(sets)))
    }
  }

  async #makeBranches(sets: readonly ChildEntry[][]): Promise<ChildEntry[]> {
    const reductions = await reduceNodes(this.#tree, reducer =>
      sets.map(set => ({ reductions: set.map(child => child.reductions[reducer] as Buffer) })),
    )
    return sets.map((set, i) => ({
      separator: (set[0] as ChildEntry).separator,
      node: this.#sink.put(plainNode(encodeBranch(set))),
      rows: set.reduce((sum, child) => sum + child.rows, 0),
      reductions: reductions[i] ?? [],
    }))
  }

  #level(level: number): ChildEntry[] {
    this.#levels[level] ??= []
    return this.#levels[level] as ChildEntry[]
  }
}

/** Takes full sets from the front of `waiting`; all of it when `takeAll`. */
function takeSets(waiting: ChildEntry[], bytesMax: number, takeAll: boolean): ChildEntry[][] {
  const sets: ChildEntry[][] = []
  let from = 0
  let bytes = 0
  for (let i = 0; i < waiting.length; i++) {
    const { separator, reductions } = waiting[i] as ChildEntry
    bytes += entryLength(
      separator,
      reductions.reduce((sum, one) => sum + one.length, 0),
    )
    const isFull = bytes > bytesMax && i - from >= BRANCH_CHILDREN_MIN
    if (!isFull) continue
    sets.push(waiting.slice(from, i))
    from = i
    bytes = 0
  }
  if (takeAll && from < waiting.length) {
    sets.push(waiting.slice(from))
    from = waiting.length
  }
  waiting.splice(0, from)
  return sets
}
