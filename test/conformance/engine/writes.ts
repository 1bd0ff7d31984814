/** Promises 3, 4 and 7: atomic, serial and visible writes; whose a buffer is. */
import assert from 'node:assert/strict'
import type { Store } from '../../../src/engine/engine.ts'
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

export const writing: readonly EnginePromise[] = [
  {
    name: 'a work that throws writes nothing and rejects with what it threw',
    check: subject =>
      withStore(subject, async store => {
        await putAll(store, [[b('a'), b('before')]])
        const thrown = new Error('no')
        const others = [putAll(store, [[b('x'), b('1')]])]
        await assert.rejects(
          store.write(function* (tx) {
            tx.put(b('a'), b('after'))
            tx.put(b('new'), b('new'))
            tx.deleteRange(ALL)
            yield* tx.get(b('a'))
            throw thrown
          }),
          error => error === thrown,
        )
        others.push(putAll(store, [[b('y'), b('1')]]))
        await Promise.all(others)
        assert.deepEqual(await store.get(b('a')), b('before'))
        assert.equal(await store.get(b('new')), undefined)
        assert.deepEqual(await store.get(b('x')), b('1'))
        assert.deepEqual(await store.get(b('y')), b('1'))
      }),
  },
  {
    name: 'a work that throws does not harm the writes around it',
    check: subject =>
      withStore(subject, async store => {
        const results = await Promise.allSettled(
          Array.from({ length: 30 }, (_, i) =>
            store.write(function* (tx) {
              tx.put(number(i), b('v'))
              if (i % 3 === 0) throw new Error('third')
              return i
            }),
          ),
        )
        for (const [i, result] of results.entries()) {
          assert.equal(result.status, i % 3 === 0 ? 'rejected' : 'fulfilled')
          assert.equal((await store.get(number(i))) !== undefined, i % 3 !== 0)
        }
      }),
  },
  {
    name: 'reads inside a write show the state before it',
    check: subject =>
      withStore(subject, async store => {
        await putAll(store, [
          [b('a'), b('1')],
          [b('b'), b('2')],
        ])
        const seen = await store.write(function* (tx) {
          tx.put(b('a'), b('changed'))
          tx.put(b('c'), b('new'))
          tx.delete(b('b'))
          const a = yield* tx.get(b('a'))
          const many = yield* tx.getMany([b('b'), b('c')])
          const rows = yield* tx.scan(ALL, { limit: 9 })
          return { a: String(a), many: many.map(String), keys: keysOf(rows) }
        })
        assert.deepEqual(seen, { a: '1', many: ['2', 'undefined'], keys: ['a', 'b'] })
        assert.deepEqual(keysOf(await collect(store.scan(ALL))), ['a', 'c'])
      }),
  },
  {
    name: 'changes are applied in the order given',
    check: subject =>
      withStore(subject, async store => {
        await putAll(store, [[b('m'), b('old')]])
        await store.write(function* (tx) {
          tx.put(b('a'), b('1'))
          tx.put(b('a'), b('2'))
          tx.put(b('b'), b('1'))
          tx.delete(b('b'))
          tx.delete(b('c'))
          tx.put(b('c'), b('1'))
          tx.put(b('n'), b('gone'))
          tx.deleteRange({ start: b('m'), end: b('o') })
          tx.put(b('n'), b('stays'))
          tx.deleteRange({ start: b('z'), end: b('a') })
        })
        const rows = await collect(store.scan(ALL))
        assert.deepEqual(
          rows.map(row => `${row.key}=${row.value}`),
          ['a=2', 'c=1', 'n=stays'],
        )
      }),
  },
  {
    name: 'deleteRange removes thousands of rows and nothing beside them',
    check: subject =>
      withStore(subject, async store => {
        await store.write(function* (tx) {
          for (let i = 0; i < 3500; i++) tx.put(number(i), b('v'))
        })
        await store.write(function* (tx) {
          tx.deleteRange({ start: number(100), end: number(3400) })
        })
        const keys = keysOf(await collect(store.scan(ALL, { keysOnly: true })))
        assert.equal(keys.length, 200)
        assert.equal(keys[99], '00000099')
        assert.equal(keys[100], '00003400')
      }),
  },
  {
    name: 'concurrent writes are serial: no update is lost',
    check: subject =>
      withStore(subject, async (store, engine) => {
        const again = engine.store(store.id)
        const increment = (target: Store) =>
          target.write(function* (tx) {
            const value = Number((yield* tx.get(b('n'))) ?? 0) + 1
            tx.put(b('n'), b(String(value)))
            return value
          })
        const counts = await Promise.all(
          Array.from({ length: 300 }, (_, i) => increment(i % 2 === 0 ? store : again)),
        )
        assert.deepEqual(String(await store.get(b('n'))), '300')
        assert.equal(new Set(counts).size, 300)
      }),
  },
  {
    name: 'a read is consistent while writes go on',
    check: subject =>
      withStore(subject, async store => {
        let going = true
        const writer = (async () => {
          for (let i = 0; i < 100; i++) {
            await putAll(store, [
              [b('a'), number(i)],
              [b('z'), number(i)],
            ])
          }
          going = false
        })()
        while (going) {
          const [a, z, rows] = await store.read(function* (tx) {
            const first = yield* tx.get(b('a'))
            const batch = yield* tx.scan(ALL, { limit: 2 })
            return [first, yield* tx.get(b('z')), batch] as const
          })
          assert.deepEqual(a, z)
          assert.ok(rows.every(row => a?.equals(row.value)))
          await new Promise(resolve => setImmediate(resolve))
        }
        await writer
      }),
  },
  {
    name: 'a write is visible to every read that starts after it resolved',
    check: subject =>
      withStore(subject, async (store, engine) => {
        const other = engine.store(store.id)
        for (let i = 0; i < 50; i++) {
          await store.get(b('n'))
          await putAll(store, [[b('n'), number(i)]])
          assert.deepEqual(await other.get(b('n')), number(i))
        }
      }),
  },
  {
    name: 'buffers handed out are the caller’s and do not change',
    check: subject =>
      withStore(subject, async store => {
        const large = Buffer.alloc(50_000, 1)
        await putAll(store, [
          [b('large'), large],
          [b('small'), b('small')],
        ])
        const [small, big] = [await store.get(b('small')), await store.get(b('large'))]
        const rows = await store.read(tx => tx.scan(ALL, { limit: 9 }))
        await store.write(function* (tx) {
          tx.put(b('large'), Buffer.alloc(50_000, 2))
          tx.put(b('small'), b('other'))
          for (let i = 0; i < 500; i++) tx.put(number(i), Buffer.alloc(2000, i))
        })
        await store.get(b('large'))
        await collect(store.scan(ALL))
        assert.deepEqual(small, b('small'))
        assert.ok(big?.equals(large))
        assert.deepEqual(keysOf(rows), ['large', 'small'])
        assert.ok(rows[0]?.value.equals(large) && rows[1]?.value.equals(b('small')))
        rows[1]?.value.fill(0)
        small?.fill(0)
        big?.fill(0)
        assert.deepEqual(await store.get(b('small')), b('other'))
      }),
  },
  {
    name: 'buffers handed in may be reused once the write resolved',
    check: subject =>
      withStore(subject, async store => {
        const key = b('k1')
        const value = b('v1')
        await putAll(store, [[key, value]])
        key.write('k2')
        value.write('v2')
        assert.deepEqual(await store.get(b('k1')), b('v1'))
        assert.equal(await store.get(b('k2')), undefined)
      }),
  },
]
