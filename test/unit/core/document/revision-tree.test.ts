import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import { decideEdit } from '../../../../src/core/document/apply-edit.ts'
import { mergePath } from '../../../../src/core/document/merge-revisions.ts'
import {
  parseRevision,
  printRevision,
  type Revision,
} from '../../../../src/core/document/revision.ts'
import {
  bodyKeysOf,
  conflicts,
  deletedConflicts,
  emptyTree,
  findNode,
  historyOf,
  isDeleted,
  leaves,
  leavesBelow,
  lineageOf,
  missingRevisions,
  possibleAncestors,
  type RevisionTree,
  sameTree,
  winner,
} from '../../../../src/core/document/revision-tree.ts'
import { decodeTree, encodeTree } from '../../../../src/core/document/revision-tree-codec.ts'
import { mapPayloads, purgeLeaves, stemTree } from '../../../../src/core/document/trim-revisions.ts'

const rev = (text: string): Revision => parseRevision(text)
const print = (revs: readonly Revision[]): string[] => revs.map(printRevision)

/** `3-c,b,a`: pos of the newest, ids newest first. `!` in front: a deletion. */
function path(text: string) {
  const deleted = text.startsWith('!')
  const [start, ids] = text.replace('!', '').split('-') as [string, string]
  return { deleted, start: Number(start), ids: ids.split(',').map(id => Buffer.from(id)) }
}

function treeWith(...lines: string[]): RevisionTree {
  return lines.reduce((tree, line, index) => {
    const { deleted, ...line1 } = path(line)
    return mergePath(tree, line1, { deleted, bodyKey: index + 1 }).tree
  }, emptyTree)
}

const merge = (tree: RevisionTree, line: string, bodyKey = 99) => {
  const { deleted, ...revisions } = path(line)
  return mergePath(tree, revisions, { deleted, bodyKey })
}

test('outcomes of a merge', () => {
  const tree = treeWith('3-c,b,a')
  assert.equal(merge(emptyTree, '1-a').outcome, 'new_leaf')
  assert.equal(merge(tree, '4-d,c').outcome, 'new_leaf')
  assert.equal(merge(tree, '5-e,d,c,b,a').outcome, 'new_leaf')
  assert.equal(merge(tree, '3-x,b,a').outcome, 'new_branch')
  assert.equal(merge(tree, '3-x,b').outcome, 'new_branch')
  assert.equal(merge(tree, '2-x').outcome, 'new_branch')
  assert.equal(merge(tree, '3-c').outcome, 'internal_node')
  assert.equal(merge(tree, '2-b,a').outcome, 'internal_node')
  assert.equal(merge(tree, '3-c').changed, false)
})

test('a known revision keeps its body, one without gains it', () => {
  const tree = treeWith('3-c,b,a')
  assert.equal(findNode(tree, rev('3-c'))?.bodyKey, 1)
  assert.equal(findNode(tree, rev('2-b'))?.bodyKey, 0)
  const again = merge(tree, '3-c,b,a')
  assert.deepEqual([again.changed, again.tookPayload], [false, false])
  const filled = merge(tree, '2-b,a', 7)
  assert.deepEqual([filled.changed, filled.tookPayload], [true, true])
  assert.equal(findNode(filled.tree, rev('2-b'))?.bodyKey, 7)
  assert.deepEqual(bodyKeysOf(filled.tree), [1, 7])
})

test('winner, conflicts and deleted conflicts', () => {
  const tree = treeWith('3-d,b,a', '3-c,b,a', '!4-e,x,b,a', '2-z,a')
  assert.deepEqual(print(leaves(tree)), ['3-d', '3-c', '2-z', '4-e'])
  assert.equal(printRevision(winner(tree) ?? assert.fail()), '3-d')
  assert.deepEqual(print(conflicts(tree)), ['3-c', '2-z'])
  assert.deepEqual(print(deletedConflicts(tree)), ['4-e'])
  assert.equal(isDeleted(tree), false)
  assert.equal(isDeleted(treeWith('!2-x,a', '!2-y,a')), true)
})

test('ids are compared by their bytes, not their text', () => {
  const tree = treeWith('1-b')
  const hex = mergePath(
    tree,
    { start: 1, ids: [Buffer.alloc(16, 0xaa)] },
    { deleted: false, bodyKey: 2 },
  )
  assert.equal(printRevision(winner(hex.tree) ?? assert.fail()), `1-${'aa'.repeat(16)}`)
})

