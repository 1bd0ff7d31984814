/**
 * Adds a line of descent to a revision tree. The tree's own knowledge stays: a revision that has a
 * body keeps it, one that has none takes the one that comes. Lines are matched from their oldest
 * common pos on, as CouchDB does; a line that bridges two trees joins them, so the order of arrival
 * does not matter.
 */
import { assert } from '../../base/assert.ts'
import { printRevision, type RevisionPath } from './revision.ts'
import { isMissing, type Payload } from './revision-payload.ts'
import {
  bottomOf,
  hasIdAt,
  idsOf,
  joinRuns,
  makeRun,
  payloadAt,
  type Run,
  sliceRun,
  withPayloadAt,
} from './revision-run.ts'
import {
  allNodes,
  findPlace,
  historyOf,
  isLeafRun,
  leafRuns,
  type RevisionTree,
  treeOf,
} from './revision-tree.ts'
import { mapPayloads } from './trim-revisions.ts'

export type MergeOutcome = 'new_leaf' | 'new_branch' | 'internal_node'

export interface Merged {
  readonly tree: RevisionTree
  /** `internal_node`: the newest was known. */
  readonly outcome: MergeOutcome
  /** Something is different from before. */
  readonly changed: boolean
  /** The newest revision took the payload: the body it names is in use. */
  readonly tookPayload: boolean
}

export function mergePath(tree: RevisionTree, path: RevisionPath, payload: Payload): Merged {
  assert(path.ids.length > 0, 'a path has at least one revision')
  if (tree.runs.length === 0) return addRoot(tree, path, payload, 'new_leaf')
  const matches = findMatches(tree, path)
  const first = matches[0]
  if (first === undefined) return addRoot(tree, path, payload, 'new_branch')
  // several matches at the oldest pos are several revisions of one name: the first will do
  const bridges = matches.length > 1 && matches.some(match => match.pos > bottomOfPath(path))
  return bridges ? bridge(tree, path, payload) : mergeAt(tree, path, payload, first)
}

/**
 * A revision that the path and the tree both have, at the oldest pos where they can be compared.
 */
interface Match {
  readonly run: number
  readonly pos: number
}

const bottomOfPath = (path: RevisionPath): number => path.start - path.ids.length + 1

const idOfPath = (path: RevisionPath, pos: number): Buffer => path.ids[path.start - pos] as Buffer

function findMatches(tree: RevisionTree, path: RevisionPath): Match[] {
  const matches: Match[] = []
  const bottom = bottomOfPath(path)
  tree.runs.forEach((run, index) => {
    const runBottom = bottomOf(run)
    // inside of a run only where the path begins, further up only at roots
    const pos = runBottom > bottom && run.parent < 0 ? runBottom : bottom
    if (pos < runBottom || pos > run.top || pos > path.start) return
    if (hasIdAt(run, run.top - pos, idOfPath(path, pos))) matches.push({ run: index, pos })
  })
  return matches
}

function addRoot(
  tree: RevisionTree,
  path: RevisionPath,
  payload: Payload,
  outcome: MergeOutcome,
): Merged {
  const root = makeRun(-1, path.start, path.ids, payload)
  return { tree: treeOf([...tree.runs, root]), outcome, changed: true, tookPayload: true }
}

/** Follows the path from the match to where it ends or leaves the tree. */
function mergeAt(tree: RevisionTree, path: RevisionPath, payload: Payload, match: Match): Merged {
  const runs = [...tree.runs]
  const older = path.ids.slice(path.start - match.pos + 1)
  // only the run of a root can be met above the path's beginning
  if (older.length > 0) runs[match.run] = withAncestors(runs[match.run] as Run, older)
  const end = follow(runs, path, match)
  const run = runs[end.run] as Run
  if (end.pos === path.start) return endInside(tree, runs, end, payload, older.length > 0)
  const newIds = path.ids.slice(0, path.start - end.pos)
  let outcome: MergeOutcome = 'new_branch'
  if (end.pos < run.top) splitRun(runs, end.run, run.top - end.pos)
  else if (isLeafRun({ runs }, end.run)) outcome = 'new_leaf'
  const added = makeRun(end.run, path.start, newIds, payload)
  if (outcome === 'new_leaf') runs[end.run] = joinRuns(added, run)
  else runs.push(added)
  return { tree: treeOf(runs), outcome, changed: true, tookPayload: true }
}

