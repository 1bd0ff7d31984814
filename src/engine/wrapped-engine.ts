/**
 * An engine, and a store, that pass everything on to another one. Whoever is about a few operations extends them and
 * overrides those; `wrap` is all that an engine must say, so that no store leaves it bare. Who answers for every
 * operation of a store (checked-engine.ts, metered-engine.ts) implements the port itself instead: what the port gains
 * does not compile there until somebody has thought of it, and here it would be passed on unseen.
 */
import type { MaybePromise } from '../base/maybe-promise.ts'
import type {
  Engine,
  EngineLimits,
  EngineSupports,
  Entry,
  Key,
  Range,
  ReadTx,
  ScanOptions,
  Steps,
  Store,
  StoreId,
  StoreSize,
  WriteTx,
} from './engine.ts'

export abstract class WrappedEngine implements Engine {
  protected readonly inner: Engine

  constructor(inner: Engine) {
    this.inner = inner
  }

  get name(): string {
    return this.inner.name
  }

  get limits(): EngineLimits {
    return this.inner.limits
  }

  get supports(): EngineSupports {
    return this.inner.supports
  }

  async createStore(id: StoreId): Promise<Store> {
    return this.wrap(await this.inner.createStore(id))
  }

  store(id: StoreId): Store {
    return this.wrap(this.inner.store(id))
  }

  deleteStore(id: StoreId): Promise<void> {
    return this.inner.deleteStore(id)
  }

  listStores(): Promise<StoreId[]> {
    return this.inner.listStores()
  }

  close(): Promise<void> {
    return this.inner.close()
  }

  protected abstract wrap(store: Store): Store
}

export abstract class WrappedStore implements Store {
  readonly id: StoreId
  protected readonly inner: Store

  constructor(inner: Store) {
    this.id = inner.id
    this.inner = inner
  }

  get(key: Key): MaybePromise<Buffer | undefined> {
    return this.inner.get(key)
  }

  read<T>(work: (tx: ReadTx) => Steps<T>): MaybePromise<T> {
    return this.inner.read(work)
  }

  write<T>(work: (tx: WriteTx) => Steps<T>): Promise<T> {
    return this.inner.write(work)
  }

  scan(range: Range, options?: ScanOptions): AsyncIterable<Entry[]> {
    return this.inner.scan(range, options)
  }

  size(): Promise<StoreSize> {
    return this.inner.size()
  }

  compact(progress?: (done: number, total: number) => void): Promise<void> {
    return this.inner.compact(progress)
  }
}
