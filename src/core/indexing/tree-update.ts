/**
 * Changes a tree: sets the rows at some places, in one walk that rewrites only the nodes on the way
 * to them.
 *
 * `planUpdate` reads and decides, within one read transaction, and writes nothing: it gives the new
 * nodes without reductions, since a reducer may live in another process. `finishUpdate` reduces and
 * encodes them, bottom up. The caller then writes all trees of an index in one transaction. Old
 * nodes are never changed, so readers that stand on them are not disturbed. Blocks and branches
 * that got small take in their neighbour.
 */
import type { Steps } from '../../engine/engine.ts'
import { type BlockSize, BRANCH_CHILDREN_MIN } from './block-size.ts'
import { BlockWriter } from './block-writer.ts'
import {
  type BranchNode,
  type ChildEntry,
  encodeBranch,
  entryLength,
  shortestSeparator,
} from './branch-node.ts'
import type { IndexTree, TreeRoot } from './index-tree.ts'
import { type NodeReader, plainNode } from './node-store.ts'
import type { BlockPacker } from './pack-block.ts'
import { reduceNodes } from './reduce-nodes.ts'
import { RowBlock, type RowSlice } from './row-block.ts'

/** All rows at a place become these; none removes them. */
export interface PlaceEdit {
  readonly place: Buffer
  readonly rows: readonly NewRow[]
}

/** The texts of a row as they stand in blocks. */
export interface NewRow {
  readonly idText: Buffer
  readonly keyText: Buffer
  readonly valueText: Buffer
}

export interface UpdatePlan {
  /** The new top, of one child or none. */
  readonly top: PlannedChild | undefined
  readonly height: number
  /** Nodes that are no longer part of the tree, with their plain length. */
  readonly removed: readonly { readonly node: number; readonly length: number }[]
}

type PlannedChild = ChildEntry | PlannedBlock | PlannedBranch

interface PlannedBlock {
  readonly kind: 'block'
  readonly separator: Buffer
  readonly block: RowBlock
  /** The block as it will be stored, before compression. */
  readonly plain: Buffer
}

interface PlannedBranch {
  readonly kind: 'branch'
  readonly separator: Buffer
  readonly level: number
  readonly children: readonly PlannedChild[]
}

/** `edits` sorted by place, each place once. Undefined when the tree stays as it is. */
export function* planUpdate(
  nodes: NodeReader,
  root: TreeRoot | undefined,
  edits: readonly PlaceEdit[],
  size: BlockSize,
): Steps<UpdatePlan | undefined> {
  const planner = new Planner(nodes, size, root)
  return yield* planner.plan(edits)
}

class Planner {
  readonly #nodes: NodeReader
  readonly #size: BlockSize
  readonly #root: TreeRoot | undefined
  readonly #removed: { node: number; length: number }[] = []
  /** What the reductions of a child take, at a guess: the root's are about as long as any. */
  readonly #reductionBytes: number

  constructor(nodes: NodeReader, size: BlockSize, root: TreeRoot | undefined) {
    this.#nodes = nodes
    this.#size = size
    this.#root = root
    this.#reductionBytes =
      root?.entry.reductions.reduce((sum, one) => sum + one.length, 0) ??
      nodes.tree.reducers.length * 16
  }

