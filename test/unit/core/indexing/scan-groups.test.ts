/**
 * Bounds of groups that do not hold the rows they were made of, as those of a partitioned view would be without the
 * partition before the sort key. A scan must fail then instead of going round for ever.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AssertionError } from '../../../../src/base/assert.ts'
import { openCollator } from '../../../../src/base/collate/collator.ts'
import { BlockIndex } from '../../../../src/core/indexing/block-index.ts'
import { NodeCache } from '../../../../src/core/indexing/node-store.ts'
import type { Reducer } from '../../../../src/core/indexing/reducer.ts'
import { RowOrder } from '../../../../src/core/indexing/row-order.ts'
import type { GroupBounds, GroupScanOptions } from '../../../../src/core/indexing/scan-groups.ts'
import { groupingBy } from '../../../../src/core/view/group-key.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'

const collator = openCollator()
const order = new RowOrder(collator, 'icu', true)
const nothing: Reducer = { name: 'nothing', reduce: jobs => jobs.map(() => Buffer.from('0')) }
const BATCHES_MAX = 20

/** Twelve keys in the partition `p`, of so many documents each. */
async function makeIndex(documentsPerKey: number): Promise<BlockIndex> {
  const engine = new MemoryEngine()
  const index = new BlockIndex({
    store: await engine.createStore('i'),
    limits: engine.limits,
    collator,
    cache: new NodeCache(1_000_000),
    trees: [{ order: 'icu', reducers: [nothing], partitioned: true }],
  })
  const documents = Array.from({ length: 12 * documentsPerKey }, (_, i) => ({
    id: `p:${String(i).padStart(5, '0')}`,
    rows: [[{ keyText: keyText(Math.floor(i / documentsPerKey)), valueText: Buffer.from('1') }]],
  }))
  const build = await index.firstBuild(1)
  await build.add(documents, { seq: 1, purgeSeq: 0 })
  await build.finish()
  return index
}

const keyText = (i: number): Buffer => Buffer.from(JSON.stringify([i]))

async function keysOf(index: BlockIndex, options: Partial<GroupScanOptions>): Promise<string[]> {
  const keys: string[] = []
  let batches = 0
  const scan = index.reduceGroups(0, 0, {
    ranges: [order.within('p').bounds],
    reverse: false,
    skip: 0,
    limit: Number.MAX_SAFE_INTEGER,
    groupOf: groupingBy(order.within('p'), 'exact'),
    batchGroupsMax: 3,
    ...options,
  })
  for await (const groups of scan) {
    assert.ok(++batches <= BATCHES_MAX, 'goes on for ever')
    keys.push(...groups.map(group => String(group.keyText)))
  }
  return keys
}

const forward = Array.from({ length: 12 }, (_, i) => `[${i}]`)
const withoutPartition = groupingBy(order, 'exact')

/** Right but for one key, whose bounds are those of another. */
const mistakenAt = (wrong: number, other: number) => {
  const right = groupingBy(order.within('p'), 'exact')
  return (text: Buffer): GroupBounds => right(text.equals(keyText(wrong)) ? keyText(other) : text)
}

for (const documentsPerKey of [1, 5, 1000]) {
  describe(`a scan of groups of ${documentsPerKey} rows`, async () => {
    const index = await makeIndex(documentsPerKey)

    it('ends where bounds are right', async () => {
      assert.deepEqual(await keysOf(index, {}), forward)
      assert.deepEqual(await keysOf(index, { reverse: true }), [...forward].reverse())
    })

    for (const reverse of [false, true]) {
      const direction = reverse ? 'backward' : 'forward'
      for (const ranges of [[{}], [order.within('p').bounds]]) {
        const where = ranges[0]?.lower === undefined ? 'all rows' : 'a partition'
        it(`fails ${direction} over ${where} when bounds lack the partition`, async () => {
          const scan = keysOf(index, { reverse, ranges, groupOf: withoutPartition })
          await assert.rejects(scan, AssertionError)
        })
      }

      it(`fails ${direction} when one group has the bounds of one that was`, async () => {
        const groupOf = reverse ? mistakenAt(4, 7) : mistakenAt(7, 4)
        for (const batchGroupsMax of [1, 2, 4, 8]) {
          await assert.rejects(keysOf(index, { reverse, groupOf, batchGroupsMax }), AssertionError)
        }
      })
    }
  })
}
