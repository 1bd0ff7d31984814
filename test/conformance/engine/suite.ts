/**
 * The promises of src/engine/engine.ts, one named check each, run against any engine. A factory opens an engine on a folder;
 * `reopen` on the same folder is used where data must outlive the engine.
 */
import assert from 'node:assert/strict'
import { isFailure } from '../../../src/base/errors.ts'
import type { Engine, Entry, Range, Store } from '../../../src/engine/engine.ts'

export interface EngineUnderTest {
  /** Opens an engine; the same name opens the same data when the engine persists. */
  open(): Promise<Engine>
}

export interface EnginePromise {
  readonly name: string
  readonly check: (subject: EngineUnderTest) => Promise<void>
}

const b = (text: string): Buffer => Buffer.from(text)
const number = (value: number): Buffer => b(String(value).padStart(8, '0'))
const ALL: Range = { start: Buffer.alloc(0), end: Buffer.alloc(1910, 0xff) }

async function withStore(
  subject: EngineUnderTest,
  check: (store: Store, engine: Engine) => Promise<void>,
): Promise<void> {
  const engine = await subject.open()
  try {
    await check(await engine.createStore('store'), engine)
  } finally {
    await engine.close()
  }
}

const putAll = (store: Store, rows: readonly (readonly [Uint8Array, Uint8Array])[]) =>
  store.write(function* (tx) {
    for (const [key, value] of rows) tx.put(key, value)
  })

async function collect(batches: AsyncIterable<Entry[]>): Promise<Entry[]> {
  const rows: Entry[] = []
  for await (const batch of batches) rows.push(...batch)
  return rows
}

const keysOf = (rows: readonly Entry[]): string[] => rows.map(row => row.key.toString('latin1'))

const failsWith = (code: string) => (error: unknown) => {
  assert.ok(isFailure(error), `a Failure, not ${error}`)
  assert.equal(error.code, code)
  return true
}

