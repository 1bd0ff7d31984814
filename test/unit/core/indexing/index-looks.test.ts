import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../../../src/base/collate/collator.ts'
import type { MaybePromise } from '../../../../src/base/maybe-promise.ts'
import { BlockIndex, type RowScan } from '../../../../src/core/indexing/block-index.ts'
import { NodeCache } from '../../../../src/core/indexing/node-store.ts'
import { afterKey } from '../../../../src/core/indexing/row-order.ts'
import type { Key, ReadTx, Steps, Store } from '../../../../src/engine/engine.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'
import { WrappedStore } from '../../../../src/engine/wrapped-engine.ts'
import { NearStore } from '../../../support/near-store.ts'

const collator = openCollator()
const engine = new MemoryEngine()
let stores = 0
const newStore = () => engine.createStore(`i${stores++}`)

const makeIndex = (store: Store, cacheBytes = 1_000_000) =>
  new BlockIndex({
    store,
    limits: engine.limits,
    collator,
    cache: new NodeCache(cacheBytes),
    trees: [{ order: 'icu', reducers: [] }],
    nodeBytes: { blockBytes: 150, branchBytes: 200 },
  })

const documentOf = (id: string, ...keys: readonly unknown[]) => ({
  id,
  rows: [keys.map(key => ({ keyText: json(key), valueText: json(null) }))],
})

const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const at = (seq: number) => ({ seq, purgeSeq: 0 })

async function build(index: BlockIndex, count: number, seq = 1): Promise<void> {
  const first = await index.firstBuild(seq)
  const documents = Array.from({ length: count }, (_, i) => documentOf(`d${i}`, i % 10))
  await first.add(documents, at(seq))
  await first.finish()
}

async function ask(
  index: BlockIndex,
  key: unknown,
  limit = 5,
): Promise<RowScan & { ids: string[] }> {
  const lower = collator.sortKey(json(key))
  const ranges = [{ lower, upper: afterKey(lower) }]
  const scan = await index.openScan(0, { ranges, reverse: false, skip: 0, limit })
  const ids: string[] = []
  for (const { block, from, to } of scan.whole ?? assert.fail('more than one batch')) {
    for (let row = from; row < to; row++) ids.push(JSON.parse(String(block.idText(row))) as string)
  }
  return { ...scan, ids }
}

class CountedStore extends WrappedStore {
  readonly counts = { gets: 0, reads: 0 }

  override get(key: Key): MaybePromise<Buffer | undefined> {
    this.counts.gets++
    return super.get(key)
  }

  override read<T>(work: (tx: ReadTx) => Steps<T>): MaybePromise<T> {
    this.counts.reads++
    return super.read(work)
  }
}

test('a second look at the same nodes is one get, and says the same', async () => {
  const store = new CountedStore(new NearStore(await newStore()))
  const { counts } = store
  const index = makeIndex(store)
  await build(index, 300)
  const first = await ask(index, 3)
  assert.deepEqual(first.ids, ['d103', 'd113', 'd123', 'd13', 'd133'])
  Object.assign(counts, { gets: 0, reads: 0 })
  const second = await ask(index, 3)
  assert.deepEqual(counts, { gets: 1, reads: 0 })
  assert.deepEqual(second.ids, first.ids)
  assert.deepEqual(second.look, first.look)
  assert.deepEqual([second.total, second.offset], [first.total, first.offset])
  // Other nodes have to be read.
  assert.equal((await ask(index, 8)).ids.length, 5)
  assert.equal(counts.reads, 1)
})

test('a store that is far away is asked once for all', async () => {
  const store = new CountedStore(await newStore())
  const { counts } = store
  const index = makeIndex(store)
  await build(index, 50)
  Object.assign(counts, { gets: 0, reads: 0 })
  for (let i = 0; i < 3; i++) assert.equal((await ask(index, 3)).ids.length, 5)
  assert.deepEqual(counts, { gets: 0, reads: 3 })
})

test('what others change is seen at once', async () => {
  const shared = await newStore()
  const index = makeIndex(new NearStore(shared))
  const others = makeIndex(shared)
  await build(others, 30)
  assert.deepEqual((await ask(index, 3)).ids, ['d13', 'd23', 'd3'])
  await others.update([documentOf('a', 3), documentOf('d13', 4)], at(2))
  const changed = await ask(index, 3)
  assert.deepEqual(changed.ids, ['a', 'd23', 'd3'])
  assert.equal(changed.look.state?.progress.seq, 2)
  // Progress alone: the rows are the same, the state is not.
  await others.update([documentOf('a', 3)], at(3))
  const later = await ask(index, 3)
  assert.equal(later.look.state?.progress.seq, 3)
  assert.equal(later.look.tag, changed.look.tag)
  // Built anew: as before until that is done.
  await build(others, 4, 4)
  assert.deepEqual((await ask(index, 3)).ids, ['d3'])
  assert.deepEqual((await ask(index, 4)).ids, [])
})

test('an index that is emptied is empty', async () => {
  const shared = await newStore()
  const index = makeIndex(new NearStore(shared))
  await build(index, 30)
  assert.equal((await ask(index, 3)).total, 30)
  await index.update(
    Array.from({ length: 30 }, (_, i) => documentOf(`d${i}`)),
    at(2),
  )
  const emptied = await ask(index, 3)
  assert.deepEqual([emptied.total, emptied.offset, emptied.ids], [0, 0, []])
  await index.update([documentOf('x', 3)], at(3))
  assert.deepEqual((await ask(index, 3)).ids, ['x'])
})

test('without a cache every look reads', async () => {
  const store = new CountedStore(new NearStore(await newStore()))
  const { counts } = store
  const index = makeIndex(store, 0)
  await build(index, 300)
  for (let i = 0; i < 3; i++) {
    Object.assign(counts, { gets: 0, reads: 0 })
    assert.equal((await ask(index, 3)).ids.length, 5)
    assert.equal(counts.reads, 1)
  }
})
