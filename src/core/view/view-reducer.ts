/**
 * A reducer of a view: sums up rows for the tree (indexing/reducer.ts) and says what its reductions
 * look like on the wire. `presentable` results are either a JSON text or an error that stands in
 * the row instead of a value.
 */
import type { Reducer } from '../indexing/reducer.ts'

export interface ViewReducer extends Reducer {
  present(reduction: Buffer): ReducedValue
}

export type ReducedValue =
  | { readonly valueText: Buffer }
  | { readonly error: string; readonly reason: string }
