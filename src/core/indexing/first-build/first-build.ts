/**
 * The first build of an index: rows are collected and sorted in memory, spilled to sorted runs when
 * there are many, and at the end all trees are built in one go from rows in order.
 *
 * After every spill the state says how far the build has come, so a build that died goes on from
 * there. A document that comes more than once counts as it came last. Until `finish` has resolved
 * the index cannot be asked, or answers with what it had before: then the last step takes the new trees in and the old
 * ones out. The work on each tree is a task (`build-task.ts`), and those of a large build run on all cores.
 */

import { Failure } from '../../../base/errors.ts'
import type { EngineLimits, Range, Store } from '../../../engine/engine.ts'
import { BlockSize, type NodeBytes } from '../block-size.ts'
import {
  ALL_NODES,
  ALL_RUNS,
  nodeKey,
  RUNS_OF_KEY,
  rootKey,
  runChunkKey,
  runRange,
  STATE_KEY,
} from '../index-keys.ts'
import type { DocumentRows, IndexProgress } from '../index-rows.ts'
import {
  type BuildingIndex,
  type BuildState,
  encodeState,
  type IndexState,
  readState,
} from '../index-state.ts'
import { BACK_REFERENCE_TREE, encodeRoot, type IndexTree, type TreeRoot } from '../index-tree.ts'
import { type MappedRows, packRows } from '../mapped-rows.ts'
import type { TaskPlan, TaskTree } from './build-task.ts'
import type { LatestDocuments } from './latest-rows.ts'
import { NodeNumbers, NodeSink } from './node-sink.ts'
import { RowTable } from './row-table.ts'
import { runAll, type StartThreads, type TaskRunner } from './run-tasks.ts'
import { encodeRunsOf, RunChunks, RunWriter } from './sorted-runs.ts'
import type { TableImage } from './sorted-table.ts'
import { TreeBuilder } from './tree-builder.ts'

export interface FirstBuildOptions {
  readonly store: Store
  /** Where runs are kept; may be the same. */
  readonly runStore: Store
  /** Removes the store of the runs, when it is one of its own. */
  readonly drop: (() => Promise<void>) | undefined
  readonly limits: EngineLimits
  /** Those of the rows, then the one of the back references. */
  readonly trees: readonly IndexTree[]
  /** Memory for rows before they are spilled. */
  readonly sortBytesMax: number
  readonly nodeBytes: NodeBytes | undefined
  /** Does the work on trees in this very thread. */
  readonly local: TaskRunner
  /** Starts threads that do it, as many as this at the most; only large builds ask for them. */
  readonly startThreads: StartThreads | undefined
}

export class FirstBuild {
  readonly #options: FirstBuildOptions
  readonly #table: RowTable
  #threads: Promise<TaskRunner | undefined> | undefined
  #tasks: TaskRunner
  #state: BuildingIndex
  #progress: IndexProgress

  constructor(options: FirstBuildOptions, state: BuildingIndex) {
    this.#options = options
    this.#table = new RowTable(options.trees.length - 1, state.build.documents)
    this.#tasks = options.local
    this.#state = state
    this.#progress = state.build.progress
  }

  /** What is safely in, also after a crash; a build that goes on continues behind it. */
  get savedProgress(): IndexProgress {
    return this.#state.build.progress
  }

  get untilSeq(): number {
    return this.#state.build.untilSeq
  }