  *plan(edits: readonly PlaceEdit[]): Steps<UpdatePlan | undefined> {
    const root = this.#root
    let height = root?.height ?? 0
    let tops: PlannedChild[] | undefined
    if (root === undefined) {
      const rows = new PendingRows(this.#nodes.tree, this.#size, NOTHING)
      for (const edit of edits) rows.addRows(edit.rows)
      tops = rows.cut()
    } else if (height === 0) {
      tops = yield* this.#editRootBlock(root, edits)
    } else {
      tops = yield* this.#editBranch(root.entry.node, height, edits)
      height--
    }
    if (tops === undefined) return undefined
    for (; tops.length > 1; height++) tops = this.#wrap(tops, height + 1)
    return { ...(yield* this.#lowered(tops[0], height)), removed: this.#removed }
  }

  *#editRootBlock(root: TreeRoot, edits: readonly PlaceEdit[]): Steps<PlannedChild[] | undefined> {
    const block = yield* this.#nodes.block(root.entry.node)
    const pending = new PendingRows(this.#nodes.tree, this.#size, NOTHING)
    if (!pending.addEdited(block, edits)) return undefined
    this.#remove(root.entry.node, block)
    return pending.cut()
  }

  /** A tree whose branch has one child is that child. */
  *#lowered(top: PlannedChild | undefined, height: number): Steps<Omit<UpdatePlan, 'removed'>> {
    let child = top
    let level = height
    while (child !== undefined && level > 0) {
      if (!('kind' in child)) {
        const branch: BranchNode = yield* this.#nodes.branch(child.node)
        if (branch.count > 1) break
        this.#remove(child.node, branch)
        child = branch.entry(0)
      } else if (child.kind === 'branch' && child.children.length === 1) {
        child = child.children[0]
      } else break
      level--
    }
    return { top: child, height: level }
  }

  /** The new children of a branch at `level`, or undefined when nothing in it changes. */
  *#editBranch(
    node: number,
    level: number,
    edits: readonly PlaceEdit[],
  ): Steps<PlannedChild[] | undefined> {
    const branch = yield* this.#nodes.branch(node)
    const byChild = routeEdits(branch, edits)
    const out: PlannedChild[] = []
    let pending: Pending | undefined
    let isChanged = false
    for (let i = 0; i < branch.count; i++) {
      const childEdits = byChild.get(i)
      const open: Pending = pending ?? this.#newPending(branch.separator(i), level)
      const changed =
        childEdits !== undefined &&
        (yield* this.#editChild(open, branch.node(i), level, childEdits))
      if (changed) {
        pending = open
        isChanged = true
      } else if (pending?.isSmall) {
        yield* this.#absorbChild(pending, branch.node(i))
      } else {
        if (pending !== undefined) out.push(...pending.cut())
        pending = undefined
        out.push(branch.entry(i))
      }
    }
    if (!isChanged) return undefined
    if (pending !== undefined) out.push(...pending.cut())
    this.#remove(node, branch)
    // When the first child is gone its successor stands for everything from the branch's beginning
    // on.
    const first = out[0]
    if (first !== undefined) out[0] = { ...first, separator: branch.separator(0) }
    return out
  }

  #newPending(separator: Buffer, level: number): Pending {
    return level === 1
      ? new PendingRows(this.#nodes.tree, this.#size, separator)
      : new PendingChildren(children => this.#wrap(children, level - 1))
  }

  *#editChild(
    into: Pending,
    node: number,
    level: number,
    edits: readonly PlaceEdit[],
  ): Steps<boolean> {
    if (into instanceof PendingRows) {
      const block = yield* this.#nodes.block(node)
      if (!into.addEdited(block, edits)) return false
      this.#remove(node, block)
      return true
    }
    const children = yield* this.#editBranch(node, level - 1, edits)
    if (children === undefined) return false
    into.children.push(...children)
    return true
  }

  *#absorbChild(into: Pending, node: number): Steps<void> {
    if (into instanceof PendingRows) {
      const block = yield* this.#nodes.block(node)
      into.addSlice({ block, from: 0, to: block.count })
      this.#remove(node, block)
      return
    }
    const branch = yield* this.#nodes.branch(node)
    for (let i = 0; i < branch.count; i++) into.children.push(branch.entry(i))
    this.#remove(node, branch)
  }

  /** Branches at `level` over these children, evenly filled. */
  #wrap(children: readonly PlannedChild[], level: number): PlannedChild[] {
    let bytes = 0
    for (const child of children) bytes += entryLength(child.separator, this.#reductionBytes)
    const wanted = Math.ceil(bytes / this.#size.branchBytes)
    const sets = Math.max(1, Math.min(wanted, Math.floor(children.length / BRANCH_CHILDREN_MIN)))
    return Array.from({ length: sets }, (_, i): PlannedBranch => {
      const from = Math.floor((children.length * i) / sets)
      const part = children.slice(from, Math.floor((children.length * (i + 1)) / sets))
      return {
        kind: 'branch',
        separator: (part[0] as PlannedChild).separator,
        level,
        children: part,
      }
    })
  }

  #remove(node: number, { plainLength: length }: RowBlock | BranchNode): void {
    this.#removed.push({ node, length })
  }
}

/**
 * Which edits concern which child. Rows at one place may lie in several neighbouring children when
 * the place is their separator: all of them lose their rows there, the last one gets the new ones.
 */
function routeEdits(branch: BranchNode, edits: readonly PlaceEdit[]): Map<number, PlaceEdit[]> {
  const byChild = new Map<number, PlaceEdit[]>()
  for (const edit of edits) {
    const last = branch.childAt(edit.place)
    for (let child = branch.childBefore(edit.place); child <= last; child++) {
      const routed = child === last ? edit : { place: edit.place, rows: [] }
      const list = byChild.get(child)
      if (list === undefined) byChild.set(child, [routed])
      else list.push(routed)
    }
  }
  return byChild
}

type Pending = PendingRows | PendingChildren

/** Children of neighbouring branches, some of them new, that wait for new branches above them. */
class PendingChildren {
  readonly children: PlannedChild[] = []
  readonly #wrap: (children: readonly PlannedChild[]) => PlannedChild[]

