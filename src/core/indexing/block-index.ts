/**
 * An index: its trees, its state and its back references in one store of its own. All views of a
 * design document are one index, so they share progress and are changed together.
 *
 * Reads may come from any number of processes at any time and are each consistent in themselves.
 * Updates read, think (reducers may be far away) and then write everything in one transaction,
 * which fails and is tried again when somebody else changed the index meanwhile: one updater at a
 * time is quick, two are merely slow.
 */
import { randomBytes } from 'node:crypto'
import { assert } from '../../base/assert.ts'
import type { Collator } from '../../base/collate/collator.ts'
import { Failure } from '../../base/errors.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import { type Pull, pieces } from '../../base/pull.ts'
import type { EngineLimits, Store } from '../../engine/engine.ts'
import { BlockSize, type NodeBytes } from './block-size.ts'
import { clearRuns, FirstBuild } from './first-build/first-build.ts'
import { LocalTasks, type StartThreads } from './first-build/run-tasks.ts'
import { decodeRunsOf } from './first-build/sorted-runs.ts'
import { ALL_NODES, ALL_ROOTS, nodeKey, RUNS_OF_KEY, rootKey, STATE_KEY } from './index-keys.ts'
import { EMPTY_TAG, type IndexLook, IndexLooks } from './index-looks.ts'
import type { DocumentRows, IndexProgress } from './index-rows.ts'
import {
  type BuildingIndex,
  decodeState,
  emptyBuild,
  encodeState,
  INDEX_FORMAT,
  type IndexState,
  nextBuild,
  readState,
} from './index-state.ts'
import {
  encodeRoot,
  INCARNATION_LENGTH,
  type IndexTree,
  makeBackReferenceTree,
  makeTree,
  readRoot,
  type TreeDefinition,
} from './index-tree.ts'
import { deleteNode, type NodeCache, NodeReader, putNode } from './node-store.ts'
import { planBatch } from './plan-batch.ts'
import { type Reducer, reduceParts } from './reducer.ts'
import type { RowSlice } from './row-block.ts'
import type { RowOrder } from './row-order.ts'
import { type GroupBatch, type GroupScanOptions, readGroupBatch } from './scan-groups.ts'
import {
  offsetFrom,
  type PlaceRange,
  pullBatches,
  type RowScanOptions,
  readRowBatch,
  scanOffset,
  startOfScan,
} from './scan-rows.ts'
import { partsBetween } from './tree-cursor.ts'
import { type FinishedUpdate, finishUpdate, planUpdate, type UpdatePlan } from './tree-update.ts'

export interface BlockIndexOptions {
  readonly store: Store
  readonly limits: EngineLimits
  readonly collator: Collator
  readonly trees: readonly TreeDefinition[]
  readonly cache: NodeCache
  /**
   * A store for the sorted runs of a long first build, dropped at its end; `open` makes it when it
   * is not there. Without one they lie in the index's own store, whose file then keeps their space
   * until it is compacted.
   */
  readonly scratch?: { open(): Promise<Store>; drop(): Promise<void> }
  /** Memory a first build uses for rows. */
  readonly sortBytesMax?: number
  /** Starts threads for a large first build. */
  readonly startThreads?: StartThreads | undefined
  readonly random?: (count: number) => Buffer
  readonly nodeBytes?: NodeBytes
}

export interface RowScan {
  readonly look: IndexLook
  /** Rows in the tree. */
  readonly total: number
  /** Rows before the first one given. */
  readonly offset: number
  /** Batches of rows, of which the first is there already. */
  readonly next: Pull<readonly RowSlice[]>
  /** The same, for those who read with `for await`: one or the other. */
  readonly batches: AsyncIterable<readonly RowSlice[]>
  /** The same at once, when one batch is all. */
  readonly whole: readonly RowSlice[] | undefined
}

export interface ReducedGroup {
  readonly keyText: Buffer
  readonly reduction: Buffer
}

export interface ReducedRange {
  readonly look: IndexLook
  /** Undefined when the range has no rows. */
  readonly reduction: Buffer | undefined
}

export interface GroupScan {
  readonly look: IndexLook
  /** There is one batch at the most. */
  readonly isShort: boolean
  readonly batches: AsyncIterable<readonly ReducedGroup[]>
}

export interface TreeInfo {
  readonly rows: number
  /** Another one whenever the rows of the tree are others. */
  readonly tag: string
}