const basics: EnginePromise[] = [
  {
    name: 'a value comes back as it was put, and a missing key is undefined',
    check: subject =>
      withStore(subject, async store => {
        await putAll(store, [
          [b('a'), b('one')],
          [b('empty'), Buffer.alloc(0)],
          [Buffer.from([0]), Buffer.from([0xff, 0, 250])],
          [new Uint8Array([7]), new Uint8Array([1, 2, 3]).subarray(1)],
        ])
        assert.deepEqual(await store.get(b('a')), b('one'))
        assert.deepEqual(await store.get(b('empty')), Buffer.alloc(0))
        assert.deepEqual(await store.get(Buffer.from([0])), Buffer.from([0xff, 0, 250]))
        assert.deepEqual(await store.get(Buffer.from([7])), Buffer.from([2, 3]))
        assert.equal(await store.get(b('missing')), undefined)
        assert.equal(await store.get(b('')), undefined)
        assert.ok(Buffer.isBuffer(await store.get(b('a'))))
      }),
  },
  {
    name: 'keys and values of every size up to the limits',
    check: subject =>
      withStore(subject, async (store, engine) => {
        const { keyBytesMax } = engine.limits
        const sizes = [1, 31, 32, 33, 511, 512, keyBytesMax - 1, keyBytesMax]
        const values = [0, 1, 2000, 4096, 16_383, 16_384, 16_385, 70_000, 1_000_000]
        for (const size of sizes) {
          for (const length of values) {
            const key = Buffer.alloc(size, size & 0xff)
            const value = Buffer.alloc(length, length & 0x7f)
            await putAll(store, [[key, value]])
            const back = await store.get(key)
            assert.ok(back?.equals(value), `key ${size}, value ${length}`)
            const rows = await store.read(tx => tx.scan(ALL, { limit: 100 }))
            assert.ok(rows.some(row => row.key.equals(key) && row.value.equals(value)))
          }
        }
      }),
  },
  {
    name: 'keys are ordered by unsigned bytes, a prefix before what it begins',
    check: subject =>
      withStore(subject, async store => {
        const keys = [
          '',
          '\x00',
          '\x00\x00',
          '\x01',
          'a',
          'a\x00',
          'a\x00b',
          'aa',
          'b',
          '\x7f',
          '\x80',
          '\xfe\xff',
        ]
          .filter(key => key !== '')
          .map(key => Buffer.from(key, 'latin1'))
        const shuffled = [...keys].sort((x, y) => y.compare(x))
        await putAll(
          store,
          shuffled.map(key => [key, key] as const),
        )
        const expected = keysOf(keys.map(key => ({ key, value: key })))
        const order = [...expected].sort((x, y) =>
          Buffer.from(x, 'latin1').compare(Buffer.from(y, 'latin1')),
        )
        const rows = await store.read(tx => tx.scan(ALL, { limit: 100 }))
        assert.deepEqual(keysOf(rows), order)
        const back = await store.read(tx => tx.scan(ALL, { limit: 100, reverse: true }))
        assert.deepEqual(keysOf(back), [...order].reverse())
      }),
  },
  {
    name: 'a range includes its start and leaves out its end, in both directions',
    check: subject =>
      withStore(subject, async store => {
        await putAll(
          store,
          ['a', 'b', 'c', 'd'].map(key => [b(key), b(key)] as const),
        )
        const scan = (start: string, end: string, reverse: boolean) =>
          store
            .read(tx => tx.scan({ start: b(start), end: b(end) }, { limit: 10, reverse }))
            .then(keysOf)
        assert.deepEqual(await scan('b', 'd', false), ['b', 'c'])
        assert.deepEqual(await scan('b', 'd', true), ['c', 'b'])
        assert.deepEqual(await scan('aa', 'cc', true), ['c', 'b'])
        assert.deepEqual(await scan('', 'z', true), ['d', 'c', 'b', 'a'])
        assert.deepEqual(await scan('b', 'b', false), [])
        assert.deepEqual(await scan('c', 'b', false), [])
        assert.deepEqual(await scan('c', 'b', true), [])
        assert.deepEqual(await scan('x', 'z', true), [])
        assert.deepEqual(await scan('', 'a', true), [])
      }),
  },
  {
    name: 'a scan stops at its limit and after bytesMax, but gives one row',
    check: subject =>
      withStore(subject, async store => {
        await putAll(
          store,
          ['a', 'b', 'c', 'd'].map(key => [b(key), Buffer.alloc(100)] as const),
        )
        const scan = (options: { limit: number; bytesMax?: number }) =>
          store.read(tx => tx.scan(ALL, options)).then(keysOf)
        assert.deepEqual(await scan({ limit: 2 }), ['a', 'b'])
        assert.deepEqual(await scan({ limit: 9, bytesMax: 1 }), ['a'])
        assert.deepEqual(await scan({ limit: 9, bytesMax: 150 }), ['a', 'b'])
        assert.deepEqual(await scan({ limit: 9, bytesMax: 200 }), ['a', 'b'])
        assert.deepEqual(await scan({ limit: 0 }), [])
      }),
  },
  {
    name: 'keysOnly rows carry empty values',
    check: subject =>
      withStore(subject, async store => {
        await putAll(store, [
          [b('a'), b('x')],
          [b('b'), Buffer.alloc(50_000)],
        ])
        for (const reverse of [false, true]) {
          const rows = await store.read(tx => tx.scan(ALL, { limit: 9, keysOnly: true, reverse }))
          assert.deepEqual(keysOf(rows).sort(), ['a', 'b'])
          assert.ok(rows.every(row => row.value.length === 0))
        }
      }),
  },
  {
    name: 'getMany answers in the order of its keys',
    check: subject =>
      withStore(subject, async store => {
        await putAll(store, [
          [b('a'), b('1')],
          [b('b'), b('2')],
        ])
        const values = await store.read(tx => tx.getMany([b('b'), b('x'), b('a'), b('b')]))
        assert.deepEqual(
          values.map(value => value?.toString()),
          ['2', undefined, '1', '2'],
        )
      }),
  },
]

const writing: EnginePromise[] = [
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

const scanning: EnginePromise[] = [
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

const stores: EnginePromise[] = [
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
      await assert.rejects(one.get(b('a')), failsWith('store_missing'))
      await engine.createStore('one')
      assert.equal(await one.get(b('a')), undefined)
      await putAll(one, [[b('a'), b('2')]])
      assert.deepEqual(await one.get(b('a')), b('2'))
      await engine.close()
    },
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
      await assert.rejects(store.get(b('a')), missing)
      await assert.rejects(
        store.read(tx => tx.get(b('a'))),
        missing,
      )
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
      await assert.rejects(store.get(b('a')), closed)
      await assert.rejects(
        store.read(tx => tx.get(b('a'))),
        closed,
      )
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

export const enginePromises: readonly EnginePromise[] = [
  ...basics,
  ...writing,
  ...scanning,
  ...stores,
]
