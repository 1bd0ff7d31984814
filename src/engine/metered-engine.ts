/**
 * Counts and times what is asked of an engine. `snapshot()` gives the figures since the start;
 * whoever publishes them takes differences. The clock is an argument.
 *
 * Timing costs two readings of the clock and a promise, a quarter of what an embedded `get` takes.
 * So all gets are counted and only each sixteenth is timed; of the other operations, all are.
 */
import type { MaybePromise } from '../base/maybe-promise.ts'
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
} from './engine.ts'
import { WrappedEngine } from './wrapped-engine.ts'

/** `scan` counts batches and the time spent reading them, not what the consumer does between. */
export type MeteredOperation =
  | 'get'
  | 'read'
  | 'write'
  | 'scan'
  | 'size'
  | 'compact'
  | 'createStore'
  | 'deleteStore'
  | 'listStores'

export interface OperationFigures {
  readonly count: number
  /** How many of them the following figures are about. */
  readonly timedCount: number
  readonly failedCount: number
  readonly totalMs: number
  readonly longestMs: number
}

export type EngineFigures = Readonly<Record<MeteredOperation, OperationFigures>>

const OPERATIONS: readonly MeteredOperation[] = [
  'get',
  'read',
  'write',
  'scan',
  'size',
  'compact',
  'createStore',
  'deleteStore',
  'listStores',
]

export class MeteredEngine extends WrappedEngine {
  readonly #meters: Meters

  constructor(engine: Engine, nowMs: () => number = () => performance.now()) {
    super(engine)
    this.#meters = makeMeters(nowMs)
  }

  snapshot(): EngineFigures {
    const entries = OPERATIONS.map(name => [name, this.#meters[name].figures()] as const)
    return Object.fromEntries(entries) as EngineFigures
  }

  override createStore(id: StoreId): Promise<Store> {
    return this.#meters.createStore.time(() => super.createStore(id))
  }

  override deleteStore(id: StoreId): Promise<void> {
    return this.#meters.deleteStore.time(() => super.deleteStore(id))
  }

  override listStores(): Promise<StoreId[]> {
    return this.#meters.listStores.time(() => super.listStores())
  }

  protected wrap(store: Store): Store {
    return new MeteredStore(store, this.#meters)
  }
}

class MeteredStore implements Store {
  readonly id: StoreId
  readonly #store: Store
  readonly #meters: Meters

  constructor(store: Store, meters: Meters) {
    this.id = store.id
    this.#store = store
    this.#meters = meters
  }

  get(key: Key): MaybePromise<Buffer | undefined> {
    const meter = this.#meters.get
    return meter.skip() ? this.#store.get(key) : meter.timeNow(() => this.#store.get(key))
  }

  read<T>(work: (tx: ReadTx) => Steps<T>): MaybePromise<T> {
    return this.#meters.read.timeNow(() => this.#store.read(work))
  }

  write<T>(work: (tx: WriteTx) => Steps<T>): Promise<T> {
    return this.#meters.write.time(() => this.#store.write(work))
  }

  async *scan(range: Range, options?: ScanOptions): AsyncGenerator<Entry[], void, undefined> {
    const batches = this.#store.scan(range, options)[Symbol.asyncIterator]()
    try {
      for (;;) {
        const step = await this.#meters.scan.time(() => batches.next())
        if (step.done === true) return
        yield step.value
      }
    } finally {
      await batches.return?.()
    }
  }

  size(): Promise<StoreSize> {
    return this.#meters.size.time(() => this.#store.size())
  }

  compact(progress?: (done: number, total: number) => void): Promise<void> {
    return this.#meters.compact.time(() => this.#store.compact(progress))
  }
}

type Meters = Readonly<Record<MeteredOperation, Meter>>

const TIMED_GET_EVERY = 16

const makeMeters = (nowMs: () => number): Meters =>
  Object.fromEntries(OPERATIONS.map(name => [name, new Meter(nowMs)])) as Meters

class Meter {
  readonly #nowMs: () => number
  #skippedCount = 0
  #timedCount = 0
  #startedCount = 0
  #failedCount = 0
  #totalMs = 0
  #longestMs = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** True when the next operation need only be counted, which is done by then. */
  skip(): boolean {
    if (this.#startedCount++ % TIMED_GET_EVERY === 0) return false
    this.#skippedCount++
    return true
  }

  /**
   * Hands on the operation's own promise: a promise behind it would cost more than the counting.
   */
  time<T>(operation: () => Promise<T>): Promise<T> {
    const startMs = this.#nowMs()
    const promise = operation()
    promise.then(
      () => this.#add(startMs),
      () => {
        this.#failedCount++
        this.#add(startMs)
      },
    )
    return promise
  }

  /** For operations that may end at once. */
  timeNow<T>(operation: () => MaybePromise<T>): MaybePromise<T> {
    const startMs = this.#nowMs()
    try {
      const value = operation()
      if (value instanceof Promise) return this.time(() => value)
      this.#add(startMs)
      return value
    } catch (thrown) {
      this.#failedCount++
      this.#add(startMs)
      throw thrown
    }
  }

  figures(): OperationFigures {
    return {
      count: this.#timedCount + this.#skippedCount,
      timedCount: this.#timedCount,
      failedCount: this.#failedCount,
      totalMs: this.#totalMs,
      longestMs: this.#longestMs,
    }
  }

  #add(startMs: number): void {
    const ms = this.#nowMs() - startMs
    this.#timedCount++
    this.#totalMs += ms
    if (ms > this.#longestMs) this.#longestMs = ms
  }
}
