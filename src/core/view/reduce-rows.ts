/**
 * Reduced rows of a view for a planned query, as texts for the wire: `{"key":…,"value":…}`, in
 * batches.
 */
import type { BlockIndex, ReducedGroup } from '../indexing/block-index.ts'
import type { IndexLook } from '../indexing/index-looks.ts'
import { groupingBy } from './group-key.ts'
import type { ViewPlan } from './view-query.ts'
import type { ViewReducer } from './view-reducer.ts'

export interface ReducedView {
  readonly index: BlockIndex
  readonly tree: number
  /** Its number among the reducers of the tree. */
  readonly reducerNumber: number
  readonly reducer: ViewReducer
}

export interface ReducedRows {
  readonly look: IndexLook
  readonly batches: AsyncIterable<Buffer[]>
  /** The same at once, when one batch is all. */
  readonly whole: Buffer[] | undefined
}

/** The first batch is made at once, so that what goes wrong with it is told before the answer begins. */
export async function reduceView(view: ReducedView, plan: ViewPlan): Promise<ReducedRows> {
  const { index, tree, reducerNumber, reducer } = view
  if (plan.group === 0) {
    const { look, reduction } = await index.openRange(tree, reducerNumber, plan.ranges[0] ?? {})
    const isGiven = reduction !== undefined && plan.limit > 0 && plan.skip === 0
    const whole = isGiven ? [rowText(NULL, reducer, reduction)] : []
    return { look, batches: only(whole), whole }
  }
  const groupOf = groupingBy(plan.order, plan.group)
  const opened = await index.openGroups(tree, reducerNumber, { ...plan, groupOf })
  const { look, isShort, batches } = opened
  const texts = groupTexts(batches, reducer)
  const first = await texts.next()
  if (first.done === true) return { look, batches: only([]), whole: [] }
  const whole = isShort ? first.value : undefined
  return { look, batches: continued(first.value, texts), whole }
}

async function* groupTexts(
  batches: AsyncIterable<readonly ReducedGroup[]>,
  reducer: ViewReducer,
): AsyncGenerator<Buffer[]> {
  for await (const groups of batches) {
    yield groups.map(({ keyText, reduction }) => rowText(keyText, reducer, reduction))
  }
}

async function* only(texts: Buffer[]): AsyncGenerator<Buffer[]> {
  if (texts.length > 0) yield texts
}

async function* continued(
  first: Buffer[],
  rest: AsyncGenerator<Buffer[]>,
): AsyncGenerator<Buffer[]> {
  yield first
  yield* rest
}

function rowText(keyText: Buffer, reducer: ViewReducer, reduction: Buffer): Buffer {
  const shown = reducer.present(reduction)
  if ('valueText' in shown)
    return Buffer.concat([BEFORE_KEY, keyText, BEFORE_VALUE, shown.valueText, END])
  const error = `,"error":${JSON.stringify(shown.error)},"reason":${JSON.stringify(shown.reason)}}`
  return Buffer.concat([BEFORE_KEY, keyText, Buffer.from(error)])
}

const NULL = Buffer.from('null')
const BEFORE_KEY = Buffer.from('{"key":')
const BEFORE_VALUE = Buffer.from(',"value":')
const END = Buffer.from('}')
