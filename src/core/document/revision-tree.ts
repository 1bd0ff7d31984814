/**
 * All revisions a document is known to have had, as a forest: several branches after conflicts,
 * several roots after old revisions were forgotten. Trees are values: every change gives a new one
 * and shares what stayed the same.
 *
 * Runs are in order of the pos and id of their oldest revision, parents first, and no run has a
 * single child, so the same revisions always make the same tree whatever the order they came in.
 * Reading is here and in `revision-tree-codec.ts`; changing is in `merge-revisions.ts` and
 * `trim-revisions.ts`.
 */
import { compareRevisions, type Revision } from './revision.ts'
import { decodePayloads, firstPayload, isMissing, type Payload } from './revision-payload.ts'
import { bottomOf, hasIdAt, idAt, idsOf, joinRuns, payloadAt, type Run } from './revision-run.ts'

export interface RevisionTree {
  readonly runs: readonly Run[]
}

/** A revision of a tree with what is known about it. */
export interface RevisionNode extends Revision, Payload {
  readonly isLeaf: boolean
}

/** Where a revision stands: offset 0 is the newest of its run. */
export interface Place {
  readonly run: number
  readonly offset: number
}

export const emptyTree: RevisionTree = Object.freeze({ runs: [] })

/** The revision that speaks for the document. Undefined only for the empty tree. */
export function winner(tree: RevisionTree): RevisionNode | undefined {
  if (tree.runs.length === 1) return leafOf(tree.runs[0] as Run)
  return leaves(tree)[0]
}

/**
 * Revisions without children: live ones first, then by pos and id, highest first. The winner leads.
 */
export function leaves(tree: RevisionTree): RevisionNode[] {
  return leafRuns(tree)
    .map(run => leafOf(tree.runs[run] as Run))
    .sort(byRank)
}

/** A document is deleted when all of its leaves are. */
export const isDeleted = (tree: RevisionTree): boolean => winner(tree)?.deleted ?? false

/** The other live leaves, in the order of `leaves`. */
export const conflicts = (tree: RevisionTree): RevisionNode[] =>
  tree.runs.length === 1
    ? []
    : leaves(tree)
        .slice(1)
        .filter(leaf => !leaf.deleted)

/** The other deleted leaves, in the order of `leaves`. */
export const deletedConflicts = (tree: RevisionTree): RevisionNode[] =>
  tree.runs.length === 1
    ? []
    : leaves(tree)
        .slice(1)
        .filter(leaf => leaf.deleted)

export function findNode(tree: RevisionTree, rev: Revision): RevisionNode | undefined {
  const place = findPlace(tree, rev)
  return place === undefined ? undefined : nodeAt(tree, place)
}

/**
 * The ids from this revision back to the oldest one remembered, newest first. Empty if it is
 * unknown.
 */
export function historyOf(tree: RevisionTree, rev: Revision): Buffer[] {
  return walkBack(tree, rev, (run, from) => {
    const ids: Buffer[] = []
    for (let offset = from; offset < run.count; offset++) ids.push(idAt(run, offset))
    return ids
  })
}

/** The same with all that is known about each. */
export function lineageOf(tree: RevisionTree, rev: Revision): RevisionNode[] {
  const lineage = walkBack(tree, rev, (run, from) => nodesOf(run).slice(from))
  const place = findPlace(tree, rev)
  if (place?.offset === 0 && leafRuns(tree).includes(place.run)) {
    lineage[0] = { ...(lineage[0] as RevisionNode), isLeaf: true }
  }
  return lineage
}

/** The leaves that descend from a revision, or itself if it is one; in the order of `leaves`. */
export function leavesBelow(tree: RevisionTree, rev: Revision): RevisionNode[] {
  const below = new Set<number>()
  tree.runs.forEach((run, index) => {
    if (below.has(run.parent) || holds(run, rev)) below.add(index)
  })
  return leafRuns(tree)
    .filter(run => below.has(run))
    .map(run => leafOf(tree.runs[run] as Run))
    .sort(byRank)
}

/** Those of `revs` that the tree does not have. One without a body counts as had. */
export const missingRevisions = (
  tree: RevisionTree | undefined,
  revs: readonly Revision[],
): Revision[] =>
  tree === undefined ? [...revs] : revs.filter(rev => findPlace(tree, rev) === undefined)

/** Leaves older than the newest of the missing ones: a sender may send the difference to them. */
export function possibleAncestors(
  tree: RevisionTree,
  missing: readonly Revision[],
): RevisionNode[] {
  const newest = missing.reduce((pos, rev) => Math.max(pos, rev.pos), 0)
  return leaves(tree).filter(leaf => leaf.pos < newest)
}

/** Every revision, in no order that matters. */
export function allNodes(tree: RevisionTree): RevisionNode[] {
  const isLeafRun = new Set(leafRuns(tree))
  return tree.runs.flatMap((run, index) =>
    nodesOf(run).map((node, offset) =>
      offset === 0 && isLeafRun.has(index) ? { ...node, isLeaf: true } : node,
    ),
  )
}

