/**
 * The first build of an index: rows are collected and sorted in memory, spilled to sorted runs when
 * there are many, and at the end all trees are built in one go from rows in order.
 *
 * After every spill the state says how far the build has come, so a build that died goes on from
 * there. A document that comes more than once counts as it came last. Until `finish` has resolved
 * the index cannot be asked, or answers with what it had before: then the last step takes the new trees in and the old
 * ones out.
 */

import { KeyWriter } from '../../base/collate/key-writer.ts'
import { Failure } from '../../base/errors.ts'
import type { EngineLimits, Range, Store } from '../../engine/engine.ts'
import { BlockSize, type NodeBytes } from './block-size.ts'
import {
  ALL_NODES,
  ALL_RUNS,
  nodeKey,
  RUNS_OF_KEY,
  rootKey,
  runChunkKey,
  runRange,
  STATE_KEY,
} from './index-keys.ts'
import type { DocumentRows, IndexProgress } from './index-rows.ts'
import {
  type BuildingIndex,
  type BuildState,
  encodeState,
  type IndexState,
  readState,
} from './index-state.ts'
import { BACK_REFERENCE_TREE, encodeRoot, type IndexTree, type TreeRoot } from './index-tree.ts'
import { type MappedRows, packRows } from './mapped-rows.ts'
import { NodeSink } from './node-sink.ts'
import { idBytes } from './row-order.ts'
import { RowPieces } from './row-pieces.ts'
import { appendRecord, placeOfRecord, readRecord } from './row-records.ts'
import { type RowCursor, RowTable } from './row-table.ts'
import { mergeRuns, RunWriter } from './sorted-runs.ts'
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
}

export class FirstBuild {
  readonly #options: FirstBuildOptions
  readonly #table: RowTable
  readonly #row = new RowPieces()
  #state: BuildingIndex
  #progress: IndexProgress

