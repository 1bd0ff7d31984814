/**
 * The work of a first build on one tree, as a generator that knows no store: it yields what it made (blocks, or stretches
 * of a sorted run) and what it wants next (a chunk of a run). A plan is plain data, so whether a task runs here or in
 * another thread is the matter of who runs it (`run-tasks.ts`).
 */
import type { Collator } from '../../../base/collate/collator.ts'
import { KeyWriter } from '../../../base/collate/key-writer.ts'
import { BlockSize, type NodeBytes } from '../block-size.ts'
import { BARE_FRAME, type RowFrame, WIRE_FRAME } from '../row-block.ts'
import { RowOrder, type TreeOrder } from '../row-order.ts'
import { BlockCutter, type CutBlock } from './block-cutter.ts'
import {
  BackReferenceFilter,
  type LatestDocuments,
  type RowFilter,
  StaleFilter,
} from './latest-rows.ts'
import { RowPieces } from './row-pieces.ts'
import { type Prefix, StretchWriter } from './row-stretches.ts'
import { RunMerge } from './sorted-runs.ts'
import { type RowCursor, SortedReferences, SortedRows, type TableImage } from './sorted-table.ts'

/** What a task must know of its tree. */
export interface TaskTree {
  /** Among the trees of the index; undefined for the one of the back references. */
  readonly position: number | undefined
  readonly order: TreeOrder
  readonly isPartitioned: boolean
  readonly hasReducers: boolean
}

export type TaskPlan =
  /** Blocks of rows that are all in memory. */
  | {
      readonly kind: 'cut'
      readonly tree: TaskTree
      readonly table: TableImage
      readonly nodeBytes: NodeBytes
    }
  /** Blocks of rows that lie in runs. */
  | {
      readonly kind: 'cut-runs'
      readonly tree: TaskTree
      readonly runs: readonly number[]
      readonly latest: LatestDocuments
      readonly nodeBytes: NodeBytes
    }
  /** Stretches of rows that are in memory. */
  | { readonly kind: 'sort'; readonly tree: TaskTree; readonly table: TableImage }
  /** Stretches of several runs as those of one. */
  | { readonly kind: 'merge'; readonly tree: TaskTree; readonly runs: readonly number[] }

export type TaskPiece =
  | { readonly kind: 'blocks'; readonly blocks: readonly CutBlock[] }
  /** In memory of its own, which can be handed over. */
  | { readonly kind: 'stretches'; readonly chunk: Buffer }

export type TaskStep =
  | TaskPiece
  /** Resumed with the next chunk of this run, undefined at its end. */
  | { readonly kind: 'wanted'; readonly run: number }

export type BuildTask = Generator<TaskStep, LatestDocuments, Buffer | undefined>

export function startTask(plan: TaskPlan, collator: Collator): BuildTask {
  switch (plan.kind) {
    case 'cut':
      return cutTable(plan, collator)
    case 'cut-runs':
      return cutRuns(plan, collator)
    case 'sort':
      return sortTable(plan, collator)
    case 'merge':
      return mergeRuns(plan)
  }
}

type PlanOf<Kind extends TaskPlan['kind']> = Extract<TaskPlan, { kind: Kind }>

function* cutTable({ tree, table, nodeBytes }: PlanOf<'cut'>, collator: Collator): BuildTask {
  const row = new RowPieces()
  const order = orderOf(tree, collator)
  const cutter = cutterOf(tree, order, nodeBytes)
  const isReference = tree.position === undefined
  for (const rows = cursorOf(tree, table, order, row); rows.next(); ) {
    if (isReference && row.valueLength === 0) continue
    cutter.add(row)
    if (cutter.isFull) yield { kind: 'blocks', blocks: cutter.take() }
  }
  cutter.end()
  yield { kind: 'blocks', blocks: cutter.take() }
  return NONE
}

