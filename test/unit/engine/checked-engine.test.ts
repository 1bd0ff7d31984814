import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AssertionError } from '../../../src/base/assert.ts'
import { isFailure } from '../../../src/base/errors.ts'
import { CheckedEngine } from '../../../src/engine/checked-engine.ts'
import type { ReadTx, WriteTx } from '../../../src/engine/engine.ts'
import { MemoryEngine } from '../../../src/engine/memory/memory-engine.ts'

const b = (text: string): Buffer => Buffer.from(text)
const tooMuch = (error: unknown) => isFailure(error, 'limit_exceeded')

describe('CheckedEngine', () => {
  const engine = new CheckedEngine(new MemoryEngine())
  const { keyBytesMax, valueBytesMax } = engine.limits
  const made = engine.createStore('s')
  const write = async (work: (tx: WriteTx) => void) =>
    (await made).write(function* (tx) {
      work(tx)
    })

  it('refuses keys and values beyond the limits', async () => {
    await assert.rejects(
      write(tx => tx.put(Buffer.alloc(keyBytesMax + 1), b('v'))),
      tooMuch,
    )
    await assert.rejects(
      write(tx => tx.delete(Buffer.alloc(keyBytesMax + 1))),
      tooMuch,
    )
    await assert.rejects(
      write(tx => tx.put(b('k'), Buffer.alloc(valueBytesMax + 1))),
      tooMuch,
    )
    await assert.rejects(
      write(tx => tx.put(Buffer.alloc(0), b('v'))),
      AssertionError,
    )
    const big = Buffer.alloc(valueBytesMax)
    await assert.rejects(
      write(tx => {
        for (let i = 0; i < 5; i++) tx.put(b(`${i}`), big)
      }),
      tooMuch,
    )
    await assert.rejects(
      write(tx => tx.put(b('k'), 'text' as unknown as Buffer)),
      AssertionError,
    )
  })

  it('finds nothing under keys that cannot be stored', async () => {
    const store = await made
    const long = Buffer.alloc(keyBytesMax + 1)
    assert.equal(await store.get(long), undefined)
    assert.equal(await store.get(Buffer.alloc(0)), undefined)
    await write(tx => tx.put(b('k'), b('v')))
    const values = await store.read(tx => tx.getMany([long, b('k')]))
    assert.deepEqual(values.map(String), ['undefined', 'v'])
  })

  it('takes range bounds a little longer than keys, and no longer', async () => {
    const store = await made
    const scan = async (length: number) =>
      store.read(tx => tx.scan({ start: b(''), end: Buffer.alloc(length, 0xff) }, { limit: 1 }))
    assert.equal((await scan(keyBytesMax + 16)).length, 1)
    await assert.rejects(scan(keyBytesMax + 17), tooMuch)
    await assert.rejects(
      async () => store.read(tx => tx.scan({ start: b(''), end: b('z') }, { limit: -1 })),
      AssertionError,
    )
    const never = store.scan({ start: b(''), end: b('z') }, { batchCountMax: 0 })
    await assert.rejects(never[Symbol.asyncIterator]().next(), AssertionError)
  })

  it('refuses ids that could not be file names', () => {
    for (const id of ['', 'A', 'a/b', '..', 'a.b', 'x'.repeat(65)]) {
      assert.throws(() => engine.store(id), AssertionError)
    }
    assert.equal(engine.store('x'.repeat(64)).id.length, 64)
  })

  it('refuses a transaction after its work has ended', async () => {
    const store = await made
    const kept: ReadTx = await store.read(function* (tx) {
      return tx
    })
    assert.throws(() => kept.get(b('k')).next(), AssertionError)
    const writer: WriteTx = await store.write(function* (tx) {
      return tx
    })
    assert.throws(() => writer.put(b('k'), b('v')), AssertionError)
  })
})
