/** Promise 2: scans in batches. */
import assert from 'node:assert/strict'
import {
  ALL,
  b,
  collect,
  type EnginePromise,
  keysOf,
  number,
  putAll,
  withStore,
} from './engine-under-test.ts'

export const scanning: readonly EnginePromise[] = [
  {
    name: 'scan gives every row once, in order, whatever the batches',
    check: subject =>
      withStore(subject, async store => {
        await store.write(function* (tx) {
          for (let i = 0; i < 2500; i++) tx.put(number(i), Buffer.alloc(i % 50, 1))
        })
        const expected = Array.from({ length: 2500 }, (_, i) => number(i).toString())
        for (const options of [
          {},
          { batchCountMax: 7 },
          { batchBytesMax: 1 },
          { batchCountMax: 2500 },
        ]) {
          assert.deepEqual(keysOf(await collect(store.scan(ALL, options))), expected)
        }
        const back = await collect(store.scan(ALL, { reverse: true, batchCountMax: 999 }))
        assert.deepEqual(keysOf(back), [...expected].reverse())
        const some = await collect(store.scan(ALL, { limit: 1234, batchCountMax: 1000 }))
        assert.deepEqual(keysOf(some), expected.slice(0, 1234))
        for await (const batch of store.scan(ALL, { batchCountMax: 10 }))
          assert.ok(batch.length <= 10)
      }),
  },
  {
    name: 'scan goes on after its last key under concurrent writes',
    check: subject =>
      withStore(subject, async store => {
        await store.write(function* (tx) {
          for (let i = 0; i < 100; i += 2) tx.put(number(i), b('even'))
        })
        const seen: string[] = []
        let turn = 0
        for await (const batch of store.scan(ALL, { batchCountMax: 10 })) {
          seen.push(...keysOf(batch))
          // Behind, the last one itself, and ahead of where the scan is.
          const at = Number(seen.at(-1))
          await store.write(function* (tx) {
            if (at < 90) tx.put(number(at + 1), b('odd'))
            tx.delete(number(at))
            if (turn === 0) tx.put(number(1), b('behind'))
          })
          turn++
        }
        assert.deepEqual(seen, [...new Set(seen)].sort(), 'in order and once')
        for (let i = 0; i < 100; i += 2) assert.ok(seen.includes(number(i).toString()), `row ${i}`)
        assert.ok(seen.includes(number(19).toString()), 'a row written ahead is seen')
        assert.ok(!seen.includes(number(1).toString()), 'a row written behind is not')
      }),
  },
  {
    name: 'a scan may be left early',
    check: subject =>
      withStore(subject, async store => {
        await store.write(function* (tx) {
          for (let i = 0; i < 100; i++) tx.put(number(i), b('v'))
        })
        for await (const batch of store.scan(ALL, { batchCountMax: 3 })) {
          assert.equal(batch.length, 3)
          break
        }
        await putAll(store, [[b('after'), b('1')]])
      }),
  },
]
