/**
 * Random histories, cut into random lines and merged in two random orders, must give the same
 * revision tree, and that tree must say what a plain map of revisions says: parents, bodies,
 * leaves, winner, stemming and purging. GURNEY_SEED repeats a run.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergePath } from '../../src/core/document/merge-revisions.ts'
import { printRevision, type RevisionPath } from '../../src/core/document/revision.ts'
import {
  allNodes,
  emptyTree,
  findNode,
  historyOf,
  leaves,
  leavesBelow,
  type RevisionNode,
  type RevisionTree,
  sameTree,
  winner,
} from '../../src/core/document/revision-tree.ts'
import { decodeTree, encodeTree } from '../../src/core/document/revision-tree-codec.ts'
import { mapPayloads, purgeLeaves, stemTree } from '../../src/core/document/trim-revisions.ts'

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000_000)
console.log(`revision-tree fuzz: GURNEY_SEED=${seed}`)
const RUN_MS = 3000

let state = seed | 0
function random(end: number): number {
  state = (state + 0x6d2b79f5) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * end)
}

interface Truth {
  readonly pos: number
  readonly id: Buffer
  readonly parent: Truth | undefined
  readonly deleted: boolean
  readonly bodyKey: number
}

/** A history as it may have been; ids are unique, most of them 16 bytes long. */
function history(count: number): Truth[] {
  const nodes: Truth[] = []
  for (let index = 0; index < count; index++) {
    const parent = nodes.length === 0 || random(15) === 0 ? undefined : pickParent(nodes)
    const id = random(40) === 0 ? Buffer.from(`odd ${index}`) : Buffer.alloc(16)
    if (id.length === 16) {
      for (let at = 0; at < 8; at++) id[at] = random(256)
      id.writeUInt32BE(index, 12)
    }
    const deleted = random(4) === 0
    nodes.push({ pos: (parent?.pos ?? 0) + 1, id, parent, deleted, bodyKey: index + 1 })
  }
  return nodes
}

/** The newest more often than another, so that histories are long and branch sometimes. */
const pickParent = (nodes: Truth[]): Truth =>
  nodes[random(5) === 0 ? random(nodes.length) : nodes.length - 1] as Truth

interface Line {
  readonly nodes: readonly Truth[]
  readonly path: RevisionPath
}

function lineTo(newest: Truth): Line {
  const nodes: Truth[] = []
  const length = 1 + random(random(3) === 0 ? 3 : 12)
  for (let node: Truth | undefined = newest; node && nodes.length < length; node = node.parent) {
    nodes.push(node)
  }
  return { nodes, path: { start: newest.pos, ids: nodes.map(({ id }) => id) } }
}

function shuffled<T>(items: readonly T[]): T[] {
  const copy = [...items]
  for (let at = copy.length - 1; at > 0; at--) {
    const other = random(at + 1)
    const held = copy[at] as T
    copy[at] = copy[other] as T
    copy[other] = held
  }
  return copy
}

function mergeAll(lines: readonly Line[]): RevisionTree {
  let tree = emptyTree
  for (const { nodes, path } of lines) {
    const before = tree
    const known = findNode(before, nodes[0] as Truth)
    const merged = mergePath(before, path, nodes[0] as Truth)
    assert.equal(merged.outcome === 'internal_node', known !== undefined)
    assert.equal(merged.tookPayload, known === undefined || known.bodyKey === 0)
    if (!merged.changed) assert.ok(sameTree(before, merged.tree))
    tree = random(2) === 0 ? decodeTree(encodeTree(merged.tree)) : merged.tree
  }
  return tree
}

interface Known {
  readonly node: Truth
  parent: string | undefined
  hasBody: boolean
}

const nameOf = (node: { pos: number; id: Buffer }): string => printRevision(node)

/**
 * What must be known after these lines: revisions, the parents that some line showed, the bodies
 * that came.
 */
function modelOf(lines: readonly Line[]): Map<string, Known> {
  const model = new Map<string, Known>()
  for (const { nodes } of lines) {
    nodes.forEach((node, index) => {
      const known = model.get(nameOf(node)) ?? { node, parent: undefined, hasBody: false }
      const parent = nodes[index + 1]
      if (parent !== undefined) known.parent = nameOf(parent)
      if (index === 0) known.hasBody = true
      model.set(nameOf(node), known)
    })
  }
  return model
}

