/**
 * One process of all nodes at work on an index at a time, where several nodes share an engine. The lease lies in the
 * index's own store, so every write of the work can check it in its own transaction: `engine` does that for all stores
 * whose lease this process holds. Somebody who took an index over from a process that slept is never disturbed by it.
 */
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type {
  Engine,
  Entry,
  Range,
  ReadTx,
  ScanOptions,
  Steps,
  Store,
  StoreId,
  StoreSize,
  WriteTx,
} from '../../engine/engine.ts'
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

class FencedEngine implements Engine {
  readonly #engine: Engine
  readonly #heldBy: HeldBy

  constructor(engine: Engine, heldBy: HeldBy) {
    this.#engine = engine
    this.#heldBy = heldBy
  }

  get name(): string {
    return this.#engine.name
  }

  get limits(): Engine['limits'] {
    return this.#engine.limits
  }

  get supports(): Engine['supports'] {
    return this.#engine.supports
  }

  async createStore(id: StoreId): Promise<Store> {
    return new FencedStore(await this.#engine.createStore(id), this.#heldBy)
  }

  store(id: StoreId): Store {
    return new FencedStore(this.#engine.store(id), this.#heldBy)
  }

  deleteStore(id: StoreId): Promise<void> {
    return this.#engine.deleteStore(id)
  }

  listStores(): Promise<StoreId[]> {
    return this.#engine.listStores()
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}

class FencedStore implements Store {
  readonly id: StoreId
  readonly #store: Store
  readonly #heldBy: HeldBy

  constructor(store: Store, heldBy: HeldBy) {
    this.id = store.id
    this.#store = store
    this.#heldBy = heldBy
  }

  get(key: Uint8Array): ReturnType<Store['get']> {
    return this.#store.get(key)
  }

  read<T>(work: (tx: ReadTx) => Steps<T>): MaybePromise<T> {
    return this.#store.read(work)
  }

  write<T>(work: (tx: WriteTx) => Steps<T>): Promise<T> {
    const lease = this.#heldBy(this.id)
    if (lease === undefined) return this.#store.write(work)
    return this.#store.write(function* (tx) {
      yield* lease.fence(tx)
      return yield* work(tx)
    })
  }

  scan(range: Range, options?: ScanOptions): AsyncIterable<Entry[]> {
    return this.#store.scan(range, options)
  }

  size(): Promise<StoreSize> {
    return this.#store.size()
  }

  compact(progress?: (done: number, total: number) => void): Promise<void> {
    return this.#store.compact(progress)
  }
}
