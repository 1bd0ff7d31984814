/**
 * From the views of a design document to the trees of its index: views with the same map function
 * and order share their rows, and each different reduce function of them is one reducer of that
 * tree.
 */
import type { Collation } from '../../base/collate/collator.ts'
import type { TreeDefinition } from '../indexing/index-tree.ts'
import type { ViewReducer } from './view-reducer.ts'

export interface ViewDefinition {
  readonly name: string
  /** What makes its rows others than another view's: the map function and its options. */
  readonly map: string
  readonly collation: Collation
  readonly reducer?: ViewReducer | undefined
}

export interface ViewPlace {
  readonly tree: number
  readonly reducer?: { readonly number: number; readonly reducer: ViewReducer }
}

export interface ViewTrees {
  readonly trees: readonly TreeDefinition[]
  /** For each tree the map function that makes its rows. */
  readonly maps: readonly string[]
  readonly views: ReadonlyMap<string, ViewPlace>
}

/** @param partitioned rows are asked partition by partition */
export function viewTrees(definitions: readonly ViewDefinition[], partitioned = false): ViewTrees {
  const trees: { map: string; order: Collation; reducers: ViewReducer[] }[] = []
  const views = new Map<string, ViewPlace>()
  for (const { name, map, collation, reducer } of definitions) {
    let tree = trees.findIndex(known => known.map === map && known.order === collation)
    if (tree < 0) tree = trees.push({ map, order: collation, reducers: [] }) - 1
    if (reducer === undefined) {
      views.set(name, { tree })
      continue
    }
    const { reducers } = trees[tree] as { reducers: ViewReducer[] }
    let number = reducers.findIndex(known => known.name === reducer.name)
    if (number < 0) number = reducers.push(reducer) - 1
    views.set(name, { tree, reducer: { number, reducer } })
  }
  const maps = trees.map(({ map }) => map)
  return { trees: trees.map(tree => ({ ...tree, partitioned })), maps, views }
}
