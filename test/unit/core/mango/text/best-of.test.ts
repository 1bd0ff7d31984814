/** The first of many. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BestOf } from '../../../../../src/core/mango/text/best-of.ts'

test('keeps the first so many, in order', () => {
  for (const countMax of [1, 2, 7, 50]) {
    const best = new BestOf<number>(countMax, (a, b) => a - b)
    const given = Array.from({ length: 40 }, (_, n) => (n * 17) % 41)
    for (const item of given) best.add(item)
    assert.deepEqual(best.sorted(), given.toSorted((a, b) => a - b).slice(0, countMax))
  }
})
