/** Leases: one owner at a time, handed over at the end, taken over when the owner is gone, and fenced. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { isFailure } from '../../../../src/base/errors.ts'
import { acquireLease, type Lease } from '../../../../src/core/database/lease.ts'
import type { Store } from '../../../../src/engine/engine.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'

const key = Buffer.from('lease')
const signal = new AbortController().signal
const makeStore = (): Promise<Store> => new MemoryEngine().createStore('s')

async function acquire(store: Store, durationMs = 200): Promise<Lease> {
  const lease = await acquireLease({ store, key }, { durationMs, signal })
  assert.ok(lease !== undefined)
  return lease
}

/** As if its process had died: it is not renewed any more, and not released. */
function abandon(store: Store): Promise<void> {
  const record = { owner: 'dead', renewal: 3, durationMs: 150 }
  return store.write(function* (tx) {
    tx.put(key, Buffer.from(JSON.stringify(record)))
  })
}

describe('a lease', () => {
  it('is had by one, and by the next after its release', async () => {
    const store = await makeStore()
    const first = await acquire(store)
    let isHad = false
    const waiting = acquire(store).then(lease => {
      isHad = true
      return lease
    })
    await delay(60)
    assert.equal(isHad, false)
    await first.release()
    const second = await waiting
    assert.notEqual(second.owner, first.owner)
    await second.release()
    assert.equal(await store.get(key), undefined)
  })

  it('is kept for longer than it lasts while its owner lives', async () => {
    const store = await makeStore()
    const first = await acquire(store, 120)
    let isDone = false
    const waiting = acquireLease(
      { store, key },
      { durationMs: 120, signal, isDone: async () => isDone },
    )
    await delay(500)
    assert.equal(first.isLost, false)
    isDone = true
    assert.equal(await waiting, undefined, 'who need not wait any more goes away')
    await first.release()
  })

  it('is taken over from an owner that died', async () => {
    const store = await makeStore()
    await abandon(store)
    const lease = await acquire(store)
    assert.notEqual(lease.owner, 'dead')
    await lease.release()
  })

  it('fails every transaction of an owner that lost it', async () => {
    const store = await makeStore()
    const lease = await acquire(store, 100)
    let isTold = false
    lease.onLost = () => {
      isTold = true
    }
    await store.write(function* (tx) {
      yield* lease.fence(tx)
      tx.put(Buffer.from('mine'), Buffer.from('1'))
    })
    await abandon(store)
    const late = store.write(function* (tx) {
      yield* lease.fence(tx)
      tx.put(Buffer.from('mine'), Buffer.from('2'))
    })
    await assert.rejects(late, thrown => isFailure(thrown, 'engine_busy'))
    assert.equal(String(await store.get(Buffer.from('mine'))), '1')
    while (!isTold) await delay(10)
    assert.equal(lease.isLost, true)
    await lease.release()
    assert.ok((await store.get(key)) !== undefined, 'what is another one’s is not released')
  })

  it('is not waited for by a process that ends', async () => {
    const store = await makeStore()
    const first = await acquire(store)
    const stop = new AbortController()
    const waiting = acquireLease({ store, key }, { durationMs: 200, signal: stop.signal })
    stop.abort()
    await assert.rejects(waiting, thrown => isFailure(thrown, 'engine_closed'))
    await first.release()
  })
})
