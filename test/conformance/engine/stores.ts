/** Promises 3 and 8: the life of stores and of the engine. */
import assert from 'node:assert/strict'
import {
  ALL,
  b,
  collect,
  type EnginePromise,
  failsWith,
  number,
  putAll,
  withStore,
} from './engine-under-test.ts'

export const stores: readonly EnginePromise[] = [
  {
    name: 'stores are created once, listed, deleted, and made anew empty',
    check: async subject => {
      const engine = await subject.open()
      const one = await engine.createStore('one')
      await engine.createStore('two-2_x')
      await assert.rejects(engine.createStore('one'), failsWith('store_exists'))
      assert.deepEqual((await engine.listStores()).sort(), ['one', 'two-2_x'])
      await putAll(one, [[b('a'), b('1')]])
      assert.equal(await engine.store('two-2_x').get(b('a')), undefined)
      await engine.deleteStore('one')
      await engine.deleteStore('one')
      await engine.deleteStore('never-was')
      assert.deepEqual(await engine.listStores(), ['two-2_x'])
      await assert.rejects(async () => one.get(b('a')), failsWith('store_missing'))
      await engine.createStore('one')
      assert.equal(await one.get(b('a')), undefined)
      await putAll(one, [[b('a'), b('2')]])
      assert.deepEqual(await one.get(b('a')), b('2'))
      await engine.close()
    },
  },
  {
    name: 'gets of several stores that are asked together each find their own',
    check: async subject => {
      const engine = await subject.open()
      const value = (id: string, n: number): Buffer => b(`${id} ${n}`)
      // Stores with many keys and such with a few travel differently on some engines.
      const counts: Readonly<Record<string, number>> = { many: 40, some: 4, one: 1, none: 0 }
      for (const [id, count] of Object.entries(counts)) {
        const store = await engine.createStore(id)
        await putAll(
          store,
          Array.from({ length: count }, (_, n) => [number(n), value(id, n)]),
        )
      }
      const asked = Object.keys(counts).flatMap(id =>
        Array.from({ length: id === 'many' ? 45 : 5 }, (_, n) => ({ id, n })),
      )
      const order = [...asked, ...asked.toReversed()]
      const found = await Promise.all(
        order.map(async ({ id, n }) => engine.store(id).get(number(n))),
      )
      for (const [at, { id, n }] of order.entries()) {
        const expected = n < (counts[id] as number) ? value(id, n) : undefined
        assert.deepEqual(found[at], expected, `${id} ${n}`)
      }
      const missing = ['gone', 'gone', 'lost'].map(async id => engine.store(id).get(number(0)))
      const mixed = await Promise.allSettled([...missing, engine.store('one').get(number(0))])
      assert.deepEqual(
        mixed.map(({ status }) => status),
        ['rejected', 'rejected', 'rejected', 'fulfilled'],
      )
      await engine.close()
    },
  },
  {
    name: 'what is handed out twice is not shared',
    check: subject =>
      withStore(subject, async store => {
        await putAll(store, [[b('a'), b('same')]])
        const gets = Array.from({ length: 8 }, async () => store.get(b('a')))
        const [first, ...others] = await Promise.all(gets)
        first?.fill(0)
        for (const other of others) assert.deepEqual(other, b('same'))
        assert.deepEqual(await store.get(b('a')), b('same'))
      }),
  },
  {
    name: 'of many who create a store at once, one succeeds',
    check: async subject => {
      const engine = await subject.open()
      const results = await Promise.allSettled(
        Array.from({ length: 8 }, () => engine.createStore('same')),
      )
      assert.equal(results.filter(result => result.status === 'fulfilled').length, 1)
      for (const result of results) {
        if (result.status === 'rejected') failsWith('store_exists')(result.reason)
      }
      await engine.close()
    },
  },
  {
    name: 'every operation on a store that is not there fails with store_missing',
    check: async subject => {
      const engine = await subject.open()
      const store = engine.store('nothing')
      const missing = failsWith('store_missing')
      await assert.rejects(async () => store.get(b('a')), missing)
      await assert.rejects(async () => store.read(tx => tx.get(b('a'))), missing)
      await assert.rejects(putAll(store, [[b('a'), b('1')]]), missing)
      await assert.rejects(collect(store.scan(ALL)), missing)
      await assert.rejects(store.size(), missing)
      await assert.rejects(store.compact(), missing)
      await engine.close()
    },
  },
  {
    name: 'after close every call fails with engine_closed',
    check: async subject => {
      const engine = await subject.open()
      const store = await engine.createStore('store')
      const write = putAll(store, [[b('a'), b('1')]])
      await write
      await engine.close()
      await engine.close()
      const closed = failsWith('engine_closed')
      await assert.rejects(async () => store.get(b('a')), closed)
      await assert.rejects(async () => store.read(tx => tx.get(b('a'))), closed)
      await assert.rejects(putAll(store, [[b('a'), b('1')]]), closed)
      await assert.rejects(collect(store.scan(ALL)), closed)
      await assert.rejects(store.compact(), closed)
      await assert.rejects(store.size(), closed)
      await assert.rejects(engine.createStore('x'), closed)
      await assert.rejects(engine.deleteStore('x'), closed)
      await assert.rejects(engine.listStores(), closed)
    },
  },
  {
    name: 'what was written is there after closing and opening, if the engine persists',
    check: async subject => {
      const engine = await subject.open()
      const store = await engine.createStore('kept')
      const writes = Array.from({ length: 20 }, (_, i) => putAll(store, [[number(i), number(i)]]))
      const { persistence } = engine.supports
      await Promise.all(writes)
      await engine.createStore('gone')
      await engine.deleteStore('gone')
      await engine.close()
      const again = await subject.open()
      assert.deepEqual(await again.listStores(), persistence ? ['kept'] : [])
      if (persistence) {
        const rows = await collect(again.store('kept').scan(ALL))
        assert.equal(rows.length, 20)
      }
      await again.close()
    },
  },
  {
    name: 'close waits for writes under way',
    check: async subject => {
      const engine = await subject.open()
      const store = await engine.createStore('store')
      await putAll(store, [[b('first'), b('1')]])
      const writes = Array.from({ length: 20 }, (_, i) => putAll(store, [[number(i), b('v')]]))
      await engine.close()
      for (const result of await Promise.allSettled(writes)) {
        if (result.status === 'rejected') failsWith('engine_closed')(result.reason)
      }
    },
  },
  {
    name: 'size tells bytes, and compacting keeps every row',
    check: subject =>
      withStore(subject, async store => {
        for (let round = 0; round < 10; round++) {
          await store.write(function* (tx) {
            for (let i = 0; i < 300; i++) tx.put(number(i), Buffer.alloc(1000, round))
          })
        }
        await store.write(function* (tx) {
          tx.deleteRange({ start: number(10), end: number(300) })
        })
        const before = await store.size()
        assert.ok(before.fileBytes >= before.liveBytes && before.liveBytes >= 10_000)
        const steps: [number, number][] = []
        await store.compact((done, total) => steps.push([done, total]))
        assert.ok(steps.length > 0 && steps.every(([done, total]) => done <= total))
        const after = await store.size()
        assert.ok(after.fileBytes <= before.fileBytes)
        assert.ok(after.fileBytes < 200_000, `${after.fileBytes} bytes left`)
        const rows = await collect(store.scan(ALL))
        assert.equal(rows.length, 10)
        assert.ok(rows.every(row => row.value.equals(Buffer.alloc(1000, 9))))
      }),
  },
  {
    name: 'compacting loses no write that goes on meanwhile',
    check: subject =>
      withStore(subject, async store => {
        await store.write(function* (tx) {
          for (let i = 0; i < 4000; i++) tx.put(number(i), Buffer.alloc(300, 1))
        })
        const model = new Map(Array.from({ length: 4000 }, (_, i) => [i, 1]))
        let compacting = true
        const done = store.compact().finally(() => {
          compacting = false
        })
        let turn = 0
        while (compacting || turn < 20) {
          const at = (turn * 7919) % 5000
          await store.write(function* (tx) {
            tx.put(number(at), Buffer.alloc(300, turn % 200))
            tx.deleteRange({ start: number(at + 1), end: number(at + 4) })
            tx.delete(number(at + 10))
            tx.put(number(at + 2), Buffer.alloc(300, 7))
          })
          model.set(at, turn % 200)
          for (const gone of [at + 1, at + 2, at + 3, at + 10]) model.delete(gone)
          model.set(at + 2, 7)
          const back = await store.get(number(at))
          assert.equal(back?.[0], turn % 200)
          turn++
        }
        await done
        const rows = await collect(store.scan(ALL))
        assert.deepEqual(
          new Map(rows.map(row => [Number(row.key), row.value[0] as number])),
          new Map([...model].sort((x, y) => x[0] - y[0])),
        )
      }),
  },
  {
    name: 'a hundred thousand keys',
    check: subject =>
      withStore(subject, async store => {
        for (let part = 0; part < 10; part++) {
          await store.write(function* (tx) {
            for (let i = 0; i < 10_000; i++)
              tx.put(number(((part * 10_000 + i) * 7919) % 100_000), b('v'))
          })
        }
        let count = 0
        for await (const batch of store.scan(ALL, { keysOnly: true })) count += batch.length
        assert.equal(count, 100_000)
      }),
  },
]