test('history and leaves below', () => {
  const tree = treeWith('4-d,c,b,a', '4-x,c', '3-y,b')
  assert.deepEqual(historyOf(tree, rev('4-x')).map(String), ['x', 'c', 'b', 'a'])
  assert.deepEqual(historyOf(tree, rev('2-b')).map(String), ['b', 'a'])
  assert.deepEqual(historyOf(tree, rev('2-q')), [])
  assert.deepEqual(print(leavesBelow(tree, rev('3-c'))), ['4-x', '4-d'])
  assert.deepEqual(print(leavesBelow(tree, rev('1-a'))), ['4-x', '4-d', '3-y'])
  assert.deepEqual(print(leavesBelow(tree, rev('3-y'))), ['3-y'])
  assert.deepEqual(
    lineageOf(tree, rev('4-x')).map(({ bodyKey, isLeaf }) => [bodyKey, isLeaf]),
    [
      [2, true],
      [0, false],
      [0, false],
      [0, false],
    ],
  )
})

test('missing revisions and possible ancestors', () => {
  const tree = treeWith('3-c,b,a', '2-z,a')
  const asked = ['3-c', '2-b', '4-q', '2-q'].map(rev)
  assert.deepEqual(print(missingRevisions(tree, asked)), ['4-q', '2-q'])
  assert.deepEqual(print(missingRevisions(undefined, asked)), print(asked))
  assert.deepEqual(print(possibleAncestors(tree, [rev('4-q')])), ['3-c', '2-z'])
  assert.deepEqual(print(possibleAncestors(tree, [rev('3-q')])), ['2-z'])
  assert.deepEqual(possibleAncestors(tree, [rev('2-q')]), [])
})

test('stemming counts from each leaf', () => {
  const tree = treeWith('5-e,d,c,b,a', '3-x,b')
  const stemmed = stemTree(tree, 2)
  assert.deepEqual(historyOf(stemmed, rev('5-e')).map(String), ['e', 'd'])
  assert.deepEqual(historyOf(stemmed, rev('3-x')).map(String), ['x', 'b'])
  // what another branch still needs is not taken from this one
  assert.deepEqual(historyOf(stemTree(tree, 3), rev('5-e')).map(String), ['e', 'd', 'c', 'b', 'a'])
  assert.equal(stemTree(tree, 5), tree)
  const single = stemTree(treeWith('5-e,d,c,b,a'), 2)
  assert.deepEqual(historyOf(single, rev('5-e')).map(String), ['e', 'd'])
  assert.equal(winner(single)?.bodyKey, 1)
})

test('a line that bridges two stemmed trees joins them', () => {
  const tree = treeWith('2-b,a', '6-f,e', '6-g,e')
  assert.equal(leaves(tree).length, 3)
  const { tree: joined, outcome } = merge(tree, '5-e,d,c,b,a')
  assert.equal(outcome, 'internal_node')
  assert.deepEqual(print(leaves(joined)), ['6-g', '6-f'])
  assert.deepEqual(historyOf(joined, rev('6-f')).map(String), ['f', 'e', 'd', 'c', 'b', 'a'])
  assert.equal(findNode(joined, rev('6-g'))?.bodyKey, 3)
  assert.equal(findNode(joined, rev('2-b'))?.bodyKey, 1)
  assert.equal(findNode(joined, rev('5-e'))?.bodyKey, 99)
})

test('older ancestors of a root are put before it', () => {
  const tree = treeWith('5-e,d')
  const { tree: grown, outcome, changed, tookPayload } = merge(tree, '5-e,d,c,b')
  assert.deepEqual([outcome, changed, tookPayload], ['internal_node', true, false])
  assert.deepEqual(historyOf(grown, rev('5-e')).map(String), ['e', 'd', 'c', 'b'])
})

test('a line older than the tree stands for itself', () => {
  const { tree, outcome } = merge(treeWith('5-e'), '3-c,b')
  assert.equal(outcome, 'new_branch')
  assert.deepEqual(print(leaves(tree)), ['5-e', '3-c'])
})

test('purging takes leaves and what only led to them', () => {
  const tree = treeWith('4-d,c,b,a', '4-x,c', '3-y,b')
  const one = purgeLeaves(tree, [rev('4-d'), rev('2-b'), rev('9-q')])
  assert.deepEqual(print(one.removed), ['4-d'])
  assert.deepEqual(print(leaves(one.tree ?? assert.fail())), ['4-x', '3-y'])
  assert.ok(
    sameTree(one.tree ?? assert.fail(), purgeLeaves(tree, [rev('4-d')]).tree ?? assert.fail()),
  )
  const two = purgeLeaves(tree, [rev('4-d'), rev('4-x')])
  assert.deepEqual(print(leaves(two.tree ?? assert.fail())), ['3-y'])
  assert.equal(findNode(two.tree ?? assert.fail(), rev('3-c')), undefined)
  assert.deepEqual(historyOf(two.tree ?? assert.fail(), rev('3-y')).map(String), ['y', 'b', 'a'])
  assert.equal(purgeLeaves(treeWith('2-b,a'), [rev('2-b')]).tree, undefined)
  assert.deepEqual(purgeLeaves(tree, [rev('3-c')]), { tree, removed: [] })
})

