import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '../../../../src/core/mango/json-value.ts'
import { printTerm, printTermReadably } from '../../../../src/core/mango/print-term.ts'

const TABLE: readonly (readonly [JsonValue, string, string])[] = [
  [5, '5', '5'],
  [1.5, '1.5', '1.5'],
  [1e-7, '1.0e-7', '1.0e-7'],
  [null, 'null', 'null'],
  ['é', '<<195,169>>', '<<"é">>'],
  [[1, 'a'], '[1,<<97>>]', '[1,<<"a">>]'],
  [{ a: {}, b: [] }, '{[{<<97>>,{[]}},{<<98>>,[]}]}', '{[{<<"a">>,{[]}},{<<"b">>,[]}]}'],
]

for (const [value, bytes, readable] of TABLE) {
  test(`prints ${JSON.stringify(value)}`, () => {
    assert.equal(printTerm(value), bytes)
    assert.equal(printTermReadably(value), readable)
  })
}

test('a huge value gives a short text', () => {
  const huge = Array.from({ length: 100_000 }, () => 'x'.repeat(100))
  assert.ok(printTerm(huge).length < 1100)
  assert.ok(printTerm('x'.repeat(10_000_000)).length < 1100)
})
