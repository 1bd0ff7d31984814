/** Bodies that a selector surely does not match are told by their bytes, and no others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileByteFilter } from '../../../../src/core/mango/byte-filter.ts'
import type { JsonObject } from '../../../../src/core/mango/json-value.ts'
import { parseSelector } from '../../../../src/core/mango/parse-selector.ts'

function mayMatch(selector: JsonObject, body: string): boolean | undefined {
  const filter = compileByteFilter(parseSelector(selector))
  return filter?.(Buffer.from(`"a":"x"${body}`), 7)
}

test('fields and texts that are not there', () => {
  assert.equal(mayMatch({ a: { $gt: 1 } }, '{"b":1}'), false)
  assert.equal(mayMatch({ a: 'x' }, '{"a":"y"}'), false)
  assert.equal(mayMatch({ a: { $ne: 'x' } }, '{"b":"x"}'), false)
  assert.equal(mayMatch({ a: { b: 'x' } }, '{"b":"x"}'), false)
})

test('fields and texts that are there, or may be', () => {
  assert.equal(mayMatch({ a: 'x' }, '{"a":"x"}'), true)
  assert.equal(mayMatch({ a: { $gt: 1 } }, '{"\\u0061":2}'), true)
  assert.equal(mayMatch({ a: 'x' }, '{"a":"\\u0078"}'), true)
  // ICU ignores control characters, and some others.
  assert.equal(mayMatch({ a: 'x' }, '{"a":"x\u007f"}'), true)
  assert.equal(mayMatch({ a: 'x' }, '{"a":"x\u200b"}'), true)
})

test('selectors about which bytes say nothing', () => {
  for (const selector of [
    {},
    { _id: 'x' },
    { a: { $exists: false } },
    { é: 1 },
    { $or: [{ a: 1 }, { b: 1 }] },
  ]) {
    assert.equal(mayMatch(selector as JsonObject, '{}'), undefined, JSON.stringify(selector))
  }
})