function follow(runs: readonly Run[], path: RevisionPath, match: Match): Match {
  let index = match.run
  let pos = match.pos
  while (pos < path.start) {
    const run = runs[index] as Run
    const next = idOfPath(path, pos + 1)
    if (pos < run.top) {
      if (!hasIdAt(run, run.top - pos - 1, next)) break
    } else {
      const child = runs.findIndex(
        ({ parent }, at) =>
          parent === index && hasIdAt(runs[at] as Run, (runs[at] as Run).count - 1, next),
      )
      if (child < 0) break
      index = child
    }
    pos++
  }
  return { run: index, pos }
}

/** The newest of the path is known already. */
function endInside(
  tree: RevisionTree,
  runs: Run[],
  end: Match,
  payload: Payload,
  grew: boolean,
): Merged {
  const run = runs[end.run] as Run
  const offset = run.top - end.pos
  const tookPayload = !isMissing(payload) && isMissing(payloadAt(run, offset))
  const outcome = 'internal_node'
  if (!tookPayload && !grew) return { tree, outcome, changed: false, tookPayload }
  if (tookPayload) runs[end.run] = withPayloadAt(run, offset, payload)
  return { tree: treeOf(runs), outcome, changed: true, tookPayload }
}

function withAncestors(run: Run, older: readonly Buffer[]): Run {
  return joinRuns(run, makeRun(-1, bottomOf(run) - 1, older, { deleted: false, bodyKey: 0 }))
}

/** The newer part becomes a run of its own, which takes over the children. */
function splitRun(runs: Run[], index: number, offset: number): void {
  const run = runs[index] as Run
  const newer = runs.length
  for (let at = 0; at < newer; at++) {
    const other = runs[at] as Run
    if (other.parent === index) runs[at] = { ...other, parent: newer }
  }
  runs[index] = sliceRun(run, offset, run.count)
  runs.push({ ...sliceRun(run, 0, offset), parent: index })
}

/**
 * The path runs over the roots of trees that had lost their beginning: they are taken out, the path
 * is added, and their lines are added to it again, with what was known about each revision.
 */
function bridge(tree: RevisionTree, path: RevisionPath, payload: Payload): Merged {
  const roots = findMatches(tree, path).filter(match => match.pos > bottomOfPath(path))
  const bridged = new Map(roots.map(match => [match.run, match.pos]))
  tree.runs.forEach((run, index) => {
    const pos = bridged.get(run.parent)
    if (pos !== undefined) bridged.set(index, pos)
  })
  const known = findPlace(tree, { pos: path.start, id: path.ids[0] as Buffer })
  const part = only(tree, index => bridged.has(index))
  let merged = mergePath(
    only(tree, index => !bridged.has(index)),
    path,
    payload,
  )
  for (const index of leafRuns(part)) {
    const run = part.runs[index] as Run
    const line = historyOf(part, { pos: run.top, id: idsOf(run)[0] as Buffer })
    const bottom = run.top - line.length + 1
    const ids = [...line, ...path.ids.slice(path.start - bottom + 1)]
    merged = mergePath(merged.tree, { start: run.top, ids }, payloadAt(run, 0))
  }
  const payloads = new Map(allNodes(part).map(node => [printRevision(node), node]))
  const joined = mapPayloads(merged.tree, node => {
    const before = payloads.get(printRevision(node))
    return before !== undefined && !isMissing(before) ? before : node
  })
  const before = payloads.get(printRevision({ pos: path.start, id: path.ids[0] as Buffer }))
  const tookPayload = !isMissing(payload) && (before === undefined || isMissing(before))
  const outcome = known === undefined ? outcomeOf(tree, path) : 'internal_node'
  return { tree: joined, outcome, changed: true, tookPayload }
}

/** Whether the last revision of the path that the tree knows is a leaf. */
function outcomeOf(tree: RevisionTree, path: RevisionPath): MergeOutcome {
  for (let index = 0; index < path.ids.length; index++) {
    const place = findPlace(tree, { pos: path.start - index, id: path.ids[index] as Buffer })
    if (place === undefined) continue
    return place.offset === 0 && isLeafRun(tree, place.run) ? 'new_leaf' : 'new_branch'
  }
  return 'new_branch'
}

/** The runs of some whole trees. */
function only(tree: RevisionTree, keep: (index: number) => boolean): RevisionTree {
  const placeOf = new Map<number, number>()
  tree.runs.forEach((_, index) => {
    if (keep(index)) placeOf.set(index, placeOf.size)
  })
  const runs = tree.runs
    .filter((_, index) => keep(index))
    .map(run => ({ ...run, parent: placeOf.get(run.parent) ?? -1 }))
  return { runs }
}
