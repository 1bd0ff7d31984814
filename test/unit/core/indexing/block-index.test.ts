import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../../../src/base/collate/collator.ts'
import { isFailure } from '../../../../src/base/errors.ts'
import type { MaybePromise } from '../../../../src/base/maybe-promise.ts'
import { BlockIndex, type BlockIndexOptions } from '../../../../src/core/indexing/block-index.ts'
import { ALL_NODES } from '../../../../src/core/indexing/index-keys.ts'
import type { DocumentRows } from '../../../../src/core/indexing/index-rows.ts'
import { decodeState, INDEX_FORMAT } from '../../../../src/core/indexing/index-state.ts'
import { NodeCache } from '../../../../src/core/indexing/node-store.ts'
import { afterKey } from '../../../../src/core/indexing/row-order.ts'
import type { ReadTx, Steps, Store } from '../../../../src/engine/engine.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'
import { WrappedStore } from '../../../../src/engine/wrapped-engine.ts'
import { counter, emittedRow as row } from '../../../support/index-rows.ts'

const collator = openCollator()

function makeIndex(store: Store, options: Partial<BlockIndexOptions> = {}): BlockIndex {
  return new BlockIndex({
    store,
    limits: new MemoryEngine().limits,
    collator,
    cache: new NodeCache(1_000_000),
    trees: [{ order: 'icu', reducers: [counter] }],
    ...options,
  })
}

const TWO_TREES: BlockIndexOptions['trees'] = [
  { order: 'icu', reducers: [counter] },
  { order: 'icu', reducers: [counter] },
]

const documentOf = (id: string, ...keys: unknown[]): DocumentRows => ({
  id,
  rows: [keys.map(key => row(key))],
})

async function idsOf(index: BlockIndex): Promise<string[]> {
  const scan = await index.openScan(0, {
    ranges: [{}],
    reverse: false,
    skip: 0,
    limit: Number.MAX_SAFE_INTEGER,
  })
  const ids: string[] = []
  for await (const slices of scan.batches) {
    for (const { block, from, to } of slices) {
      for (let i = from; i < to; i++) ids.push(JSON.parse(String(block.idText(i))) as string)
    }
  }
  return ids
}

const at = (seq: number) => ({ seq, purgeSeq: 0 })

async function ready(index: BlockIndex, documents: readonly DocumentRows[] = []): Promise<void> {
  const build = await index.firstBuild(1)
  await build.add(documents, at(1))
  await build.finish()
}

test('an index is absent, then building, then ready', async () => {
  const engine = new MemoryEngine()
  const index = makeIndex(await engine.createStore('i'))
  assert.equal(await index.state(), undefined)
  const build = await index.firstBuild(7)
  assert.equal((await index.state())?.phase, 'building')
  assert.equal(build.untilSeq, 7)
  await build.add([documentOf('a', 1)], at(7))
  assert.equal((await build.finish()).phase, 'ready')
  assert.deepEqual((await index.state())?.progress, at(7))
  assert.deepEqual(await idsOf(index), ['a'])
})

test('an index without rows can be asked', async () => {
  const engine = new MemoryEngine()
  const index = makeIndex(await engine.createStore('i'))
  await ready(index)
  assert.deepEqual(await idsOf(index), [])
  assert.equal(await index.reduceRange(0, 0, {}), undefined)
  await index.update([documentOf('a', 1)], at(2))
  await index.update([documentOf('a')], at(3))
  assert.deepEqual(await idsOf(index), [])
  assert.equal((await index.info(0)).rows, 0)
})

test('a first build learns from its first blocks how many rows fill one', async () => {
  const store = await new MemoryEngine().createStore('i')
  const index = makeIndex(store)
  const text = 'the same words over and over '.repeat(10)
  const documents = Array.from({ length: 1500 }, (_, i) => ({
    id: String(i).padStart(4, '0'),
    rows: [[row(i, { text, i })]],
  }))
  await ready(index, documents)
  assert.equal((await index.info(0)).rows, 1500)
  // 66 blocks of some 7 KB if nothing were learned; these rows shrink to a tenth of that.
  const nodes = await store.read(tx => tx.scan(ALL_NODES, { limit: 1000 }))
  assert.ok(nodes.length > 1 && nodes.length < 50, `${nodes.length} nodes`)
})

test('a first build that died goes on from what it saved', async () => {
  const engine = new MemoryEngine()
  const store = await engine.createStore('i')
  const first = await makeIndex(store, { sortBytesMax: 1 }).firstBuild(9)
  await first.add([documentOf('a', 3), documentOf('b', 1)], at(2))
  await first.add([documentOf('c', 2)], at(3))
  // Dies here: nothing of `first` is used any more.
  const again = await makeIndex(store).firstBuild(12)
  assert.deepEqual(again.savedProgress, at(3))
  assert.equal(again.untilSeq, 9)
  await again.add([documentOf('d', 0)], at(9))
  await again.finish()
  assert.deepEqual(await idsOf(makeIndex(store)), ['d', 'b', 'c', 'a'])
  await assert.rejects(first.add([documentOf('e', 1)], at(4)), error =>
    isFailure(error, 'engine_busy'),
  )
})