function leavesOf(model: Map<string, Known>): Set<string> {
  const names = new Set(model.keys())
  for (const { parent } of model.values()) if (parent !== undefined) names.delete(parent)
  return names
}

function historyIn(model: Map<string, Known>, name: string): string[] {
  const names: string[] = []
  for (let at: string | undefined = name; at !== undefined; at = model.get(at)?.parent)
    names.push(at)
  return names
}

function checkAgainst(tree: RevisionTree, model: Map<string, Known>): void {
  const nodes = allNodes(tree)
  assert.deepEqual(nodes.map(nameOf).sort(), [...model.keys()].sort())
  const modelLeaves = leavesOf(model)
  for (const node of nodes) {
    const known = model.get(nameOf(node)) as Known
    assert.equal(node.bodyKey, known.hasBody ? known.node.bodyKey : 0)
    assert.equal(node.deleted, known.hasBody && known.node.deleted)
    assert.equal(node.isLeaf, modelLeaves.has(nameOf(node)))
    const names = historyOf(tree, node).map((id, at) => nameOf({ pos: node.pos - at, id }))
    assert.deepEqual(names, historyIn(model, nameOf(node)))
  }
  const ranked = leaves(tree)
  assert.deepEqual(new Set(ranked.map(nameOf)), modelLeaves)
  for (let at = 1; at < ranked.length; at++) {
    const [a, b] = [ranked[at - 1] as RevisionNode, ranked[at] as RevisionNode]
    const inOrder =
      a.deleted !== b.deleted
        ? b.deleted
        : a.pos !== b.pos
          ? a.pos > b.pos
          : Buffer.compare(a.id, b.id) > 0
    assert.ok(inOrder, `${nameOf(a)} before ${nameOf(b)}`)
  }
  assert.deepEqual(winner(tree), ranked[0])
}

/** Without the revisions that `keep` refuses. */
function only(model: Map<string, Known>, keep: (name: string) => boolean): Map<string, Known> {
  const rest = new Map<string, Known>()
  for (const [name, known] of model) {
    if (!keep(name)) continue
    const hasParent = known.parent !== undefined && model.has(known.parent) && keep(known.parent)
    rest.set(name, { ...known, parent: hasParent ? known.parent : undefined })
  }
  return rest
}

function stemmed(model: Map<string, Known>, limit: number): Map<string, Known> {
  const kept = new Set<string>()
  for (const leaf of leavesOf(model)) {
    for (const name of historyIn(model, leaf).slice(0, limit)) kept.add(name)
  }
  return only(model, name => kept.has(name))
}

function purged(model: Map<string, Known>, gone: Set<string>): Map<string, Known> {
  const kept = new Set<string>()
  for (const leaf of leavesOf(model)) {
    if (!gone.has(leaf)) for (const name of historyIn(model, leaf)) kept.add(name)
  }
  return only(model, name => kept.has(name))
}

function round(): void {
  const truth = history(1 + random(60))
  const lines = Array.from({ length: 1 + random(40) }, () =>
    lineTo(truth[random(truth.length)] as Truth),
  )
  const tree = mergeAll(shuffled(lines))
  const model = modelOf(lines)
  checkAgainst(tree, model)
  assert.ok(sameTree(tree, mergeAll(shuffled(lines))), 'another order of arrival')
  assert.ok(sameTree(tree, decodeTree(encodeTree(tree))))
  const limit = 1 + random(8)
  checkAgainst(stemTree(tree, limit), stemmed(model, limit))
  const nodes = allNodes(tree)
  const some = nodes.filter(() => random(3) === 0)
  const below = leavesBelow(tree, nodes[0] as RevisionNode).map(nameOf)
  const leafNames = [...leavesOf(model)]
  const first = nameOf(nodes[0] as RevisionNode)
  assert.deepEqual(
    below.sort(),
    leafNames.filter(leaf => historyIn(model, leaf).includes(first)).sort(),
  )
  const { tree: rest, removed } = purgeLeaves(tree, some)
  const gone = new Set(some.map(nameOf).filter(name => leafNames.includes(name)))
  assert.deepEqual(new Set(removed.map(nameOf)), gone)
  checkAgainst(rest ?? emptyTree, purged(model, gone))
  assert.ok(
    sameTree(
      mapPayloads(tree, node => node),
      tree,
    ),
  )
}

test('random histories', () => {
  const until = Date.now() + RUN_MS
  let count = 0
  for (; Date.now() < until; count++) round()
  assert.ok(count > 0)
})
