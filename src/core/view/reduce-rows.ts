/**
 * Reduced rows of a view for a planned query, as texts for the wire: `{"key":…,"value":…}`, in
 * batches.
 */
import type { BlockIndex } from '../indexing/block-index.ts'
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

export async function* reduceView(view: ReducedView, plan: ViewPlan): AsyncGenerator<Buffer[]> {
  const { index, tree, reducerNumber, reducer } = view
  if (plan.group === 0) {
    if (plan.limit === 0 || plan.skip > 0) return
    const reduction = await index.reduceRange(tree, reducerNumber, plan.ranges[0] ?? {})
    if (reduction !== undefined) yield [rowText(NULL, reducer, reduction)]
    return
  }
  const groupOf = groupingBy(index.order(tree), plan.group)
  for await (const groups of index.reduceGroups(tree, reducerNumber, { ...plan, groupOf })) {
    yield groups.map(({ keyText, reduction }) => rowText(keyText, reducer, reduction))
  }
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