test('a document that comes again during a first build counts as it came last', async () => {
  const engine = new MemoryEngine()
  for (const sortBytesMax of [1, 1_000_000]) {
    const index = makeIndex(await engine.createStore(`i${sortBytesMax}`), { sortBytesMax })
    const build = await index.firstBuild(9)
    await build.add([documentOf('a', 1, 2), documentOf('b', 1), documentOf('c', 5)], at(3))
    await build.add([documentOf('a', 9), documentOf('b')], at(5))
    await build.finish()
    assert.deepEqual(await idsOf(index), ['c', 'a'])
    // The back references know the last rows too.
    await index.update([documentOf('a', 0)], at(6))
    assert.deepEqual(await idsOf(index), ['a', 'c'])
  }
})

test('documents without rows do not spoil the references of their neighbours', async () => {
  const engine = new MemoryEngine()
  const index = makeIndex(await engine.createStore('i'))
  await ready(index, [documentOf('a', 1), documentOf('b'), documentOf('c', 2)])
  await index.update([documentOf('a'), documentOf('c')], at(2))
  assert.deepEqual(await idsOf(index), [])
})

test('runs in a store of their own are dropped at the end, and a build that lost them starts anew', async () => {
  const engine = new MemoryEngine()
  const store = await engine.createStore('i')
  const scratch = {
    open: async () => {
      const known = await engine.listStores()
      return known.includes('runs') ? engine.store('runs') : await engine.createStore('runs')
    },
    drop: () => engine.deleteStore('runs'),
  }
  const options = { scratch, sortBytesMax: 1 }
  const lost = await makeIndex(store, options).firstBuild(5)
  await lost.add([documentOf('a', 1)], at(2))
  await engine.deleteStore('runs')
  const build = await makeIndex(store, options).firstBuild(5)
  assert.deepEqual(build.savedProgress, at(0))
  for (let i = 0; i < 40; i++) await build.add([documentOf(`d${i}`, i)], at(i))
  await build.finish()
  assert.equal((await idsOf(makeIndex(store, options))).length, 40)
  assert.deepEqual(await engine.listStores(), ['i'])
})

const nodeCount = async (store: Store): Promise<number> =>
  store.read(function* (tx: ReadTx) {
    return (yield* tx.scan(ALL_NODES, { limit: 100_000 })).length
  })

test('an index that is built anew answers as before until that is done', async () => {
  const engine = new MemoryEngine()
  const store = await engine.createStore('i')
  const index = makeIndex(store, { sortBytesMax: 1, trees: TWO_TREES })
  const twice = (id: string, one: unknown[], two: unknown[]): DocumentRows => ({
    id,
    rows: [one.map(key => row(key)), two.map(key => row(key))],
  })
  await ready(index, [twice('a', [1], [1]), twice('b', [2], [2])])
  const before = (await index.info(0)).tag

  const died = await index.firstBuild(9)
  assert.deepEqual(died.savedProgress, at(0))
  await died.add([twice('b', [2], [])], at(2))
  assert.deepEqual(await idsOf(index), ['a', 'b'])
  assert.equal((await index.state())?.phase, 'ready')
  assert.deepEqual((await index.state())?.progress, at(1))
  await assert.rejects(index.update([twice('z', [0], [])], at(2)), error =>
    isFailure(error, 'engine_busy'),
  )

  const again = await makeIndex(store, { sortBytesMax: 1, trees: TWO_TREES }).firstBuild(12)
  assert.deepEqual(again.savedProgress, at(2))
  assert.equal(again.untilSeq, 9)
  await again.add([twice('c', [0], [])], at(9))
  await assert.rejects(died.finish(), error => isFailure(error, 'engine_busy'))
  assert.deepEqual(await idsOf(index), ['a', 'b'])
  const done = await again.finish()
  assert.deepEqual([done.phase, done.progress, done.build], ['ready', at(9), undefined])
  assert.deepEqual(await idsOf(index), ['c', 'b'])
  assert.notEqual((await index.info(0)).tag, before)
  assert.equal((await index.info(1)).rows, 0)
  // The tree of the first view, that of the references, and nothing of before.
  assert.equal(await nodeCount(store), 2)
  await index.update([twice('d', [3], [3])], at(10))
  assert.deepEqual(await idsOf(index), ['c', 'b', 'd'])
})

test('a build that a server began who knew only first ones goes on', async () => {
  const state = {
    format: INDEX_FORMAT,
    collator: 'c',
    shape: 's',
    incarnation: '00',
    phase: 'building',
    progress: at(7),
    version: 3,
    nextNode: 1,
    build: { untilSeq: 9, documents: 5, nextRun: 1, runs: [{ run: 0, level: 0 }] },
  }
  const { build } = decodeState(Buffer.from(JSON.stringify(state)))
  assert.deepEqual([build?.progress, build?.firstNode, build?.untilSeq], [at(7), 1, 9])
})

