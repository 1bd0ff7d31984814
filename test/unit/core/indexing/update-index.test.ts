import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFarBehind } from '../../../../src/core/indexing/update-index.ts'

test('an index is far behind when it lacks many changes and a third of all', () => {
  const cases: readonly (readonly [after: number, all: number, isFar: boolean])[] = [
    [0, 0, false],
    [99, 99, false],
    [100, 100, true],
    [100, 300, true],
    [100, 301, false],
    [5000, 1_000_000, false],
  ]
  for (const [after, all, isFar] of cases) {
    assert.equal(isFarBehind({ after, all }, 100), isFar, `${after} of ${all}`)
  }
})
