/** Random changes against a plain map. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SortedRows } from '../../../../src/engine/memory/sorted-rows.ts'

const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000)

it(`agrees with a map that is sorted when asked (seed ${seed})`, () => {
  let state = seed >>> 0
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 0x1_0000_0000) * below)
  }
  const key = () => Buffer.from(String(random(2000)))
  const rows = new SortedRows()
  const model = new Map<string, string>()
  const inRange = (start: Buffer, end: Buffer) =>
    [...model.keys()].filter(
      each => start.compare(Buffer.from(each)) <= 0 && end.compare(Buffer.from(each)) > 0,
    )
  for (let step = 0; step < 8000; step++) {
    const [one, two, kind] = [key(), key(), random(100)]
    if (kind < 80) {
      rows.put(one, Buffer.from(String(step)))
      model.set(one.toString(), String(step))
    } else if (kind < 95) {
      rows.delete(one)
      model.delete(one.toString())
    } else if (kind < 96) {
      rows.deleteRange({ start: one, end: two })
      for (const each of inRange(one, two)) model.delete(each)
    } else {
      const reverse = kind < 98
      const limit = 1 + random(600)
      const found = rows
        .scan({ start: one, end: two }, { limit, reverse })
        .map(row => row.key.toString())
      const sorted = inRange(one, two).sort((x, y) => Buffer.from(x).compare(Buffer.from(y)))
      assert.deepEqual(found, (reverse ? sorted.reverse() : sorted).slice(0, limit))
    }
    assert.equal(rows.get(one)?.toString(), model.get(one.toString()))
  }
})
