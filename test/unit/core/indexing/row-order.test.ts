import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../../../src/base/collate/collator.ts'
import { BlockWriter } from '../../../../src/core/indexing/block-writer.ts'
import { BARE_FRAME, RowBlock, WIRE_FRAME } from '../../../../src/core/indexing/row-block.ts'
import { afterKey, afterPlace, RowOrder } from '../../../../src/core/indexing/row-order.ts'

interface Row {
  readonly id: string
  readonly key: string
  readonly place: Buffer
}

const collator = openCollator()

/** Stretches of one and of many rows, keys that sort alike, rows at one place, ids that are escaped. */
const EMITTED: readonly (readonly [id: string, key: string])[] = [
  ...Array.from({ length: 9 }, (_, i) => [`p${i % 3}:d${i}`, '["a","x"]'] as const),
  ['p1:b', '["a","y"]'],
  ['p0:a', '1'],
  ['p1:b', '1.0'],
  ['p2:c', '1'],
  ['p2:c', '1'],
  ['p2:c', '1.0'],
  ['p0:q"\\z', '"é"'],
  ['p0:q"', '"é"'],
  ['p1:é', '"é"'],
  ...Array.from({ length: 20 }, (_, i) => [`p0:n${i}`, String(i % 7)] as const),
]

function blockOf(order: RowOrder, isBare = false): { block: RowBlock; rows: Row[] } {
  const rows = EMITTED.map(([id, key]) => ({
    id,
    key: isBare ? '' : key,
    place: order.place(Buffer.from(key), Buffer.from(id)),
  })).sort((one, two) => Buffer.compare(one.place, two.place))
  const writer = new BlockWriter()
  for (const { id, key } of rows) {
    const keyText = Buffer.from(key)
    const idText = Buffer.from(isBare ? id : JSON.stringify(id))
    writer.addKey(keyText, 0, keyText.length)
    writer.addId(idText, 0, idText.length)
    writer.addValue(idText, 0, 0)
  }
  return { block: new RowBlock(writer.finish(), isBare ? BARE_FRAME : WIRE_FRAME), rows }
}

/** Before, at, between and after all rows and keys. */
function placesAround(order: RowOrder, rows: readonly Row[]): Buffer[] {
  const places: Buffer[] = [Buffer.alloc(0), Buffer.of(0xff)]
  for (const { id, key, place } of rows) {
    const withId = (text: string) => order.place(Buffer.from(key), Buffer.from(text))
    places.push(place, afterPlace(place), withId(`${id}!`), withId(id.slice(0, -1)))
    places.push(place.subarray(0, place.length >> 1))
    if (!order.isPartitioned) {
      const sortKey = order.sortKey(Buffer.from(key))
      places.push(sortKey, afterKey(sortKey))
    }
  }
  return places
}

for (const [name, order, isBare] of [
  ['of views', new RowOrder(collator, 'icu'), false],
  ['of bytes', new RowOrder(collator, 'raw'), false],
  ['by partition', new RowOrder(collator, 'icu', true), false],
  ['of ids', new RowOrder(collator, 'id'), true],
] as const) {
  test(`rows are found in the order ${name} as by looking at one after the other`, () => {
    const { block, rows } = blockOf(order, isBare)
    assert.ok(isBare || block.stretchCount < block.count)
    for (const place of placesAround(order, rows)) {
      for (const [row, { place: own }] of rows.entries()) {
        const wanted = Math.sign(Buffer.compare(own, place))
        assert.equal(Math.sign(order.compare(block, row, place)), wanted)
      }
      for (let from = 0; from <= rows.length; from++) {
        const found = rows.findIndex((row, i) => i >= from && Buffer.compare(row.place, place) >= 0)
        const wanted = found < 0 ? rows.length : found
        assert.equal(order.lowerBound(block, place, from), wanted)
        assert.equal(order.lowerBoundNear(block, place, from), wanted)
        for (let end = from; end <= rows.length; end += 3) {
          assert.equal(order.lowerBoundNear(block, place, from, end), Math.min(end, wanted))
        }
      }
    }
  })
}

test('a block tells where its stretches of one key begin', () => {
  const { block, rows } = blockOf(new RowOrder(collator, 'icu'))
  let stretch = -1
  for (const [row, { key }] of rows.entries()) {
    if (row === 0 || rows[row - 1]?.key !== key) assert.equal(block.stretchStart(++stretch), row)
    assert.equal(block.stretchOf(row), stretch)
  }
  assert.equal(block.stretchCount, stretch + 1)
  assert.equal(block.stretchStart(block.stretchCount), block.count)
  assert.equal(block.stretchOf(block.count), block.stretchCount)
})
