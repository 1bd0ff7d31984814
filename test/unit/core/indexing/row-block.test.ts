import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BlockWriter } from '../../../../src/core/indexing/block-writer.ts'
import { BARE_FRAME, RowBlock, WIRE_FRAME } from '../../../../src/core/indexing/row-block.ts'

type Row = readonly [id: string, key: string, value: string]

function plainOf(rows: readonly Row[], writer = new BlockWriter()): Buffer {
  for (const row of rows) {
    const [id, key, value] = row.map(text => Buffer.from(text)) as [Buffer, Buffer, Buffer]
    writer.addKey(key, 0, key.length)
    writer.addId(id, 0, id.length)
    writer.addValue(value, 0, value.length)
  }
  return writer.finish()
}

const rowsOf = (block: RowBlock): Row[] =>
  Array.from({ length: block.count }, (_, row) => [
    String(block.idText(row)),
    String(block.keyText(row)),
    String(block.valueText(row)),
  ])

const LISTS: readonly (readonly Row[])[] = [
  [['"a"', '1', 'null']],
  [
    ['"a"', '["x"]', '1'],
    ['"ab"', '["x"]', '1'],
    ['"b"', '["x","y"]', '1'],
    ['"b"', '["x","y"]', '{"a":1}'],
    ['"a"', '["x","z"]', '{"a":1}'],
    ['"a"', '["x"]', '1'],
  ],
  // Longer than a byte can count, and texts that are the beginning of others.
  Array.from(
    { length: 300 },
    (_, i): Row => [`"${'i'.repeat(i)}"`, `"${'k'.repeat(i >> 1)}"`, 'v'.repeat((i >> 2) * 3)],
  ),
]

test('a block gives back the rows it was written from', () => {
  const writer = new BlockWriter()
  for (const rows of LISTS) {
    const plain = plainOf(rows, writer)
    const block = new RowBlock(plain, WIRE_FRAME)
    assert.deepEqual(rowsOf(block), rows)
    assert.equal(block.plainLength, plain.length)
  }
})

test('the text of rows is what a client reads, and as long as told', () => {
  for (const rows of LISTS) {
    const block = new RowBlock(plainOf(rows), WIRE_FRAME)
    for (const [from, to] of [
      [0, rows.length],
      [rows.length >> 1, rows.length],
      [0, 1],
    ] as const) {
      const want = rows
        .slice(from, to)
        .map(([id, key, value]) => `{"id":${id},"key":${key},"value":${value}}`)
        .join(',\r\n')
      assert.equal(String(block.text(from, to)), want)
      assert.equal(block.textLength(from, to), want.length)
    }
  }
})

test('a value that comes again after an empty one is not taken for it', () => {
  const rows: Row[] = [
    ['a', '', 'x'],
    ['b', '', ''],
    ['c', '', ''],
    ['d', '', 'x'],
  ]
  assert.deepEqual(rowsOf(new RowBlock(plainOf(rows), BARE_FRAME)), rows)
})

test('what neighbours have in common is said once', () => {
  const rows = Array.from(
    { length: 100 },
    (_, i): Row => [`"record-00000000${i}"`, '["a long key that all rows have"]', '1600000000000'],
  )
  assert.ok(plainOf(rows).length < 800)
})

test('a block that was cut short is not read', () => {
  const plain = plainOf(LISTS[1] as Row[])
  assert.throws(() => new RowBlock(plain.subarray(0, plain.length - 1), WIRE_FRAME))
  assert.throws(() => new RowBlock(plain.subarray(0, 12), WIRE_FRAME))
})