  constructor(options: FirstBuildOptions, state: BuildingIndex) {
    this.#options = options
    this.#table = new RowTable(options.trees.slice(0, -1), state.build.documents)
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
    if (this.#table.byteLength >= this.#options.sortBytesMax) await this.#spill()
  }

  /** Builds the trees and makes the index ready. */
  async finish(): Promise<IndexState> {
    if (this.#state.build.runs.length > 0) await this.#spill()
    const { store, limits, trees } = this.#options
    const sink = new NodeSink(store, limits.valueBytesMax, this.#state.nextNode)
    const roots: { tree: number; root: TreeRoot }[] = []
    // The back references come first: they tell which documents came more than once.
    const last = trees.length - 1
    const latest = new Map<string, number>()
    for (const number of [last, ...trees.keys()].slice(0, trees.length)) {
      const root = await this.#buildTree(number, sink, latest)
      const { incarnation } = this.#state
      if (root !== undefined)
        roots.push({ tree: trees[number]?.number ?? 0, root: { incarnation, ...root } })
    }
    await sink.drain(0)
    return await this.#makeReady(roots, sink.nextNode)
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

  async #buildTree(
    number: number,
    sink: NodeSink,
    latest: Map<string, number>,
  ): Promise<Omit<TreeRoot, 'incarnation'> | undefined> {
    const { trees, nodeBytes, runStore } = this.#options
    const tree = trees[number] as IndexTree
    const builder = new TreeBuilder(tree, sink, new BlockSize(nodeBytes))
    const runs = this.#state.build.runs.map(({ run }) => run)
    if (runs.length === 0) {
      for (const rows = this.#rowsOf(number); rows.next(); ) {
        if (tree.number === BACK_REFERENCE_TREE && this.#row.valueLength === 0) continue
        builder.add(this.#row)
        if (builder.isFull) await builder.flush()
      }
      return await builder.finish()
    }
    const filter =
      tree.number === BACK_REFERENCE_TREE
        ? new BackReferenceFilter(latest)
        : new StaleFilter(tree, latest)
    for await (const records of mergeRuns(runStore, runs, number)) {
      for (const record of records) {
        if (!filter.pass(record, this.#row)) continue
        builder.add(this.#row)
        if (builder.isFull) await builder.flush()
      }
    }
    if (filter.end(this.#row)) builder.add(this.#row)
    return await builder.finish()
  }

  /** Goes over the rows in memory of a tree, in order, each in `#row`. */
  #rowsOf(number: number): RowCursor {
    const isReferences = number === this.#options.trees.length - 1
    return isReferences ? this.#table.references(this.#row) : this.#table.rowsOf(number, this.#row)
  }

  /** Writes what is in memory as a run, and merges runs when there are many. */
  async #spill(): Promise<void> {
    const { build } = this.#state
    const writer = this.#writer(build.nextRun)
    const place = new KeyWriter()
    const record = new KeyWriter()
    const row = this.#row
    for (const [number, { order, frame }] of this.#options.trees.entries()) {
      for (const rows = this.#rowsOf(number); rows.next(); ) {
        place.reset()
        place.append(order.placeOfTexts(row.keyText, row.idText, frame))
        record.reset()
        appendRecord(record, place, row)
        writer.add(number, record.bytes, record.length)
        if (writer.isFull) await writer.drain()
      }
    }
    await writer.finish()
    this.#table.clear()
    const runs = [...build.runs, { run: build.nextRun, level: 0 }]
    await this.#saveRuns(runs, [])
    await this.#mergeFullLevels()
  }

  /** Sixteen runs of a level become one of the next, so no merge ever reads from many at once. */
  async #mergeFullLevels(): Promise<void> {
    for (let level = 0; ; level++) {
      const { runs, nextRun } = this.#state.build
      const full = runs.filter(run => run.level === level)
      if (full.length < MERGED_RUNS) return
      const writer = this.#writer(nextRun)
      const { runStore, trees } = this.#options
      const sources = full.map(({ run }) => run)
      for (const tree of trees.keys()) {
        for await (const records of mergeRuns(runStore, sources, tree)) {
          for (const record of records) writer.add(tree, record)
          if (writer.isFull) await writer.drain()
        }
      }
      await writer.finish()
      const left = runs.filter(run => run.level !== level)
      await this.#saveRuns([...left, { run: nextRun, level: level + 1 }], sources)
    }
  }

  #writer(run: number): RunWriter {
    const { runStore, limits } = this.#options
    return new RunWriter(runStore, run, limits.valueBytesMax)
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
    tx.put(RUNS_OF_KEY, Buffer.from(incarnation, 'latin1'))
  })
}

async function deleteRanges(store: Store, ranges: readonly Range[]): Promise<void> {
  await store.write(function* (tx) {
    for (const range of ranges) tx.deleteRange(range)
  })
}

type BuildWriteTx = Parameters<Parameters<Store['write']>[0]>[0]

/**
 * Keeps of each document the latest back reference, and notes the documents that came more than
 * once.
 */
class BackReferenceFilter {
  readonly #latest: Map<string, number>
  #held: Buffer | undefined

  constructor(latest: Map<string, number>) {
    this.#latest = latest
  }

  /**
   * Records of one document follow each other, the latest last: so each is held until another
   * document comes. True when a row is to be added.
   */
  pass(record: Buffer, row: RowPieces): boolean {
    const held = this.#held
    this.#held = record
    if (held === undefined) return false
    const place = placeOfRecord(record)
    if (!placeOfRecord(held).equals(place)) return hasRows(held, row)
    readRecord(record, row)
    this.#latest.set(place.toString('latin1'), row.document)
    return false
  }

  end(row: RowPieces): boolean {
    return this.#held !== undefined && hasRows(this.#held, row)
  }
}

/**
 * A document without rows has a record here, which says that earlier ones are void, and none in the
 * tree.
 */
function hasRows(record: Buffer, row: RowPieces): boolean {
  readRecord(record, row)
  return row.valueLength > 0
}

/** Drops rows of documents that came again later. */
class StaleFilter {
  readonly #tree: IndexTree
  readonly #latest: ReadonlyMap<string, number>

  constructor(tree: IndexTree, latest: ReadonlyMap<string, number>) {
    this.#tree = tree
    this.#latest = latest
  }

  pass(record: Buffer, row: RowPieces): boolean {
    readRecord(record, row)
    if (this.#latest.size === 0) return true
    const isWire = this.#tree.frame.beforeId.length > 0
    const id = isWire ? idBytes(row.idText) : row.idText
    const latest = this.#latest.get(id.toString('latin1'))
    return latest === undefined || latest === row.document
  }

  end(): boolean {
    return false
  }
}

const MERGED_RUNS = 16
