/**
 * Reductions of several nodes by all reducers of their tree: one call to each reducer for all
 * nodes.
 */
import type { IndexTree } from './index-tree.ts'
import type { ReduceJob } from './reducer.ts'

/**
 * For each job (a node) the reductions of all reducers. `jobsOf` makes the jobs of a reducer, by
 * its number.
 */
export async function reduceNodes(
  tree: IndexTree,
  jobsOf: (reducer: number) => readonly ReduceJob[],
): Promise<Buffer[][]> {
  const byReducer: Buffer[][] = []
  for (let i = 0; i < tree.reducers.length; i++) {
    const reduced = tree.reducers[i]?.reduce(jobsOf(i)) ?? []
    byReducer.push(reduced instanceof Promise ? await reduced : reduced)
  }
  const count = byReducer[0]?.length ?? 0
  return Array.from({ length: count }, (_, node) => byReducer.map(column => column[node] as Buffer))
}
