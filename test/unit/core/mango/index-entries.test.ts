import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../../../src/base/collate/collator.ts'
import { compileIndexKey } from '../../../../src/core/mango/index-entries.ts'
import { parseSelector } from '../../../../src/core/mango/parse-selector.ts'
import { viewCompare } from '../../../../src/core/mango/view-compare.ts'

const compare = viewCompare(openCollator())
const asc = (name: string) => ({ name, direction: 'asc' }) as const

test('a document is in the index when all fields exist', () => {
  const keyOf = compileIndexKey({ fields: [asc('a'), asc('b.c')], partial: undefined }, { compare })
  assert.deepEqual(keyOf({ _id: 'x', a: null, b: { c: [1] } }), [null, [1]])
  assert.equal(keyOf({ _id: 'x', a: 1 }), undefined)
  assert.equal(keyOf({ _id: 'x', a: 1, b: 5 }), undefined)
  assert.equal(keyOf({ _id: '_design/x', a: 1, b: { c: 1 } }), undefined)
})

test('and the partial filter matches', () => {
  const partial = parseSelector({ status: { $ne: 'done' } })
  const keyOf = compileIndexKey({ fields: [asc('n')], partial }, { compare })
  assert.deepEqual(keyOf({ _id: 'x', n: 1, status: 'open' }), [1])
  assert.equal(keyOf({ _id: 'x', n: 1, status: 'done' }), undefined)
  assert.equal(keyOf({ _id: 'x', n: 1 }), undefined)
})