  async add(documents: readonly DocumentRows[], progress: IndexProgress): Promise<void> {
    await this.addMapped(packRows(documents, this.#options.trees.length - 1), [], progress)
  }

  /** @param rowless documents that have no rows, or none any more */
  async addMapped(
    mapped: MappedRows,
    rowless: readonly string[],
    progress: IndexProgress,
  ): Promise<void> {
    this.#table.add(mapped)
    for (const id of rowless) this.#table.addRowless(id)
    this.#progress = progress
    const { byteLength } = this.#table
    const { sortBytesMax, startThreads, trees } = this.#options
    if (byteLength * THREADS_SHARE >= sortBytesMax) this.#threads ??= startThreads?.(trees.length)
    if (byteLength >= sortBytesMax) await this.#spill()
  }

  /** Lets go of its threads; to be called whatever became of the build. */
  async close(): Promise<void> {
    await (await this.#threads)?.close()
    this.#threads = undefined
  }

  /** Builds the trees and makes the index ready. */
  async finish(): Promise<IndexState> {
    this.#tasks = (await this.#threads) ?? this.#options.local
    if (this.#state.build.runs.length > 0) await this.#spill()
    const { store, limits } = this.#options
    const sink = new NodeSink(store, limits.valueBytesMax, this.#state.nextNode)
    const roots: BuiltRoot[] = []
    if (this.#state.build.runs.length === 0) await this.#buildFromTable(sink, roots)
    else await this.#buildFromRuns(sink, roots)
    await sink.drain(0)
    const { incarnation } = this.#state
    const named = roots.map(({ tree, root }) => ({ tree, root: { incarnation, ...root } }))
    return await this.#makeReady(named, sink.nextNode)
  }

  async #makeReady(
    roots: readonly { tree: number; root: TreeRoot }[],
    nextNode: number,
  ): Promise<IndexState> {
    const ready: IndexState = {
      ...this.#state,
      phase: 'ready',
      progress: this.#progress,
      version: this.#state.version + 1,
      nextNode,
      build: undefined,
    }
    const { runStore, drop, trees } = this.#options
    const { firstNode } = this.#state.build
    await this.#write(ready, tx => {
      const built = new Map(roots.map(({ tree, root }) => [tree, root]))
      for (const { number } of trees) {
        const root = built.get(number)
        if (root !== undefined) tx.put(rootKey(number), encodeRoot(root))
        else if (firstNode > 1) tx.delete(rootKey(number))
      }
      if (firstNode > 1) tx.deleteRange({ start: ALL_NODES.start, end: nodeKey(firstNode) })
    })
    if (drop !== undefined) await drop()
    else await deleteRanges(runStore, [ALL_RUNS])
    return ready
  }

  /** The trees with the most rows first, so that no thread is left with a large one at the end. */
  async #buildFromTable(sink: NodeSink, roots: BuiltRoot[]): Promise<void> {
    const { trees, nodeBytes = {} } = this.#options
    const table = this.#table.image()
    const rowCount = table.trees.reduce((sum, { keyOf }) => sum + keyOf.length, 0)
    const rows = (tree: IndexTree): number => table.trees[tree.number]?.keyOf.length ?? rowCount
    const largestFirst = [...trees].sort((one, two) => rows(two) - rows(one))
    await this.#eachTree(largestFirst, async tree => {
      const plan: TaskPlan = { kind: 'cut', tree: taskTree(tree), table, nodeBytes }
      await this.#buildTree(tree, plan, sink, roots)
    })
  }

