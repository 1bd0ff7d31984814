/**
 * The memory engine, whose gets take their time as those of an engine across a network do. A test may do something, or
 * wait for something, between a question and its answer.
 */
import type {
  Engine,
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
} from '../../src/engine/engine.ts'
import { MemoryEngine } from '../../src/engine/memory/memory-engine.ts'

export type OnGet = (id: StoreId, key: Key) => Promise<void> | void

export class LateEngine implements Engine {
  readonly #engine = new MemoryEngine()
  readonly name = this.#engine.name
  readonly limits = this.#engine.limits
  readonly supports = this.#engine.supports
  /** Called when a get is asked, and waited for before it is looked up. */
  onGet: OnGet = () => {}
  /** Called when a get was looked up, and waited for before it is answered. */
  afterGet: OnGet = () => {}

  async createStore(id: StoreId): Promise<Store> {
    await this.#engine.createStore(id)
    return this.store(id)
  }

  store(id: StoreId): Store {
    return new LateStore(this.#engine.store(id), this)
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

class LateStore implements Store {
  readonly id: StoreId
  readonly #store: Store
  readonly #engine: LateEngine

  constructor(store: Store, engine: LateEngine) {
    this.id = store.id
    this.#store = store
    this.#engine = engine
  }

  async get(key: Key): Promise<Buffer | undefined> {
    await this.#engine.onGet(this.id, key)
    const value = await this.#store.get(key)
    await this.#engine.afterGet(this.id, key)
    return value
  }

  async read<T>(work: (tx: ReadTx) => Steps<T>): Promise<T> {
    return this.#store.read(work)
  }

  write<T>(work: (tx: WriteTx) => Steps<T>): Promise<T> {
    return this.#store.write(work)
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