test('an index of another shape or ICU is as good as absent', async () => {
  const engine = new MemoryEngine()
  const store = await engine.createStore('i')
  await ready(makeIndex(store), [documentOf('a', 1)])
  const other = makeIndex(store, { trees: [{ order: 'raw', reducers: [] }] })
  assert.equal(await other.state(), undefined)
  await ready(other, [documentOf('b', 1)])
  assert.deepEqual(await idsOf(other), ['b'])
  assert.equal(await makeIndex(store).state(), undefined)
})

test('two updaters at once lose nothing', async () => {
  const engine = new MemoryEngine()
  const store = await engine.createStore('i')
  await ready(makeIndex(store))
  const [one, two] = [makeIndex(store), makeIndex(store)]
  await Promise.all([
    one.update([documentOf('a', 1)], at(2)),
    two.update([documentOf('b', 2)], at(2)),
  ])
  assert.deepEqual(await idsOf(one), ['a', 'b'])
})

test('keys far longer than the engine takes, and ids with quotes, are exact', async () => {
  const engine = new MemoryEngine()
  const index = makeIndex(await engine.createStore('i'))
  const long = 'x'.repeat(20_000)
  await ready(index, [
    documentOf('q"\\', `${long}b`),
    documentOf('z', `${long}a`),
    documentOf('é', `${long}c`),
  ])
  await index.update([documentOf('n', `${long}aa`), documentOf('z', `${long}d`)], at(2))
  assert.deepEqual(await idsOf(index), ['n', 'q"\\', 'é', 'z'])
})

test('one document may have thousands of rows at one place', async () => {
  const engine = new MemoryEngine()
  const index = makeIndex(await engine.createStore('i'), {
    nodeBytes: { blockBytes: 200, branchBytes: 200 },
  })
  const many = { id: 'm', rows: [Array.from({ length: 3000 }, (_, i) => row('same', i))] }
  await ready(index, [documentOf('a', 'same'), documentOf('z', 'same')])
  await index.update([many], at(2))
  assert.equal((await idsOf(index)).length, 3002)
  const scan = await index.openScan(0, {
    ranges: [{}],
    reverse: true,
    skip: 1,
    limit: 3000,
    batchBytesMax: 500,
  })
  const values: number[] = []
  for await (const slices of scan.batches) {
    for (const { block, from, to } of slices) {
      for (let i = to - 1; i >= from; i--) values.push(Number(block.valueText(i)))
    }
  }
  assert.deepEqual(
    values,
    Array.from({ length: 3000 }, (_, i) => 2999 - i),
  )
  await index.update([{ id: 'm', rows: [[row('same', 'x')]] }], at(3))
  assert.deepEqual(await idsOf(index), ['a', 'm', 'z'])
})

test('an update whose rows are the same leaves the trees alone', async () => {
  const engine = new MemoryEngine()
  const index = makeIndex(await engine.createStore('i'))
  await ready(index, [documentOf('a', 1, 2), documentOf('b', 1)])
  const before = await index.info(0)
  await index.update([documentOf('a', 1, 2)], at(5))
  assert.deepEqual(await index.info(0), before)
  assert.equal((await index.state())?.progress.seq, 5)
  await index.update([documentOf('a', 1)], at(6))
  assert.notEqual((await index.info(0)).tag, before.tag)
})

test('a reduction of a third of the rows reads a handful of nodes', async () => {
  const engine = new MemoryEngine()
  let gets = 0
  const store = new CountingStore(await engine.createStore('i'), () => gets++)
  const index = makeIndex(store, { cache: new NodeCache(0) })
  const documents = Array.from({ length: 30_000 }, (_, i) => documentOf(`d${i}`, i))
  await ready(index, documents)
  gets = 0
  const range = { lower: collator.sortKey('10000'), upper: afterKey(collator.sortKey('19999')) }
  assert.equal(String(await index.reduceRange(0, 0, range)), '10000')
  assert.ok(gets <= 12, `${gets} reads`)
  gets = 0
  const scan = await index.openScan(0, { ranges: [range], reverse: false, skip: 9_990, limit: 5 })
  assert.equal(scan.offset, 19_990)
  assert.ok(gets <= 16, `${gets} reads`)
})

/** The store itself, with every single read counted. */
class CountingStore extends WrappedStore {
  readonly #count: () => void

  constructor(store: Store, count: () => void) {
    super(store)
    this.#count = count
  }

  override read<T>(work: (tx: ReadTx) => Steps<T>): MaybePromise<T> {
    return super.read(tx => work(this.#counting(tx)))
  }

  #counting(tx: ReadTx): ReadTx {
    return {
      get: key => {
        this.#count()
        return tx.get(key)
      },
      getMany: keys => tx.getMany(keys),
      scan: (range, options) => tx.scan(range, options),
    }
  }
}
