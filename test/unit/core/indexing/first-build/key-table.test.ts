import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../../../../src/base/collate/collator.ts'
import { KeyTable, rankKeys } from '../../../../../src/core/indexing/first-build/key-table.ts'
import { RowOrder } from '../../../../../src/core/indexing/row-order.ts'

const collator = openCollator()

function numberOf(table: KeyTable, text: string): number {
  const bytes = Buffer.from(`..${text}..`)
  return table.numberOf(bytes, 2, bytes.length - 2)
}

test('a key has one number, however many others come', () => {
  const table = new KeyTable()
  const texts = Array.from({ length: 5000 }, (_, i) => JSON.stringify([`word${i % 50}`, i]))
  const numbers = texts.map(text => numberOf(table, text))
  assert.deepEqual(numbers, [...texts.keys()])
  assert.deepEqual(
    texts.map(text => numberOf(table, text)),
    numbers,
  )
  assert.equal(table.count, 5000)
  const { bytes, starts } = table.image()
  const text = Buffer.from(bytes.subarray(starts[4321], starts[4322])).toString()
  assert.equal(text, texts[4321])
})

test('a cleared table knows nothing', () => {
  const table = new KeyTable()
  numberOf(table, '1')
  numberOf(table, '2')
  table.clear()
  assert.equal(table.count, 0)
  assert.equal(numberOf(table, '2'), 0)
})

test('ranks follow the order of views, and keys that sort alike share one', () => {
  const table = new KeyTable()
  const texts = ['"b"', '"a"', '"a\\u0000"', 'null', '{}', '[1]', '2', '10', '"B"']
  for (const text of texts) numberOf(table, text)
  const { ranks, rankCount } = rankKeys(table.image(), new RowOrder(collator, 'icu'))
  const byRank = new Map(texts.map((text, i) => [ranks[i] as number, text]))
  assert.equal(rankCount, 8)
  assert.equal(ranks[1], ranks[2])
  assert.deepEqual(
    [...byRank].sort(([one], [two]) => one - two).map(([, text]) => text),
    ['null', '2', '10', '"a\\u0000"', '"b"', '"B"', '[1]', '{}'],
  )
})

test('an empty table has no ranks', () => {
  assert.equal(rankKeys(new KeyTable().image(), new RowOrder(collator, 'raw')).rankCount, 0)
})