export const sameTree = (a: RevisionTree, b: RevisionTree): boolean =>
  a === b ||
  (a.runs.length === b.runs.length &&
    a.runs.every((run, index) => sameRun(run, b.runs[index] as Run)))

export function findPlace(tree: RevisionTree, rev: Revision): Place | undefined {
  const run = tree.runs.findIndex(candidate => holds(candidate, rev))
  return run < 0 ? undefined : { run, offset: (tree.runs[run] as Run).top - rev.pos }
}

export function nodeAt(tree: RevisionTree, place: Place): RevisionNode {
  const run = tree.runs[place.run] as Run
  const { deleted, bodyKey } = payloadAt(run, place.offset)
  return {
    pos: run.top - place.offset,
    id: idAt(run, place.offset),
    deleted,
    bodyKey,
    isLeaf: place.offset === 0 && isLeafRun(tree, place.run),
  }
}

/**
 * Brings runs into the order and shape that trees promise; parents are indexes into the given list.
 */
export function treeOf(runs: readonly Run[]): RevisionTree {
  const order = runs.map((_, index) => index)
  if (runs.length > 1) {
    order.sort((a, b) => compareOldest(runs[a] as Run, runs[b] as Run) || a - b)
  }
  const children = new Array<number>(runs.length).fill(0)
  for (const { parent } of runs)
    if (parent >= 0) children[parent] = (children[parent] as number) + 1
  const settled: Run[] = []
  const placeOf = new Array<number>(runs.length).fill(-1)
  for (const index of order) {
    const run = runs[index] as Run
    const parent = run.parent < 0 ? -1 : (placeOf[run.parent] as number)
    if (parent >= 0 && children[run.parent] === 1) {
      settled[parent] = joinRuns(run, settled[parent] as Run)
      placeOf[index] = parent
    } else {
      placeOf[index] = settled.length
      settled.push(parent === run.parent ? run : { ...run, parent })
    }
  }
  return { runs: settled }
}

/** Indexes of the runs that nothing follows. */
export function leafRuns(tree: RevisionTree): number[] {
  if (tree.runs.length === 1) return [0]
  const parents = new Set(tree.runs.map(run => run.parent))
  return tree.runs.map((_, index) => index).filter(index => !parents.has(index))
}

export const isLeafRun = (tree: RevisionTree, index: number): boolean =>
  tree.runs.length === 1 || !tree.runs.some(run => run.parent === index)

/** Bodies that the tree names. */
export const bodyKeysOf = (tree: RevisionTree): number[] =>
  tree.runs.flatMap(run =>
    decodePayloads(run.payloads)
      .filter(payload => !isMissing(payload))
      .map(payload => payload.bodyKey),
  )

function walkBack<T>(
  tree: RevisionTree,
  rev: Revision,
  take: (run: Run, from: number) => T[],
): T[] {
  const found: T[] = []
  let place = findPlace(tree, rev)
  while (place !== undefined) {
    const run: Run = tree.runs[place.run] as Run
    for (const item of take(run, place.offset)) found.push(item)
    place = run.parent < 0 ? undefined : { run: run.parent, offset: 0 }
  }
  return found
}

function leafOf(run: Run): RevisionNode {
  const { deleted, bodyKey } = firstPayload(run.payloads)
  return { pos: run.top, id: idAt(run, 0), deleted, bodyKey, isLeaf: true }
}

const nodesOf = (run: Run): RevisionNode[] =>
  decodePayloads(run.payloads).map(({ deleted, bodyKey }, offset) => ({
    pos: run.top - offset,
    id: idAt(run, offset),
    deleted,
    bodyKey,
    isLeaf: false,
  }))

const holds = (run: Run, rev: Revision): boolean =>
  rev.pos <= run.top && rev.pos > run.top - run.count && hasIdAt(run, run.top - rev.pos, rev.id)

const byRank = (a: RevisionNode, b: RevisionNode): number =>
  Number(a.deleted) - Number(b.deleted) || compareRevisions(b, a)

const compareOldest = (a: Run, b: Run): number =>
  bottomOf(a) - bottomOf(b) ||
  Buffer.compare(idAt(a, a.count - 1), idAt(b, b.count - 1)) ||
  Buffer.compare(idAt(a, 0), idAt(b, 0))

const sameRun = (a: Run, b: Run): boolean =>
  a.parent === b.parent &&
  a.top === b.top &&
  a.count === b.count &&
  (Buffer.isBuffer(a.ids) && Buffer.isBuffer(b.ids)
    ? a.ids.equals(b.ids)
    : idsOf(a).every((id, offset) => hasIdAt(b, offset, id))) &&
  samePayloads(a.payloads, b.payloads)

/** The same payloads may be told in different tokens. */
const samePayloads = (a: Buffer, b: Buffer): boolean => {
  if (a.equals(b)) return true
  const others = decodePayloads(b)
  return decodePayloads(a).every(
    ({ deleted, bodyKey }, index) =>
      deleted === others[index]?.deleted && bodyKey === others[index]?.bodyKey,
  )
}
