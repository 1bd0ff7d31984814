/**
 * Queries of small views, with the rows, offsets and complaints that CouchDB gave for the same
 * ones.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../../../src/base/collate/collator.ts'
import { isFailure } from '../../../../src/base/errors.ts'
import { BlockIndex } from '../../../../src/core/indexing/block-index.ts'
import { NodeCache } from '../../../../src/core/indexing/node-store.ts'
import { builtinReducer } from '../../../../src/core/view/builtin-reducers.ts'
import { firstElements } from '../../../../src/core/view/group-key.ts'
import { reduceView } from '../../../../src/core/view/reduce-rows.ts'
import { scanView, scanViewRows } from '../../../../src/core/view/scan-view.ts'
import { planViewQuery, type ViewQuery } from '../../../../src/core/view/view-query.ts'
import { viewTrees } from '../../../../src/core/view/view-trees.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'

const collator = openCollator()
const sum = builtinReducer('_sum', collator, true)
const count = builtinReducer('_count', collator, true)
const { trees, views } = viewTrees([
  { name: 'n', map: 'n', collation: 'icu' },
  { name: 'cat', map: 'cat', collation: 'icu', reducer: sum },
  { name: 'tags', map: 'tags', collation: 'icu', reducer: count },
  { name: 'tags2', map: 'tags', collation: 'icu' },
])

const json = (value: unknown) => Buffer.from(JSON.stringify(value))
const row = (key: unknown, value: unknown) => ({ keyText: json(key), valueText: json(value) })

async function makeIndex(): Promise<BlockIndex> {
  const engine = new MemoryEngine()
  const index = new BlockIndex({
    store: await engine.createStore('i'),
    limits: engine.limits,
    collator,
    cache: new NodeCache(1_000_000),
    trees,
    nodeBytes: { blockBytes: 100, branchBytes: 150 },
  })
  const build = await index.firstBuild(1)
  const documents = Array.from({ length: 10 }, (_, n) => ({
    id: `d${n}`,
    rows: [
      [row(n, n % 3)],
      [row([n % 3, n], n)],
      (n % 2 === 0 ? ['even', 'x'] : ['odd']).map(tag => row(tag, null)),
    ],
  }))
  await build.add(documents, { seq: 1, purgeSeq: 0 })
  await build.finish()
  return index
}

const index = await makeIndex()

async function map(
  name: string,
  query: ViewQuery,
): Promise<{ total: number; offset: number; ids: string[] }> {
  const { tree, reducer } = views.get(name) ?? assert.fail(name)
  const plan = planViewQuery(query, { order: index.order(tree), hasReduce: reducer !== undefined })
  assert.equal(plan.isReduced, false)
  const { total, offset, batches } = await scanView(index, tree, plan)
  const texts: Buffer[] = []
  for await (const batch of batches) texts.push(...batch)
  const rows = JSON.parse(`[${texts.join(',\r\n')}]`) as { id: string }[]
  const singly: string[] = []
  for await (const batch of (await scanViewRows(index, tree, plan)).batches)
    singly.push(...batch.map(one => one.id))
  const ids = rows.map(({ id }) => id)
  assert.deepEqual(singly, ids)
  return { total, offset, ids }
}

async function reduce(name: string, query: ViewQuery): Promise<string> {
  const { tree, reducer } = views.get(name) ?? assert.fail(name)
  const plan = planViewQuery(query, { order: index.order(tree), hasReduce: reducer !== undefined })
  assert.ok(plan.isReduced && reducer !== undefined)
  const view = { index, tree, reducerNumber: reducer.number, reducer: reducer.reducer }
  const texts: Buffer[] = []
  for await (const batch of (await reduceView(view, plan)).batches) texts.push(...batch)
  return texts.join(' ')
}

const key = (value: unknown): ViewQuery => ({ startKey: json(value), endKey: json(value) })
const keys = (...list: unknown[]): ViewQuery => ({ keys: list.map(json) })

test('ranges, skip, limit and offsets', async () => {
  assert.deepEqual(await map('n', { skip: 4, limit: 2 }), {
    total: 10,
    offset: 4,
    ids: ['d4', 'd5'],
  })
  assert.deepEqual(await map('n', { startKey: json(3), endKey: json(5) }), {
    total: 10,
    offset: 3,
    ids: ['d3', 'd4', 'd5'],
  })
  assert.deepEqual(await map('n', { startKey: json(3), endKey: json(5), inclusiveEnd: false }), {
    total: 10,
    offset: 3,
    ids: ['d3', 'd4'],
  })
  assert.deepEqual(await map('n', { descending: true, limit: 3 }), {
    total: 10,
    offset: 0,
    ids: ['d9', 'd8', 'd7'],
  })
  assert.deepEqual(
    await map('n', { descending: true, startKey: json(5), endKey: json(3), inclusiveEnd: false }),
    { total: 10, offset: 4, ids: ['d5', 'd4'] },
  )
  assert.deepEqual(await map('n', { limit: 0 }), { total: 10, offset: 0, ids: [] })
  assert.deepEqual(await map('n', { skip: 50 }), { total: 10, offset: 10, ids: [] })
})

test('document ids narrow the ends of a range', async () => {
  const odd = json('odd')
  const range = { startKey: odd, endKey: odd, reduce: false }
  assert.deepEqual((await map('tags', { ...range, startKeyDocId: 'd5' })).ids, ['d5', 'd7', 'd9'])
  assert.deepEqual((await map('tags', { ...range, endKeyDocId: 'd5' })).ids, ['d1', 'd3', 'd5'])
  assert.deepEqual((await map('tags', { ...range, endKeyDocId: 'd5', inclusiveEnd: false })).ids, [
    'd1',
    'd3',
  ])
  assert.deepEqual((await map('tags', { ...range, descending: true, startKeyDocId: 'd5' })).ids, [
    'd5',
    'd3',
    'd1',
  ])
  assert.deepEqual(
    (await map('tags', { ...range, descending: true, endKeyDocId: 'd5', inclusiveEnd: false })).ids,
    ['d9', 'd7'],
  )
  assert.deepEqual((await map('tags', { startKeyDocId: 'd5', reduce: false, limit: 1 })).ids, [
    'd0',
  ])
})

test('keys come in the order asked for', async () => {
  assert.deepEqual(await map('n', keys(3, 1, 8)), { total: 10, offset: 3, ids: ['d3', 'd1', 'd8'] })
  assert.deepEqual(await map('n', keys()), { total: 10, offset: 0, ids: [] })
  assert.deepEqual(await map('n', keys(99)), { total: 10, offset: 10, ids: [] })
  assert.deepEqual(await map('n', keys(2, 2)), { total: 10, offset: 2, ids: ['d2', 'd2'] })
  assert.deepEqual(await map('n', { ...keys(3, 1), descending: true }), {
    total: 10,
    offset: 8,
    ids: ['d1', 'd3'],
  })
  assert.deepEqual(await map('n', { ...keys(3, 1), limit: 1 }), {
    total: 10,
    offset: 3,
    ids: ['d3'],
  })
  assert.deepEqual(await map('n', { ...keys(3, 1), skip: 1 }), {
    total: 10,
    offset: 4,
    ids: ['d1'],
  })
})

test('reduce, whole and by groups', async () => {
  assert.equal(await reduce('cat', {}), '{"key":null,"value":45}')
  assert.equal(await reduce('cat', { groupLevel: 0 }), '{"key":null,"value":45}')
  assert.equal(
    await reduce('cat', { groupLevel: 1 }),
    '{"key":[0],"value":18} {"key":[1],"value":12} {"key":[2],"value":15}',
  )
  assert.equal(
    await reduce('cat', { groupLevel: 1, descending: true }),
    '{"key":[2],"value":15} {"key":[1],"value":12} {"key":[0],"value":18}',
  )
  assert.equal(await reduce('cat', { groupLevel: 1, skip: 1, limit: 1 }), '{"key":[1],"value":12}')
  assert.equal(
    await reduce('cat', { group: true, limit: 2 }),
    '{"key":[0,0],"value":0} {"key":[0,3],"value":3}',
  )
  assert.equal(
    await reduce('cat', { groupLevel: 9, skip: 8 }),
    '{"key":[2,5],"value":5} {"key":[2,8],"value":8}',
  )
  assert.equal(
    await reduce('cat', { group: true, descending: true, limit: 2 }),
    '{"key":[2,8],"value":8} {"key":[2,5],"value":5}',
  )
  assert.equal(
    await reduce('cat', { startKey: json([1]), endKey: json([1, {}]) }),
    '{"key":null,"value":12}',
  )
  assert.equal(
    await reduce('cat', { startKey: json([1]), endKey: json([2]), groupLevel: 1 }),
    '{"key":[1],"value":12}',
  )
  assert.equal(
    await reduce('cat', { startKey: json([0, 3]), endKey: json([1, 4]) }),
    '{"key":null,"value":23}',
  )
  assert.equal(await reduce('cat', { startKey: json([5]) }), '')
  assert.equal(await reduce('tags', key('nope')), '')
  assert.equal(
    await reduce('tags', { group: true }),
    '{"key":"even","value":5} {"key":"odd","value":5} {"key":"x","value":5}',
  )
  assert.equal(
    await reduce('tags', { ...keys('x', 'odd', 'zz'), group: true }),
    '{"key":"x","value":5} {"key":"odd","value":5}',
  )
  assert.equal(await reduce('cat', { ...keys([0, 3]), groupLevel: 1 }), '{"key":[0],"value":3}')
  assert.equal(await reduce('cat', keys([0, 3])), '{"key":null,"value":3}')
})

test('complaints', () => {
  const reasonOf = (query: ViewQuery, hasReduce: boolean, limitMax?: number) => {
    try {
      planViewQuery(query, { order: index.order(0), hasReduce, limitMax })
    } catch (error) {
      return isFailure(error, 'query_invalid') ? error.detail.reason : error
    }
    return undefined
  }
  const start = { startKey: json(5), endKey: json(3) }
  const noRows =
    'No rows can match your key range, reverse your start_key and end_key or set descending='
  assert.equal(reasonOf({ reduce: true }, false), 'Reduce is invalid for map-only views.')
  assert.equal(reasonOf({ group: true }, false), 'Invalid use of grouping on a map view.')
  assert.equal(reasonOf({ groupLevel: 1 }, false), 'Invalid use of grouping on a map view.')
  assert.equal(
    reasonOf({ group: true, reduce: false }, true),
    'Invalid use of grouping on a map view.',
  )
  assert.equal(
    reasonOf(keys('x', 'y'), true),
    'Multi-key fetches for reduce views must use `group=true`',
  )
  assert.equal(
    reasonOf({ ...keys('x', 'y'), startKey: json(1) }, false),
    '`keys` is incompatible with `key`, `start_key` and `end_key`',
  )
  assert.equal(reasonOf({ includeDocs: true }, true), '`include_docs` is invalid for reduce')
  assert.equal(reasonOf({ conflicts: true }, true), '`conflicts` is invalid for reduce views.')
  assert.equal(reasonOf({ groupLevel: -1 }, true), '`group_level` must be >= 0')
  assert.equal(
    reasonOf({ group: false, groupLevel: 1 }, true),
    "Can't specify group=false and group_level>0 at the same time",
  )
  assert.equal(reasonOf(start, false), `${noRows}true`)
  assert.equal(
    reasonOf({ startKey: json(3), endKey: json(5), descending: true }, false),
    `${noRows}false`,
  )
  assert.equal(reasonOf({ limit: 11 }, false, 10), 'Limit is too large, must not exceed 10')
  assert.equal(reasonOf({ ...start, descending: true, limit: 10 }, false, 10), undefined)
})

test('views with one map function share a tree', () => {
  assert.equal(trees.length, 3)
  assert.equal(views.get('tags')?.tree, views.get('tags2')?.tree)
  assert.equal(views.get('tags2')?.reducer, undefined)
})

test('the first elements of array keys', () => {
  const cut = (text: string, level: number) => firstElements(Buffer.from(text), level)?.toString()
  assert.equal(cut('[1,2,3]', 2), '[1,2]')
  assert.equal(cut('[1,2]', 2), '[1,2]')
  assert.equal(cut('[1]', 2), undefined)
  assert.equal(cut('[]', 1), undefined)
  assert.equal(cut('"a"', 1), undefined)
  assert.equal(cut('["a,]\\"",{"x":[1,2]},3]', 1), '["a,]\\""]')
  assert.equal(cut('["a,]\\"",{"x":[1,2]},3]', 2), '["a,]\\"",{"x":[1,2]}]')
})

/** Two rows at each place, five documents to a key, some keys that sort alike. */
async function makeStretches(nodeBytes: { blockBytes: number; branchBytes: number }) {
  const engine = new MemoryEngine()
  const stretches = new BlockIndex({
    store: await engine.createStore('i'),
    limits: engine.limits,
    collator,
    cache: new NodeCache(1_000_000),
    trees: [{ order: 'icu', reducers: [] }],
    nodeBytes,
  })
  const build = await stretches.firstBuild(1)
  const documents = Array.from({ length: 20 }, (_, n) => {
    const keyText = Buffer.from(n % 8 === 7 ? '3.0' : String(n % 4))
    const id = n % 3 === 0 ? `"${n}` : `d${n}`
    return { id, rows: [[1, 2].map(value => ({ keyText, valueText: json(value) }))] }
  })
  await build.add(documents, { seq: 1, purgeSeq: 0 })
  await build.finish()
  const list = documents
    .flatMap(({ id, rows }) => rows.flat().map(one => ({ id, ...one })))
    .map(one => ({ ...one, n: Number(String(one.keyText)) }))
    .sort((one, two) => one.n - two.n || Buffer.compare(Buffer.from(one.id), Buffer.from(two.id)))
  return { stretches, list }
}

