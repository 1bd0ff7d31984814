/** Promises 1 and 2: keys, values, order, ranges. */
import assert from 'node:assert/strict'
import { ALL, b, type EnginePromise, keysOf, putAll, withStore } from './engine-under-test.ts'

export const basics: readonly EnginePromise[] = [
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
        const scan = async (start: string, end: string, reverse: boolean) => {
          const range = { start: b(start), end: b(end) }
          return keysOf(await store.read(tx => tx.scan(range, { limit: 10, reverse })))
        }
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
        const scan = async (options: { limit: number; bytesMax?: number }) =>
          keysOf(await store.read(tx => tx.scan(ALL, options)))
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
