/**
 * Takes things out of a revision tree: old ancestors beyond the limit, purged leaves, bodies that
 * compaction drops.
 */
import { type Revision, sameRevision } from './revision.ts'
import { encodePayloads, type Payload } from './revision-payload.ts'
import { type Run, sliceRun } from './revision-run.ts'
import {
  allNodes,
  leafRuns,
  type RevisionNode,
  type RevisionTree,
  treeOf,
} from './revision-tree.ts'

/**
 * Each branch keeps at most `limit` revisions, counted from its leaf. Gives the same tree if
 * nothing goes.
 */
export function stemTree(tree: RevisionTree, limit: number): RevisionTree {
  const { runs } = tree
  if (runs.length === 1) {
    const run = runs[0] as Run
    return run.count <= limit ? tree : { runs: [sliceRun(run, 0, limit)] }
  }
  const distances = leafDistances(runs)
  const keeps = runs.map((run, index) => Math.min(run.count, limit - (distances[index] as number)))
  if (keeps.every((keep, index) => keep === (runs[index] as Run).count)) return tree
  return rebuild(runs, index => Math.max(0, keeps[index] as number))
}

/**
 * Removes leaves, and the ancestors that then lead to no leaf. Revisions that are no leaves stay.
 * `tree` is undefined when nothing is left.
 */
export function purgeLeaves(
  tree: RevisionTree,
  revs: readonly Revision[],
): { tree: RevisionTree | undefined; removed: Revision[] } {
  const { runs } = tree
  const removed: Revision[] = []
  const gone = new Set<number>()
  const leafNodes = new Map(leafRuns(tree).map(index => [index, topOf(tree, index)]))
  for (const rev of revs) {
    const found = [...leafNodes].filter(([, leaf]) => sameRevision(leaf, rev))
    if (found.length > 0 && !found.some(([index]) => gone.has(index))) removed.push(rev)
    for (const [index] of found) gone.add(index)
  }
  if (removed.length === 0) return { tree, removed }
  const living = new Set<number>()
  for (let index = runs.length - 1; index >= 0; index--) {
    const isAlive = living.has(index) || (leafNodes.has(index) && !gone.has(index))
    if (!isAlive) continue
    living.add(index)
    living.add((runs[index] as Run).parent)
  }
  const rest = rebuild(runs, index => (living.has(index) ? (runs[index] as Run).count : 0))
  return { tree: rest.runs.length === 0 ? undefined : rest, removed }
}

/** Asks for a new payload of every revision. */
export function mapPayloads(
  tree: RevisionTree,
  change: (node: RevisionNode) => Payload,
): RevisionTree {
  const payloads = allNodes(tree).map(change)
  let at = 0
  const runs = tree.runs.map(run => {
    const own = payloads.slice(at, at + run.count)
    at += run.count
    return { ...run, payloads: encodePayloads(own) }
  })
  return { runs }
}

/** Per run, how many revisions lie between its newest and the nearest leaf below. */
function leafDistances(runs: readonly Run[]): number[] {
  const distances = new Array<number>(runs.length).fill(Number.POSITIVE_INFINITY)
  for (let index = runs.length - 1; index >= 0; index--) {
    const run = runs[index] as Run
    // children come later in the list, so all of them were here; none: a leaf
    if (distances[index] === Number.POSITIVE_INFINITY) distances[index] = 0
    if (run.parent < 0) continue
    const through = (distances[index] as number) + run.count
    distances[run.parent] = Math.min(distances[run.parent] as number, through)
  }
  return distances
}

/**
 * A tree of the newest `keep(index)` revisions of each run. A run that lost its oldest is a root.
 */
function rebuild(runs: readonly Run[], keep: (index: number) => number): RevisionTree {
  const placeOf = new Map<number, number>()
  const kept: Run[] = []
  runs.forEach((run, index) => {
    const count = keep(index)
    if (count === 0) return
    placeOf.set(index, kept.length)
    const parent = count < run.count ? -1 : (placeOf.get(run.parent) ?? -1)
    kept.push({ ...(count < run.count ? sliceRun(run, 0, count) : run), parent })
  })
  return treeOf(kept)
}

const topOf = (tree: RevisionTree, index: number): Revision => {
  const run = tree.runs[index] as Run
  const id = Buffer.isBuffer(run.ids) ? run.ids.subarray(0, 16) : (run.ids[0] as Buffer)
  return { pos: run.top, id }
}