  constructor(wrap: (children: readonly PlannedChild[]) => PlannedChild[]) {
    this.#wrap = wrap
  }

  get isSmall(): boolean {
    return this.children.length < BRANCH_CHILDREN_MIN
  }

  cut(): PlannedChild[] {
    return this.children.length === 0 ? [] : this.#wrap(this.children)
  }
}

/** Rows of neighbouring blocks, some of them new, that wait to be cut into new blocks. */
class PendingRows {
  readonly #tree: IndexTree
  readonly #size: BlockSize
  readonly #separator: Buffer
  readonly #pieces: (RowSlice | NewRow)[] = []
  #bytes = 0

  constructor(tree: IndexTree, size: BlockSize, separator: Buffer) {
    this.#tree = tree
    this.#size = size
    this.#separator = separator
  }

  get isSmall(): boolean {
    return this.#bytes < this.#size.payloadBytes / 3
  }

  addSlice(slice: RowSlice): void {
    if (slice.from >= slice.to) return
    this.#pieces.push(slice)
    const { plainLength, count } = slice.block
    this.#bytes += Math.ceil((plainLength * (slice.to - slice.from)) / count)
  }

  addRows(rows: readonly NewRow[]): void {
    for (const row of rows) {
      this.#pieces.push(row)
      this.#bytes += row.idText.length + row.keyText.length + row.valueText.length
    }
  }

  /**
   * Adds the rows of a block as the edits make them; false, and nothing added, when they change
   * nothing.
   */
  addEdited(block: RowBlock, edits: readonly PlaceEdit[]): boolean {
    const { order } = this.#tree
    const cuts: { from: number; to: number; rows: readonly NewRow[] }[] = []
    let at = 0
    for (const { place, rows } of edits) {
      const from = order.lowerBound(block, place, at)
      let to = from
      while (to < block.count && order.compare(block, to, place) === 0) to++
      if (!hasSameRows(block, from, to, rows)) cuts.push({ from, to, rows })
      at = to
    }
    if (cuts.length === 0) return false
    let next = 0
    for (const { from, to, rows } of cuts) {
      this.addSlice({ block, from: next, to: from })
      this.addRows(rows)
      next = to
    }
    this.addSlice({ block, from: next, to: block.count })
    return true
  }