test('limits and ids cut a stretch of one key where they cut a plain list', async () => {
  const ids = [undefined, '"0', '"5', 'd11', 'd13', 'd14', 'd2', 'zz']
  for (const nodeBytes of [
    { blockBytes: 4000, branchBytes: 4000 },
    { blockBytes: 100, branchBytes: 150 },
  ]) {
    const { stretches, list } = await makeStretches(nodeBytes)
    const order = stretches.order(0)
    for (const startKeyDocId of ids) {
      for (const endKeyDocId of ids) {
        for (const [first, last] of [
          [1, 1],
          [3, 3],
          [0, 2],
        ] as const) {
          const isIn = ({ n, id }: (typeof list)[number]) =>
            !(n < first || n > last) &&
            !(n === first && startKeyDocId !== undefined && id < startKeyDocId) &&
            !(n === last && endKeyDocId !== undefined && id > endKeyDocId)
          const found = list.filter(isIn)
          for (const descending of [false, true]) {
            for (const limit of [1, 2, 5, 9, 10, 11, 100]) {
              for (const skip of [0, 3]) {
                const [startKey, endKey] = descending ? [last, first] : [first, last]
                const plan = planViewQuery(
                  {
                    startKey: json(startKey),
                    endKey: json(endKey),
                    startKeyDocId: descending ? endKeyDocId : startKeyDocId,
                    endKeyDocId: descending ? startKeyDocId : endKeyDocId,
                    descending,
                    limit,
                    skip,
                  },
                  { order, hasReduce: false },
                )
                const { whole } = await scanView(stretches, 0, plan)
                const rows = JSON.parse(`[${whole?.join(',') ?? assert.fail()}]`) as {
                  id: string
                }[]
                const wanted = descending ? found.toReversed() : found
                assert.deepEqual(
                  rows.map(({ id }) => id),
                  wanted.slice(skip, skip + limit).map(({ id }) => id),
                )
              }
            }
          }
        }
      }
    }
  }
})