export class BlockIndex {
  readonly #options: BlockIndexOptions
  readonly #trees: readonly IndexTree[]
  readonly #sizes: readonly BlockSize[]
  readonly #shape: string
  #known: { readonly bytes: Buffer; readonly state: IndexState | undefined } | undefined
  readonly #looks: IndexLooks

  constructor(options: BlockIndexOptions) {
    const { collator } = options
    this.#options = options
    this.#looks = new IndexLooks(options.store, options.cache, bytes => this.#stateIn(bytes))
    const own = options.trees.map((definition, i) => makeTree(collator, i, definition))
    this.#trees = [...own, makeBackReferenceTree(collator)]
    this.#sizes = this.#trees.map(() => new BlockSize(options.nodeBytes))
    this.#shape = JSON.stringify(
      options.trees.map(({ order, reducers, partitioned }) => [
        partitioned === true ? `${order} by partition` : order,
        reducers.map(({ name }) => name),
      ]),
    )
  }

  /** Undefined: nothing there that can be used. */
  state(): MaybePromise<IndexState | undefined> {
    return after(this.#options.store.get(STATE_KEY), bytes => this.#stateIn(bytes))
  }

  #stateIn(bytes: Buffer | undefined): IndexState | undefined {
    if (bytes === undefined) return undefined
    // Every question looks at it, and it is mostly the same.
    if (this.#known === undefined || !this.#known.bytes.equals(bytes)) {
      const state = decodeState(bytes)
      this.#known = { bytes, state: this.#isOurs(state) ? state : undefined }
    }
    return this.#known.state
  }

  #isOurs(state: IndexState): boolean {
    if (state.format > INDEX_FORMAT)
      throw new Failure('storage_newer', { subject: this.#options.store.id })
    return (
      state.format === INDEX_FORMAT &&
      state.collator === this.#options.collator.version &&
      state.shape === this.#shape
    )
  }

  /** How rows of a tree sort, for those who make bounds. */
  order(tree: number): RowOrder {
    return this.#tree(tree).order
  }

  /**
   * Goes on with a build, or starts one: an index that is absent or out of date is emptied for it, one that is ready
   * is built anew and answers as before until that is done.
   */
  async firstBuild(untilSeq: number): Promise<FirstBuild> {
    const { store, limits, scratch, nodeBytes, collator, startThreads } = this.#options
    const { sortBytesMax = SORT_BYTES_MAX } = this.#options
    const runStore = scratch === undefined ? store : await scratch.open()
    const marker = await runStore.get(RUNS_OF_KEY)
    const state = await this.#prepareBuild(untilSeq, marker && decodeRunsOf(marker))
    await clearRuns(runStore, state.incarnation, state.build)
    const drop = scratch === undefined ? undefined : () => scratch.drop()
    const local = new LocalTasks(collator)
    const stores = { store, runStore, drop, limits }
    const options = { ...stores, trees: this.#trees, sortBytesMax, nodeBytes, local, startThreads }
    return new FirstBuild(options, state)
  }

  async #prepareBuild(untilSeq: number, runsOf: string | undefined): Promise<BuildingIndex> {
    const fresh = this.#freshState(untilSeq)
    const isOurs = (state: IndexState) => this.#isOurs(state)
    return await this.#options.store.write(function* (tx) {
      const known = yield* readState(tx)
      const isKept = known !== undefined && isOurs(known)
      const state = isKept ? nextBuild(known, untilSeq, runsOf) : fresh
      if (!isKept) tx.deleteRange(ALL_ROOTS)
      tx.deleteRange({ start: nodeKey(state.build.firstNode), end: ALL_NODES.end })
      tx.put(STATE_KEY, encodeState(state))
      return state
    })
  }

  #freshState(untilSeq: number): BuildingIndex {
    const random = this.#options.random ?? randomBytes
    return {
      format: INDEX_FORMAT,
      collator: this.#options.collator.version,
      shape: this.#shape,
      incarnation: random(INCARNATION_LENGTH).toString('latin1'),
      phase: 'building',
      progress: { seq: 0, purgeSeq: 0 },
      version: 1,
      nextNode: 1,
      build: emptyBuild(untilSeq, 1),
    }
  }

  /**
   * Sets the rows of these documents and moves the progress on. A document that comes twice counts
   * as it came last.
   */
  async update(documents: readonly DocumentRows[], progress: IndexProgress): Promise<void> {
    const byId = new Map(documents.map(document => [document.id, document]))
    await this.#updateSlices([...byId.values()], progress)
  }

  /**
   * In as many transactions as their size asks for; only the last one moves the progress, so a
   * crash repeats.
   */
  async #updateSlices(
    documents: readonly DocumentRows[],
    progress: IndexProgress | undefined,
  ): Promise<void> {
    const isLong = documents.length > 1 && rowBytes(documents) > UPDATE_ROW_BYTES_MAX
    if (!isLong && (await this.#tryUpdate(documents, progress))) return
    const half = documents.length >>> 1
    await this.#updateSlices(documents.slice(0, half), undefined)
    await this.#updateSlices(documents.slice(half), progress)
  }

  /** False when the change is too large for one transaction and can be split. */
  async #tryUpdate(
    documents: readonly DocumentRows[],
    progress: IndexProgress | undefined,
  ): Promise<boolean> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const { state, plans } = await this.#plan(documents)
      let nextNode = state.nextNode
      const updates: { tree: number; update: FinishedUpdate }[] = []
      for (const { tree, plan } of plans) {
        const size = this.#sizes[tree] as BlockSize
        updates.push({
          tree,
          update: await finishUpdate(this.#tree(tree), plan, size, () => nextNode++),
        })
      }
      const bytes = updates.reduce((sum, { update }) => sum + nodeBytes(update), 0)
      if (bytes > this.#writeBytesMax && documents.length > 1) return false
      const next = {
        ...state,
        progress: progress ?? state.progress,
        version: state.version + 1,
        nextNode,
      }
      if (await this.#commit(state, next, updates)) return true
    }
    throw new Failure('engine_busy', { reason: 'The index is being changed by somebody else' })
  }

  get #writeBytesMax(): number {
    return Math.min(UPDATE_WRITE_BYTES_MAX, this.#options.limits.transactionBytesMax / 2)
  }

  async #plan(
    documents: readonly DocumentRows[],
  ): Promise<{ state: IndexState; plans: { tree: number; plan: UpdatePlan }[] }> {
    const { store, cache } = this.#options
    const trees = this.#trees
    const sizes = this.#sizes
    return await store.read(function* (tx) {
      const state = yield* readState(tx)
      assert(state?.phase === 'ready', 'an update of an index that is not ready')
      if (state.build !== undefined) throw new Failure('engine_busy', { reason: BUILT_ELSEWHERE })
      const edits = yield* planBatch(tx, trees, cache, documents)
      const plans: { tree: number; plan: UpdatePlan }[] = []
      for (const [i, tree] of trees.entries()) {
        if (edits[i]?.length === 0) continue
        const root = yield* readRoot(tx, tree)
        const nodes = new NodeReader(tx, tree, cache, state.incarnation)
        const plan = yield* planUpdate(nodes, root, edits[i] ?? [], sizes[i] as BlockSize)
        if (plan !== undefined) plans.push({ tree: i, plan })
      }
      return { state, plans }
    })
  }

  async #commit(
    before: IndexState,
    after: IndexState,
    updates: readonly { tree: number; update: FinishedUpdate }[],
  ): Promise<boolean> {
    const { store, limits } = this.#options
    const trees = this.#trees
    return await store.write(function* (tx) {
      const now = yield* readState(tx)
      if (now?.version !== before.version || now.incarnation !== before.incarnation) return false
      for (const { tree, update } of updates) {
        for (const { node, packed } of update.nodes) putNode(tx, node, packed, limits.valueBytesMax)
        for (const { node, length } of update.removed)
          deleteNode(tx, node, length, limits.valueBytesMax)
        const key = rootKey((trees[tree] as IndexTree).number)
        if (update.root === undefined) tx.delete(key)
        else tx.put(key, encodeRoot({ incarnation: after.incarnation, ...update.root }))
      }
      tx.put(STATE_KEY, encodeState(after))
      return true
    })
  }

  async info(tree: number): Promise<TreeInfo> {
    const shape = this.#tree(tree)
    const root = await this.#options.store.read(tx => readRoot(tx, shape))
    return { rows: root?.entry.rows ?? 0, tag: root?.tag ?? EMPTY_TAG }
  }

  /** Rows in order. The first batch is read at once, from the state of the store that `look`, total and offset tell. */
  openScan(tree: number, options: RowScanOptions): MaybePromise<RowScan> {
    const position = startOfScan(options)
    if (position === undefined) return this.#emptyScan(tree, options)
    const looked = this.#looks.look(this.#tree(tree), (nodes, root) =>
      readRowBatch(nodes, root, options, position),
    )
    return after(looked, ({ look, root, found }) => {
      if (root === undefined || found === undefined) return noScan(look, NO_ROWS)
      const next = pullBatches(found, from =>
        this.#looks.read(this.#tree(tree), (nodes, now) => readRowBatch(nodes, now, options, from)),
      )
      return {
        look,
        total: root.entry.rows,
        offset: offsetFrom(root, options, found.before),
        next,
        batches: pieces(next),
        whole: found.next === undefined ? found.slices : undefined,
      }
    })
  }

  /** Of no rows, whose place is told all the same. */
  #emptyScan(tree: number, options: RowScanOptions): MaybePromise<RowScan> {
    const looked = this.#looks.look(this.#tree(tree), (nodes, root) =>
      scanOffset(nodes, root, options),
    )
    return after(looked, ({ look, root, found }) =>
      noScan(look, { total: root?.entry.rows ?? 0, offset: found ?? 0 }),
    )
  }

  /** The reduction of all rows of a range; undefined when it has none. */
  async reduceRange(tree: number, reducer: number, range: PlaceRange): Promise<Buffer | undefined> {
    return (await this.openRange(tree, reducer, range)).reduction
  }

  async openRange(tree: number, reducer: number, range: PlaceRange): Promise<ReducedRange> {
    const { look, found } = await this.#looks.look(this.#tree(tree), (nodes, root) =>
      partsBetween(nodes, root, range.lower, range.upper),
    )
    const [reduction] = await reduceParts(this.#reducer(tree, reducer), reducer, [found ?? []])
    return { look, reduction }
  }

  /** The reductions of groups of rows, in batches. */
  async *reduceGroups(
    tree: number,
    reducer: number,
    options: GroupScanOptions,
  ): AsyncGenerator<readonly ReducedGroup[]> {
    yield* (await this.openGroups(tree, reducer, options)).batches
  }

  async openGroups(tree: number, reducer: number, options: GroupScanOptions): Promise<GroupScan> {
    const position = startOfScan(options)
    const { look, found } = await this.#looks.look(this.#tree(tree), function* (nodes, root) {
      return position === undefined
        ? undefined
        : yield* readGroupBatch(nodes, root, options, position)
    })
    const isShort = found?.next === undefined
    return { look, isShort, batches: this.#groups(tree, reducer, options, found) }
  }

  async *#groups(
    tree: number,
    reducer: number,
    options: GroupScanOptions,
    first: GroupBatch | undefined,
  ): AsyncGenerator<readonly ReducedGroup[]> {
    let batch = first
    while (batch !== undefined) {
      const { groups, next } = batch
      if (groups.length > 0) {
        const lists = groups.map(({ parts }) => parts)
        const reductions = await reduceParts(this.#reducer(tree, reducer), reducer, lists)
        yield groups.map(({ keyText }, i) => ({ keyText, reduction: reductions[i] as Buffer }))
      }
      if (next === undefined) return
      batch = await this.#looks.read(this.#tree(tree), (nodes, root) =>
        readGroupBatch(nodes, root, options, next),
      )
    }
  }

  #reducer(tree: number, reducer: number): Reducer {
    const found = this.#tree(tree).reducers[reducer]
    assert(found !== undefined, 'a reducer that the index does not have')
    return found
  }

  #tree(tree: number): IndexTree {
    const found = this.#trees[tree]
    assert(found !== undefined, 'a tree that the index does not have')
    return found
  }
}

function noScan(look: IndexLook, counts: { total: number; offset: number }): RowScan {
  const next: Pull<readonly RowSlice[]> = () => undefined
  return { look, ...counts, next, batches: pieces(next), whole: NO_SLICES }
}

function rowBytes(documents: readonly DocumentRows[]): number {
  let bytes = 0
  for (const { rows } of documents) {
    for (const row of rows.flat()) bytes += row.keyText.length + row.valueText.length
  }
  return bytes
}

const nodeBytes = (update: FinishedUpdate): number =>
  update.nodes.reduce((sum, { packed }) => sum + packed.length, 0)

const NO_ROWS = { total: 0, offset: 0 }
const NO_SLICES: readonly RowSlice[] = []
const SORT_BYTES_MAX = 64 * 1024 * 1024
const UPDATE_ROW_BYTES_MAX = 8 * 1024 * 1024
const UPDATE_WRITE_BYTES_MAX = 16 * 1024 * 1024
const ATTEMPTS_MAX = 5
const BUILT_ELSEWHERE = 'The index is being built anew by somebody else'