  /** Blocks of about the same size. */
  cut(): PlannedBlock[] {
    const pieceCount = Math.max(1, Math.ceil(this.#bytes / this.#size.payloadBytes))
    const bytesEach = this.#bytes / pieceCount
    const blocks: PlannedBlock[] = []
    const writer = new BlockWriter()
    const finish = () => {
      if (writer.count === 0) return
      const plain = writer.finish()
      const block = new RowBlock(plain, this.#tree.frame)
      const separator = this.#separatorBetween(blocks[blocks.length - 1], block)
      blocks.push({ kind: 'block', separator, block, plain })
    }
    for (const piece of this.#pieces) {
      if ('idText' in piece) {
        addNewRow(writer, piece)
        if (writer.byteLength >= bytesEach) finish()
        continue
      }
      for (let row = piece.from; row < piece.to; row++) {
        writer.addRowOf(piece, row)
        if (writer.byteLength >= bytesEach) finish()
      }
    }
    finish()
    return blocks
  }

  #separatorBetween(before: PlannedBlock | undefined, block: RowBlock): Buffer {
    if (before === undefined) return this.#separator
    const { order } = this.#tree
    const last = order.placeOf(before.block, before.block.count - 1)
    return shortestSeparator(last, order.placeOf(block, 0))
  }
}

function addNewRow(writer: BlockWriter, { idText, keyText, valueText }: NewRow): void {
  writer.addKey(keyText, 0, keyText.length)
  writer.addId(idText, 0, idText.length)
  writer.addValue(valueText, 0, valueText.length)
}

/** A document that changed often has the same rows as before. */
function hasSameRows(block: RowBlock, from: number, to: number, rows: readonly NewRow[]): boolean {
  if (rows.length !== to - from) return false
  // Rows at one place have one id, and keys that sort alike.
  return rows.every(
    ({ keyText, valueText }, i) =>
      block.valueText(from + i).equals(valueText) && block.keyText(from + i).equals(keyText),
  )
}

export interface FinishedUpdate {
  readonly root: Omit<TreeRoot, 'incarnation'> | undefined
  readonly nodes: readonly { readonly node: number; readonly packed: Buffer }[]
  readonly removed: UpdatePlan['removed']
}

/** Reduces and encodes the planned nodes; `allocate` gives them their numbers. */
export async function finishUpdate(
  tree: IndexTree,
  plan: UpdatePlan,
  size: BlockSize,
  allocate: () => number,
): Promise<FinishedUpdate> {
  const levels: Planned[][] = []
  collectPlanned(plan.top, levels)
  const done = new Map<PlannedChild, ChildEntry>()
  const nodes: { node: number; packed: Buffer }[] = []
  for (const planned of levels) {
    const { packer } = size
    for (const { child, entry, packed } of await finishLevel(
      { tree, packer, done, allocate },
      planned,
    )) {
      done.set(child, entry)
      nodes.push({ node: entry.node, packed })
      if (child.kind === 'block') size.learn(child.plain.length, packed.length)
    }
  }
  const top = plan.top
  const entry = top === undefined || !('kind' in top) ? top : done.get(top)
  const root = entry === undefined ? undefined : { height: plan.height, entry }
  return { root, nodes, removed: plan.removed }
}

type Planned = PlannedBlock | PlannedBranch

function collectPlanned(child: PlannedChild | undefined, levels: Planned[][]): void {
  if (child === undefined || !('kind' in child)) return
  const level = child.kind === 'block' ? 0 : child.level
  for (let i = levels.length; i <= level; i++) levels.push([])
  levels[level]?.push(child)
  if (child.kind === 'branch') for (const one of child.children) collectPlanned(one, levels)
}

interface LevelParts {
  readonly tree: IndexTree
  readonly packer: BlockPacker
  /** The levels below. */
  readonly done: ReadonlyMap<PlannedChild, ChildEntry>
  readonly allocate: () => number
}

async function finishLevel(
  { tree, packer, done, allocate }: LevelParts,
  planned: readonly Planned[],
): Promise<{ child: Planned; entry: ChildEntry; packed: Buffer }[]> {
  const childrenOf = (branch: PlannedBranch): ChildEntry[] =>
    branch.children.map(child => ('kind' in child ? (done.get(child) as ChildEntry) : child))
  const reductions = await reduceNodes(tree, reducer =>
    planned.map(child =>
      child.kind === 'block'
        ? { rows: { block: child.block, from: 0, to: child.block.count } }
        : { reductions: childrenOf(child).map(one => one.reductions[reducer] as Buffer) },
    ),
  )
  // Few nodes are packed at once, many on the thread pool.
  const pack = (plain: Buffer): Buffer | Promise<Buffer> =>
    planned.length > PACKED_HERE_MAX ? packer.packAside(plain) : packer.pack(plain)
  return await Promise.all(
    planned.map(async (child, i) => {
      const isBlock = child.kind === 'block'
      const children = isBlock ? [] : childrenOf(child)
      const entry: ChildEntry = {
        separator: child.separator,
        node: allocate(),
        rows: isBlock ? child.block.count : children.reduce((sum, one) => sum + one.rows, 0),
        reductions: reductions[i] ?? [],
      }
      const packed = isBlock ? await pack(child.plain) : plainNode(encodeBranch(children))
      return { child, entry, packed }
    }),
  )
}

const NOTHING = Buffer.alloc(0)
const PACKED_HERE_MAX = 4