function* cutRuns(plan: PlanOf<'cut-runs'>, collator: Collator): BuildTask {
  const { tree, runs, latest, nodeBytes } = plan
  const row = new RowPieces()
  const cutter = cutterOf(tree, orderOf(tree, collator), nodeBytes)
  const references = tree.position === undefined ? new BackReferenceFilter() : undefined
  const filter: RowFilter = references ?? new StaleFilter(latest, hasWireIds(tree))
  const merge = yield* wanting(RunMerge.open(runs, hasWireIds(tree)))
  let wasAdded = false
  while (!merge.isDone) {
    merge.fill(row)
    // It follows one that may have been dropped.
    row.hasSameKey &&= wasAdded
    const passed = filter.pass(row)
    wasAdded = passed === row
    if (passed !== undefined) cutter.add(passed)
    if (cutter.isFull) yield { kind: 'blocks', blocks: cutter.take() }
    if (!merge.advance()) yield* wanting(merge.load())
  }
  const last = filter.end()
  if (last !== undefined) cutter.add(last)
  cutter.end()
  yield { kind: 'blocks', blocks: cutter.take() }
  return references?.latest ?? NONE
}

function* sortTable({ tree, table }: PlanOf<'sort'>, collator: Collator): BuildTask {
  const row = new RowPieces()
  const order = orderOf(tree, collator)
  const stretches = new StretchWriter()
  const out = new KeyWriter()
  let prefix: Prefix = { bytes: out.bytes, start: 0, end: 0 }
  for (const rows = cursorOf(tree, table, order, row); rows.next(); ) {
    const continues = row.hasSameKey && !tree.isPartitioned
    if (!continues) {
      out.reset()
      order.appendPrefix(out, row.keyBytes, row.keyStart, row.keyEnd, row.idText)
      prefix = { bytes: out.bytes, start: 0, end: out.length }
    }
    stretches.add(prefix, row, continues)
    if (stretches.isFull) yield { kind: 'stretches', chunk: stretches.take() }
  }
  if (!stretches.isEmpty) yield { kind: 'stretches', chunk: stretches.take() }
  return NONE
}

function* mergeRuns({ tree, runs }: PlanOf<'merge'>): BuildTask {
  const row = new RowPieces()
  const stretches = new StretchWriter()
  const merge = yield* wanting(RunMerge.open(runs, hasWireIds(tree)))
  while (!merge.isDone) {
    merge.fill(row)
    stretches.add(merge.prefix, row, merge.continues)
    if (stretches.isFull) yield { kind: 'stretches', chunk: stretches.take() }
    if (!merge.advance()) yield* wanting(merge.load())
  }
  if (!stretches.isEmpty) yield { kind: 'stretches', chunk: stretches.take() }
  return NONE
}

/** Passes on what a reader of runs wants. */
function* wanting<T>(
  reading: Generator<number, T, Buffer | undefined>,
): Generator<TaskStep, T, Buffer | undefined> {
  for (let step = reading.next(); ; ) {
    if (step.done === true) return step.value
    step = reading.next(yield { kind: 'wanted', run: step.value })
  }
}

const orderOf = ({ order, isPartitioned }: TaskTree, collator: Collator): RowOrder =>
  new RowOrder(collator, order, isPartitioned)

const hasWireIds = ({ position }: TaskTree): boolean => position !== undefined

const frameOf = (tree: TaskTree): RowFrame => (hasWireIds(tree) ? WIRE_FRAME : BARE_FRAME)

const cutterOf = (tree: TaskTree, order: RowOrder, nodeBytes: NodeBytes): BlockCutter =>
  new BlockCutter({
    order,
    frame: frameOf(tree),
    size: new BlockSize(nodeBytes),
    keepsPayload: tree.hasReducers,
  })

const cursorOf = (
  { position }: TaskTree,
  table: TableImage,
  order: RowOrder,
  row: RowPieces,
): RowCursor =>
  position === undefined
    ? new SortedReferences(table, row)
    : new SortedRows(table, position, order, row)

const NONE: LatestDocuments = new Map()
