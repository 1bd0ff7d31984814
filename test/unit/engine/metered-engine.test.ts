import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MemoryEngine } from '../../../src/engine/memory/memory-engine.ts'
import { MeteredEngine } from '../../../src/engine/metered-engine.ts'

const b = (text: string): Buffer => Buffer.from(text)

it('counts and times every operation, failed ones too', async () => {
  let nowMs = 0
  const engine = new MeteredEngine(new MemoryEngine(), () => nowMs++)
  const store = await engine.createStore('s')
  await store.write(function* (tx) {
    for (const key of ['a', 'b', 'c']) tx.put(b(key), b(key))
  })
  for (let i = 0; i < 16; i++) await store.get(b('a'))
  await assert.rejects(async () => engine.store('missing').get(b('a')))
  for await (const _ of store.scan({ start: b('a'), end: b('z') }, { batchCountMax: 2 }))
    nowMs += 100
  const figures = engine.snapshot()
  const { count, ...timed } = figures.get
  assert.equal(count, 17)
  assert.deepEqual(timed, { timedCount: 2, failedCount: 1, totalMs: 2, longestMs: 1 })
  assert.equal(figures.write.count, 1)
  assert.equal(figures.createStore.count, 1)
  assert.equal(figures.scan.count, 3, 'two batches and the end')
  assert.equal(figures.scan.totalMs, 3, 'the consumer’s own time does not count')
  assert.equal(figures.compact.count, 0)
})
