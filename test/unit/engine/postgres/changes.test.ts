/** Folding of changes: whatever order they come in, applying what is left gives what applying all of them gives. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Range } from '../../../../src/engine/engine.ts'
import { ChangingTx, PendingChanges } from '../../../../src/engine/postgres/changes.ts'
import type { Call } from '../../../../src/engine/postgres/connection.ts'
import { Statements } from '../../../../src/engine/postgres/statements.ts'

/** Answers as a store would that holds these rows. */
function apply(rows: Map<string, string>, calls: readonly Call[]): void {
  for (const { statement, parameters } of calls) {
    const [, first, second] = parameters as Buffer[]
    if (statement.name.endsWith('delete_range')) {
      for (const key of rows.keys()) {
        if (key >= String(first) && key < String(second)) rows.delete(key)
      }
    } else if (statement.name.endsWith('delete')) {
      for (const key of items(first as Buffer)) rows.delete(key)
    } else {
      const values = items(second as Buffer)
      for (const [at, key] of items(first as Buffer).entries()) rows.set(key, values[at] as string)
    }
  }
}

function items(array: Buffer): string[] {
  const found: string[] = []
  for (let at = 20; at < array.length; ) {
    const length = array.readInt32BE(at)
    found.push(array.toString('utf8', at + 4, at + 4 + length))
    at += 4 + length
  }
  return found
}

describe('pending changes', () => {
  it('come to the same as all of them one by one', () => {
    let seed = 42
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % below
    }
    const letter = (): string => 'abcdefgh'[random(8)] as string
    for (let round = 0; round < 300; round++) {
      const expected = new Map(Array.from({ length: 4 }, () => [letter(), 'old']))
      const found = new Map(expected)
      const pending = new PendingChanges()
      for (let work = 0; work < 3; work++) {
        const tx = new ChangingTx()
        for (let each = 0; each < 5; each++) change(tx, expected, random(3), letter(), letter())
        pending.add(tx.changes)
        for (const key of 'abcdefgh') {
          const known = pending.find(Buffer.from(key))
          const value = known === undefined ? found.get(key) : (known ?? undefined)?.toString()
          assert.equal(value, expected.get(key), 'reads see what will be')
        }
      }
      apply(found, pending.take(new Statements('s'), Buffer.alloc(8)))
      assert.deepEqual([...found].sort(), [...expected].sort())
      assert.ok(pending.isEmpty)
    }
  })

  it('travel in statements of bounded size', () => {
    const tx = new ChangingTx()
    for (let n = 0; n < 5000; n++) tx.put(Buffer.from(`k${n}`), Buffer.alloc(10))
    tx.put(Buffer.from('large'), Buffer.alloc(10 * 1024 * 1024))
    const pending = new PendingChanges()
    pending.add(tx.changes)
    const calls = pending.take(new Statements('s'), Buffer.alloc(8))
    assert.ok(calls.length >= 4)
    for (const { parameters } of calls) assert.ok(items(parameters[1] as Buffer).length <= 2000)
  })
})

function change(
  tx: ChangingTx,
  expected: Map<string, string>,
  kind: number,
  a: string,
  b: string,
): void {
  if (kind === 0) {
    tx.put(Buffer.from(a), Buffer.from(b))
    expected.set(a, b)
  } else if (kind === 1) {
    tx.delete(Buffer.from(a))
    expected.delete(a)
  } else {
    const range: Range = { start: Buffer.from(a), end: Buffer.from(b) }
    tx.deleteRange(range)
    for (const key of expected.keys()) if (key >= a && key < b) expected.delete(key)
  }
}
