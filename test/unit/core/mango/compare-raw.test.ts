import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareCodePoints, compareRaw } from '../../../../src/core/mango/compare-raw.ts'
import type { JsonValue } from '../../../../src/core/mango/json-value.ts'

test('types and values in raw order', () => {
  const sorted: readonly JsonValue[] = [
    -1,
    0,
    2,
    false,
    null,
    true,
    {},
    { a: 1 },
    { a: 2 },
    { b: 0 },
    [],
    [1],
    [1, 2],
    [2],
    '',
    'B',
    'a',
    'é',
    '\uffee',
    '😀',
  ]
  for (const [at, value] of sorted.entries()) {
    for (const [other, second] of sorted.entries()) {
      assert.equal(Math.sign(compareRaw(value, second)), Math.sign(at - other), `${at} ${other}`)
    }
  }
})

test('texts as their UTF-8 bytes', () => {
  const texts = [
    '',
    'a',
    'ab',
    '\ud7ff',
    '\ue000',
    '\uffff',
    '\u{10000}',
    '\u{10ffff}',
    'a\u{10000}',
    'a\uffff',
  ]
  for (const a of texts) {
    for (const b of texts) {
      const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b))
      assert.equal(Math.sign(compareCodePoints(a, b)), bytes)
    }
  }
})
