import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GrammarError, MappedBatch, replyItems } from '../../../../src/core/sandbox/reply-text.ts'

const rows = (batch: MappedBatch): unknown[] => {
  const seen: unknown[] = []
  batch.forEachRow(row => {
    const key = batch.bytes.toString('utf8', row.start, row.keyEnd)
    const value = batch.bytes.toString('utf8', row.keyEnd + 1, row.valueEnd)
    seen.push([row.document, row.view, key, value])
  })
  return seen
}

describe('MappedBatch', () => {
  it('reads rows, empty views and throws', () => {
    const long = `"${'x'.repeat(500)}"`
    const bytes = Buffer.from(`1\x1f2\x1e${long}\x1f${long}\x1e\x1d\x1d\x15"why"\x1d3\x1f4\x1e\x1d`)
    const batch = new MappedBatch(bytes, 2, 2)
    assert.equal(batch.rowCount, 3)
    assert.deepEqual(batch.throws, [{ document: 1, view: 0, message: 'why' }])
    assert.deepEqual(rows(batch), [
      [0, 0, '1', '2'],
      [0, 0, long, long],
      [1, 1, '3', '4'],
    ])
  })

  it('refuses what a process of ours would not say', () => {
    const bad = [
      '',
      '\x1d\x1d',
      '1\x1f2\x1d',
      '1\x1f2\x1e',
      '1',
      '\x15why\x1d',
      '\x15[1]\x1d',
      '\x15"x"',
    ]
    for (const text of bad) {
      assert.throws(() => new MappedBatch(Buffer.from(text), 1, 1), GrammarError, text)
    }
  })
})

describe('replyItems', () => {
  it('splits results and errors', () => {
    const items = replyItems(Buffer.from('null\x1e\x15{}\x1e\x1e'), 3)
    assert.deepEqual(
      items.map(item => [item.ok, item.text.toString()]),
      [
        [true, 'null'],
        [false, '{}'],
        [true, ''],
      ],
    )
  })

  it('refuses a wrong number of answers and an answer without an end', () => {
    assert.throws(() => replyItems(Buffer.from('1\x1e'), 2), GrammarError)
    assert.throws(() => replyItems(Buffer.from('1'), 1), GrammarError)
  })
})
