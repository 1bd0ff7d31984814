/**
 * The memory engine, whose gets take their time as those of an engine across a network do. A test may do something, or
 * wait for something, between a question and its answer.
 */
import type { Key, ReadTx, Steps, Store, StoreId } from '../../src/engine/engine.ts'
import { MemoryEngine } from '../../src/engine/memory/memory-engine.ts'
import { WrappedEngine, WrappedStore } from '../../src/engine/wrapped-engine.ts'

export type OnGet = (id: StoreId, key: Key) => Promise<void> | void

export class LateEngine extends WrappedEngine {
  /** Called when a get is asked, and waited for before it is looked up. */
  onGet: OnGet = () => {}
  /** Called when a get was looked up, and waited for before it is answered. */
  afterGet: OnGet = () => {}

  constructor() {
    super(new MemoryEngine())
  }

  protected wrap(store: Store): Store {
    return new LateStore(store, this)
  }
}

class LateStore extends WrappedStore {
  readonly #engine: LateEngine

  constructor(store: Store, engine: LateEngine) {
    super(store)
    this.#engine = engine
  }

  override async get(key: Key): Promise<Buffer | undefined> {
    await this.#engine.onGet(this.id, key)
    const value = await super.get(key)
    await this.#engine.afterGet(this.id, key)
    return value
  }

  override async read<T>(work: (tx: ReadTx) => Steps<T>): Promise<T> {
    return super.read(work)
  }
}