  /**
   * The back references tell which documents came more than once. That is rare (whoever builds reads up to a change and
   * no further), so all trees are built at once, and once more if it did happen.
   */
  async #buildFromRuns(sink: NodeSink, roots: BuiltRoot[]): Promise<void> {
    const again = await this.#cutRuns(sink, roots, new Map())
    if (again.size === 0) return
    await sink.drain(0)
    const all = { start: nodeKey(this.#state.nextNode), end: ALL_NODES.end }
    await deleteRanges(this.#options.store, [all])
    roots.length = 0
    await this.#cutRuns(sink, roots, again)
  }

  async #cutRuns(
    sink: NodeSink,
    roots: BuiltRoot[],
    latest: LatestDocuments,
  ): Promise<LatestDocuments> {
    const { trees, nodeBytes = {} } = this.#options
    const runs = this.#state.build.runs.map(({ run }) => run)
    let found: LatestDocuments = new Map()
    await this.#eachTree(trees, async tree => {
      const shape = taskTree(tree)
      const plan: TaskPlan = { kind: 'cut-runs', tree: shape, runs, latest, nodeBytes }
      const seen = await this.#buildTree(tree, plan, sink, roots)
      if (shape.position === undefined) found = seen
    })
    return found
  }

  async #buildTree(
    tree: IndexTree,
    plan: TaskPlan,
    sink: NodeSink,
    roots: BuiltRoot[],
  ): Promise<LatestDocuments> {
    const { branchBytes } = new BlockSize(this.#options.nodeBytes)
    const builder = new TreeBuilder(tree, new NodeNumbers(sink), branchBytes)
    const chunks = new RunChunks(this.#options.runStore, this.#options.trees.indexOf(tree))
    const latest = await this.#tasks.run(plan, {
      blocks: blocks => builder.add(blocks),
      chunk: run => chunks.next(run),
    })
    const root = await builder.finish()
    if (root !== undefined) roots.push({ tree: tree.number, root })
    return latest
  }

  #eachTree(trees: readonly IndexTree[], work: (tree: IndexTree) => Promise<void>): Promise<void> {
    return runAll(
      this.#tasks.width,
      trees.map(tree => () => work(tree)),
    )
  }

  /** Writes what is in memory as a run, and merges runs when there are many. */
  async #spill(): Promise<void> {
    this.#tasks = (await this.#threads) ?? this.#options.local
    const { build } = this.#state
    const table: TableImage = this.#table.image()
    await this.#writeRun(build.nextRun, tree => ({ kind: 'sort', tree: taskTree(tree), table }))
    this.#table.clear()
    const runs = [...build.runs, { run: build.nextRun, level: 0 }]
    await this.#saveRuns(runs, [])
    await this.#mergeFullLevels()
  }

  async #writeRun(run: number, planOf: (tree: IndexTree) => TaskPlan): Promise<void> {
    const { runStore, limits, trees } = this.#options
    const writer = new RunWriter(runStore, run, limits.valueBytesMax)
    await this.#eachTree(trees, async tree => {
      const number = trees.indexOf(tree)
      const chunks = new RunChunks(runStore, number)
      await this.#tasks.run(planOf(tree), {
        stretches: chunk => writer.add(number, chunk),
        chunk: from => chunks.next(from),
      })
    })
    await writer.finish()
  }

  /** Sixteen runs of a level become one of the next, so no merge ever reads from many at once. */
  async #mergeFullLevels(): Promise<void> {
    for (let level = 0; ; level++) {
      const { runs, nextRun } = this.#state.build
      const full = runs.filter(run => run.level === level)
      if (full.length < MERGED_RUNS) return
      const sources = full.map(({ run }) => run)
      await this.#writeRun(nextRun, tree => ({
        kind: 'merge',
        tree: taskTree(tree),
        runs: sources,
      }))
      const left = runs.filter(run => run.level !== level)
      await this.#saveRuns([...left, { run: nextRun, level: level + 1 }], sources)
    }
  }

  async #saveRuns(runs: BuildState['runs'], dropped: readonly number[]): Promise<void> {
    const build = {
      ...this.#state.build,
      progress: this.#progress,
      documents: this.#table.nextDocument,
      nextRun: this.#state.build.nextRun + 1,
      runs,
    }
    const state = { ...this.#state, version: this.#state.version + 1, build }
    await this.#write(state, () => {})
    this.#state = state
    if (dropped.length > 0) await deleteRanges(this.#options.runStore, dropped.map(runRange))
  }

  /** Writes the state, provided nobody else did since. */
  async #write(state: IndexState, more: (tx: BuildWriteTx) => void): Promise<void> {
    const { version, incarnation } = this.#state
    await this.#options.store.write(function* (tx) {
      const now = yield* readState(tx)
      if (now?.version !== version || now.incarnation !== incarnation) {
        throw new Failure('engine_busy', { reason: 'The index is being built by somebody else' })
      }
      more(tx)
      tx.put(STATE_KEY, encodeState(state))
    })
  }
}

interface BuiltRoot {
  /** Its number. */
  readonly tree: number
  readonly root: Omit<TreeRoot, 'incarnation'>
}

const taskTree = ({ number, order, reducers }: IndexTree): TaskTree => ({
  position: number === BACK_REFERENCE_TREE ? undefined : number,
  order: order.kind,
  isPartitioned: order.isPartitioned,
  hasReducers: reducers.length > 0,
})

/** Of a build that died only the runs named in its state are of use. */
export async function clearRuns(
  runStore: Store,
  incarnation: string,
  build: BuildState,
): Promise<void> {
  const named = new Set(build.runs.map(({ run }) => run))
  const unnamed = Array.from({ length: build.nextRun }, (_, run) => run).filter(
    run => !named.has(run),
  )
  const later = { start: runChunkKey(build.nextRun, 0, 0), end: ALL_RUNS.end }
  await runStore.write(function* (tx) {
    for (const range of [...unnamed.map(runRange), later]) tx.deleteRange(range)
    tx.put(RUNS_OF_KEY, encodeRunsOf(incarnation))
  })
}

async function deleteRanges(store: Store, ranges: readonly Range[]): Promise<void> {
  await store.write(function* (tx) {
    for (const range of ranges) tx.deleteRange(range)
  })
}

type BuildWriteTx = Parameters<Parameters<Store['write']>[0]>[0]

const MERGED_RUNS = 16
/** A build that fills such a part of its memory is worth the start of threads. */
const THREADS_SHARE = 16
