/**
 * The work of a first build on one tree, as a generator that knows no store: it yields what it made (blocks, or records
 * of a sorted run) and what it wants next (a chunk of a run). A plan is plain data, so whether a task runs here or in
 * another thread is the matter of who runs it (`run-tasks.ts`).
 */
import type { Collator } from '../../base/collate/collator.ts'
import { KeyWriter } from '../../base/collate/key-writer.ts'
import { BlockCutter, type CutBlock } from './block-cutter.ts'
import { BlockSize, type NodeBytes } from './block-size.ts'
import {
  BackReferenceFilter,
  type LatestDocuments,
  type RecordFilter,
  StaleFilter,
} from './latest-rows.ts'
import { BARE_FRAME, type RowFrame, WIRE_FRAME } from './row-block.ts'
import { RowOrder, type TreeOrder } from './row-order.ts'
import { RowPieces } from './row-pieces.ts'
import { appendRecord } from './row-records.ts'
import { ChunkWriter, RunMerge } from './sorted-runs.ts'
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
  /** Records of rows that are in memory. */
  | { readonly kind: 'sort'; readonly tree: TaskTree; readonly table: TableImage }
  /** Records of several runs as those of one. */
  | { readonly kind: 'merge'; readonly runs: readonly number[] }

export type TaskStep =
  | { readonly kind: 'blocks'; readonly blocks: readonly CutBlock[] }
  | { readonly kind: 'records'; readonly chunk: Buffer }
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
  const filter: RecordFilter = references ?? new StaleFilter(latest, frameOf(tree) === WIRE_FRAME)
  const merge = yield* wanting(RunMerge.open(runs))
  for (let record = merge.record; record !== undefined; record = merge.record) {
    if (filter.pass(record, row)) cutter.add(row)
    if (cutter.isFull) yield { kind: 'blocks', blocks: cutter.take() }
    if (!merge.advance()) yield* wanting(merge.load())
  }
  if (filter.end(row)) cutter.add(row)
  cutter.end()
  yield { kind: 'blocks', blocks: cutter.take() }
  return references?.latest ?? NONE
}

function* sortTable({ tree, table }: PlanOf<'sort'>, collator: Collator): BuildTask {
  const row = new RowPieces()
  const order = orderOf(tree, collator)
  const frame = frameOf(tree)
  const chunks = new ChunkWriter()
  const place = new KeyWriter()
  const record = new KeyWriter()
  for (const rows = cursorOf(tree, table, order, row); rows.next(); ) {
    place.reset()
    place.append(order.placeOfTexts(row.keyText, row.idText, frame))
    record.reset()
    appendRecord(record, place, row)
    chunks.add(record.bytes, record.length)
    if (chunks.isFull) yield { kind: 'records', chunk: chunks.take() }
  }
  if (!chunks.isEmpty) yield { kind: 'records', chunk: chunks.take() }
  return NONE
}

function* mergeRuns({ runs }: PlanOf<'merge'>): BuildTask {
  const chunks = new ChunkWriter()
  const merge = yield* wanting(RunMerge.open(runs))
  for (let record = merge.record; record !== undefined; record = merge.record) {
    chunks.add(record)
    if (chunks.isFull) yield { kind: 'records', chunk: chunks.take() }
    if (!merge.advance()) yield* wanting(merge.load())
  }
  if (!chunks.isEmpty) yield { kind: 'records', chunk: chunks.take() }
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

const frameOf = ({ position }: TaskTree): RowFrame =>
  position === undefined ? BARE_FRAME : WIRE_FRAME

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