test('payloads can be changed', () => {
  const tree = merge(treeWith('2-b,a'), '1-a', 5).tree
  const dropped = mapPayloads(tree, node =>
    node.isLeaf ? node : { deleted: node.deleted, bodyKey: 0 },
  )
  assert.deepEqual(bodyKeysOf(dropped), [1])
})

test('bytes', () => {
  const long = { start: 1000, ids: Array.from({ length: 1000 }, (_, at) => Buffer.alloc(16, at)) }
  const key = Number.MAX_SAFE_INTEGER
  const linear = mergePath(emptyTree, long, { deleted: true, bodyKey: key }).tree
  assert.ok(encodeTree(linear).length < 16_000 + 32)
  assert.deepEqual(winner(decodeTree(encodeTree(linear)))?.bodyKey, key)
  for (const tree of [emptyTree, linear, treeWith('3-c,b,a', '!3-x,b', '7-q')]) {
    const bytes = encodeTree(tree)
    assert.ok(sameTree(decodeTree(bytes), tree))
    assert.throws(
      () => decodeTree(bytes.subarray(0, -1)),
      thrown => isFailure(thrown, 'storage_corrupt'),
    )
    assert.throws(
      () => decodeTree(Buffer.concat([bytes, bytes])),
      thrown => isFailure(thrown, 'storage_corrupt'),
    )
  }
})

const interactive = (tree: RevisionTree | undefined, at?: string, deleted = false) =>
  decideEdit(tree, { rev: at === undefined ? undefined : rev(at), deleted }, 'interactive')

test('interactive edits', () => {
  const live = treeWith('2-b,a', '2-c,a')
  const gone = treeWith('!2-b,a', '!3-d,c,a')
  assert.deepEqual(interactive(undefined), { kind: 'extend', pos: 1, revpos: 1 })
  assert.equal(interactive(undefined, undefined, true).kind, 'extend')
  assert.equal(interactive(undefined, '1-a').kind, 'conflict')
  for (const leaf of ['2-b', '2-c']) {
    const decision = interactive(live, leaf)
    assert.ok(decision.kind === 'extend' && decision.parent)
    assert.deepEqual([decision.pos, decision.revpos, printRevision(decision.parent)], [3, 3, leaf])
  }
  for (const other of [undefined, '1-a', '2-q', '3-b']) {
    assert.equal(interactive(live, other).kind, 'conflict')
    assert.equal(interactive(live, other, true).kind, 'conflict')
  }
  const again = interactive(gone)
  assert.ok(again.kind === 'extend' && again.parent)
  assert.deepEqual([again.pos, again.revpos, printRevision(again.parent)], [4, 1, '3-d'])
  assert.equal(interactive(gone, '3-d').kind, 'conflict')
  assert.equal(interactive(gone, undefined, true).kind, 'conflict')
})

test('a deleted leaf of a live document can be extended', () => {
  const decision = interactive(treeWith('2-b,a', '!2-c,a'), '2-c')
  assert.equal(decision.kind, 'extend')
})

const replicated = (tree: RevisionTree | undefined, line: string, limit?: number) => {
  const { deleted, ...revisions } = path(line)
  return decideEdit(tree, { revisions, deleted }, 'replicated', limit).kind
}

test('replicated edits', () => {
  const tree = treeWith('3-c,b,a')
  assert.equal(replicated(undefined, '3-c,b,a'), 'merge')
  assert.equal(replicated(tree, '3-c,b,a'), 'nothing')
  assert.equal(replicated(tree, '3-c'), 'nothing')
  assert.equal(replicated(tree, '2-b,a'), 'merge', 'it has no body yet')
  assert.equal(replicated(tree, '3-x,b,a'), 'merge')
  const stemmed = stemTree(tree, 2)
  assert.equal(replicated(stemmed, '3-c,b,a'), 'merge')
  assert.equal(replicated(stemmed, '3-c,b,a', 2), 'nothing')
  assert.throws(
    () => decideEdit(tree, { deleted: false }, 'replicated'),
    thrown =>
      isFailure(thrown, 'request_invalid') &&
      thrown.detail.reason ===
        'When `new_edits: false`, the document needs `_rev` or `_revisions` specified',
  )
  const single = decideEdit(tree, { rev: rev('4-q'), deleted: false }, 'replicated')
  assert.deepEqual(single, { kind: 'merge', path: { start: 4, ids: [Buffer.from('q')] } })
})
