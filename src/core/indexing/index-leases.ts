/**
 * One process of all nodes at work on an index at a time, where several nodes share an engine. The lease lies in the
 * index's own store, so every write of the work can check it in its own transaction: `engine` does that for all stores
 * whose lease this process holds. Somebody who took an index over from a process that slept is never disturbed by it.
 */
import type { Engine, Steps, Store, StoreId, WriteTx } from '../../engine/engine.ts'
import { WrappedEngine, WrappedStore } from '../../engine/wrapped-engine.ts'
import { acquireLease, type Lease } from '../database/lease.ts'
import { LEASE_KEY } from './index-keys.ts'

export interface AloneOptions {
  readonly signal: AbortSignal
  /** Somebody else has done it meanwhile. */
  readonly isDone: () => Promise<boolean>
}

export class IndexLeases {
  /** To be used for all that is written to indexes. */
  readonly engine: Engine
  readonly #engine: Engine
  readonly #held = new Map<StoreId, Lease>()

  constructor(engine: Engine) {
    this.#engine = engine
    this.engine = new FencedEngine(engine, id => this.#held.get(id))
  }

  /** Runs the work while nobody else does; undefined when it is not needed any more. */
  async alone<T>(
    id: StoreId,
    options: AloneOptions,
    work: () => Promise<T>,
  ): Promise<T | undefined> {
    const place = { store: this.#engine.store(id), key: LEASE_KEY }
    const lease = await acquireLease(place, options)
    if (lease === undefined) return undefined
    this.#held.set(id, lease)
    try {
      return await work()
    } finally {
      this.#held.delete(id)
      await lease.release()
    }
  }
}

type HeldBy = (id: StoreId) => Lease | undefined

class FencedEngine extends WrappedEngine {
  readonly #heldBy: HeldBy

  constructor(engine: Engine, heldBy: HeldBy) {
    super(engine)
    this.#heldBy = heldBy
  }

  protected wrap(store: Store): Store {
    return new FencedStore(store, this.#heldBy)
  }
}

class FencedStore extends WrappedStore {
  readonly #heldBy: HeldBy

  constructor(store: Store, heldBy: HeldBy) {
    super(store)
    this.#heldBy = heldBy
  }

  override write<T>(work: (tx: WriteTx) => Steps<T>): Promise<T> {
    const lease = this.#heldBy(this.id)
    if (lease === undefined) return super.write(work)
    return super.write(function* (tx) {
      yield* lease.fence(tx)
      return yield* work(tx)
    })
  }
}
