/**
 * PORT: what sums up the rows of an index. The tree keeps a reduction for every node, so that a
 * range costs a few reductions of reductions and never a walk over its rows.
 *
 * A reduction is bytes that only its reducer understands. Jobs come in batches, because a reducer
 * written in JavaScript lives in another process; one that is built in answers at once, without a
 * promise. A reducer that cannot reduce its input either says so inside the reduction or throws a
 * Failure, which fails the update.
 */
import type { RowSlice } from './row-block.ts'

export interface Reducer {
  /**
   * Part of the index's identity: an index is not opened with other reducers than it was built
   * with.
   */
  readonly name: string
  /** One reduction for each job, in the order of the jobs. */
  reduce(jobs: readonly ReduceJob[]): Buffer[] | Promise<Buffer[]>
}

/** Rows of one block, or reductions of neighbouring stretches of rows, in the order of the rows. */
export type ReduceJob = { readonly rows: RowSlice } | { readonly reductions: readonly Buffer[] }

/** A stretch of rows: some of a block, or all below a node with what is known of them. */
export type ReducePart =
  | { readonly rows: RowSlice }
  | { readonly count: number; readonly reduction: (reducer: number) => Buffer }

/** One reduction for each list of parts; an empty list has none. */
export async function reduceParts(
  reducer: Reducer,
  index: number,
  groups: readonly (readonly ReducePart[])[],
): Promise<(Buffer | undefined)[]> {
  const rowJobs: ReduceJob[] = []
  for (const part of groups.flat()) if ('rows' in part) rowJobs.push(part)
  const fromRows = rowJobs.length === 0 ? [] : await reducer.reduce(rowJobs)
  let next = 0
  const pieces = groups.map(parts =>
    parts.map(part => ('rows' in part ? (fromRows[next++] as Buffer) : part.reduction(index))),
  )
  const joinJobs = pieces.filter(piece => piece.length > 1).map(reductions => ({ reductions }))
  const joined = joinJobs.length === 0 ? [] : await reducer.reduce(joinJobs)
  let nextJoined = 0
  return pieces.map(piece => (piece.length > 1 ? joined[nextJoined++] : piece[0]))
}
