/**
 * Builds a tree from rows that come in order: blocks first, then branch upon branch, each node
 * written once. `add` is synchronous, since it runs for every row; when `isFull` says so the caller
 * awaits `flush`, which compresses and reduces a batch of blocks at once.
 */

import { type BlockSize, BRANCH_CHILDREN_MIN } from './block-size.ts'
import { BlockWriter } from './block-writer.ts'
import { type ChildEntry, encodeBranch, entryLength, shortestSeparator } from './branch-node.ts'
import type { IndexTree, TreeRoot } from './index-tree.ts'
import type { NodeSink } from './node-sink.ts'
import { plainNode } from './node-store.ts'
import { reduceNodes } from './reduce-nodes.ts'
import type { ReduceJob } from './reducer.ts'
import { RowBlock } from './row-block.ts'
import type { RowPieces } from './row-pieces.ts'

export class TreeBuilder {
  readonly #tree: IndexTree
  readonly #sink: NodeSink
  readonly #size: BlockSize
  readonly #writer = new BlockWriter()
  /** Finished blocks that are not compressed, reduced and written yet. */
  #blocks: { separator: Buffer; payload: Buffer; rows: number }[] = []
  #separator: Buffer = Buffer.alloc(0)
  /** Entries that wait for a parent, by level. */
  readonly #levels: ChildEntry[][] = []

  constructor(tree: IndexTree, sink: NodeSink, size: BlockSize) {
    this.#tree = tree
    this.#sink = sink
    this.#size = size
  }

  get isFull(): boolean {
    const hasLearned = this.#levels.length > 0
    return this.#blocks.length >= (hasLearned ? BLOCKS_WAITING_MAX : BLOCKS_AT_FIRST)
  }

  /** Adds a row; the bytes of its pieces must stay as they are until the next flush. */
  add(row: RowPieces): void {
    const writer = this.#writer
    if (writer.count > 0 && writer.byteLength + row.valueLength > this.#size.payloadBytes) {
      this.#cut(row)
    }
    if (row.hasSameKey && writer.count > 0) writer.repeatKey()
    else writer.addKey(row.keyBytes, row.keyStart, row.keyEnd)
    writer.addId(row.idBytes, row.idStart, row.idEnd)
    writer.addValue(row.valueBytes, row.valueStart, row.valueEnd)
  }

  async flush(): Promise<void> {
    await this.#finishBlocks()
    await this.#raise(false)
    await this.#sink.drain()
  }

  /** The root's entry and height; undefined when there were no rows. */
  async finish(): Promise<Omit<TreeRoot, 'incarnation'> | undefined> {
    if (this.#writer.count > 0) this.#cut(undefined)
    await this.#finishBlocks()
    await this.#raise(true)
    await this.#sink.drain()
    const height = this.#levels.length - 1
    const entry = this.#levels[height]?.[0]
    return entry === undefined ? undefined : { height, entry }
  }

  /** Ends the block; `next` is the first row of the one after it. */
  #cut(next: RowPieces | undefined): void {
    const { order, frame } = this.#tree
    const writer = this.#writer
    const rows = writer.count
    const separator = this.#separator
    if (next !== undefined) {
      const last = order.placeOfTexts(writer.lastKey, writer.lastId, frame)
      this.#separator = shortestSeparator(
        last,
        order.placeOfTexts(next.keyText, next.idText, frame),
      )
    }
    this.#blocks.push({ separator, payload: writer.finish(), rows })
  }

  async #finishBlocks(): Promise<void> {
    const blocks = this.#blocks
    if (blocks.length === 0) return
    this.#blocks = []
    const packing = Promise.all(blocks.map(block => this.#size.packer.packAside(block.payload)))
    const jobs: ReduceJob[] = []
    const reducing = reduceNodes(this.#tree, () => {
      if (jobs.length === 0) jobs.push(...blocks.map(({ payload }) => this.#jobOf(payload)))
      return jobs
    })
    const [packed, reductions] = await Promise.all([packing, reducing])
    const entries = blocks.map(({ separator, payload, rows }, i): ChildEntry => {
      const stored = packed[i] as Buffer
      this.#size.learn(payload.length, stored.length)
      return { separator, node: this.#sink.put(stored), rows, reductions: reductions[i] ?? [] }
    })
    this.#level(0).push(...entries)
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
      const sets = takeSets(waiting, this.#size.branchBytes, isEnd)
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

/** Bounds the memory of a flush: about a megabyte of plain rows. */
const BLOCKS_WAITING_MAX = 64
/** How well rows compress is known after these, and only then can blocks be cut to fill their pages. */
const BLOCKS_AT_FIRST = 16
