/**
 * A store of the embedded engine. Each operation takes the file that is open now, looks at the
 * file's state in the same transaction, and starts over with the right file when the store has
 * moved or gone. So an answer never comes from a file that another process has replaced or deleted
 * before the operation began.
 */
import { Failure } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type {
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
} from '../engine.ts'
import { scanBatches } from '../scan-batches.ts'
import { finish } from '../steps.ts'
import type { Compactions } from './compactions.ts'
import type { EnvironmentView, EnvironmentWriter } from './lmdb-environment.ts'
import type { OpenStore, OpenStores } from './open-stores.ts'
import { fileBytes } from './store-files.ts'
import { isJournaling, isServing, STATE_KEY } from './store-state.ts'
import { EmbeddedReadTx, EmbeddedWriteTx } from './store-transaction.ts'

const ATTEMPTS_MAX = 100
const STALE = Symbol('the store has another file now')

export class EmbeddedStore implements Store {
  readonly id: StoreId
  readonly #open: OpenStores
  readonly #compactions: Compactions

  constructor(id: StoreId, open: OpenStores, compactions: Compactions) {
    this.id = id
    this.#open = open
    this.#compactions = compactions
  }

  get(key: Key): MaybePromise<Buffer | undefined> {
    return this.#read(view => view.get(key))
  }

  read<T>(work: (tx: ReadTx) => Steps<T>): MaybePromise<T> {
    return this.#read(view => finish(work(new EmbeddedReadTx(view))))
  }

  write<T>(work: (tx: WriteTx) => Steps<T>): Promise<T> {
    return this.#attempt(store => store.environment.write(writer => this.#runWrite(writer, work)))
  }

  scan(range: Range, options?: ScanOptions): AsyncIterable<Entry[]> {
    const read = async (rest: Range, batch: Parameters<EnvironmentView['scan']>[1]) =>
      this.#read(view => view.scan(rest, batch))
    return scanBatches(read, range, options)
  }

  size(): Promise<StoreSize> {
    return this.#attempt(async store => {
      const size = readServing(store, () => store.environment.size())
      if (size === STALE) return STALE
      const file = await fileBytes(store.environment.path)
      const liveBytes = size.livePages * size.pageBytes
      return { fileBytes: file ?? size.pages * size.pageBytes, liveBytes }
    })
  }

  compact(progress?: (done: number, total: number) => void): Promise<void> {
    return this.#compactions.compact(this.id, progress)
  }

  #read<T>(work: (view: EnvironmentView) => T): MaybePromise<T> {
    const store = this.#open.now(this.id)
    if (store !== undefined) {
      const answer = readServing(store, work)
      if (answer !== STALE) return answer
    }
    return this.#attempt(async each => readServing(each, work))
  }

  async #attempt<T>(operation: (store: OpenStore) => Promise<T | typeof STALE>): Promise<T> {
    for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
      const store = this.#open.now(this.id)
      if (store === undefined) {
        await this.#open.open(this.id)
        continue
      }
      const answer = await this.#run(store, operation)
      if (answer !== STALE) return answer
      await this.#open.retire(this.id, store)
    }
    throw new Failure('engine_busy', {
      subject: this.id,
      reason: 'the store is never open for long',
    })
  }

  /** A file that can no longer be written is closed, so that the next operation opens it anew. */
  async #run<T>(store: OpenStore, operation: (store: OpenStore) => Promise<T>): Promise<T> {
    try {
      return await operation(store)
    } catch (error) {
      if (store.environment.broken !== undefined) await this.#open.retire(this.id, store)
      throw error
    }
  }

  #runWrite<T>(writer: EnvironmentWriter, work: (tx: WriteTx) => Steps<T>): T | typeof STALE {
    const firstByte = writer.firstByte(STATE_KEY)
    if (!isServing(firstByte)) return STALE
    const tx = new EmbeddedWriteTx(writer)
    const result = finish(work(tx))
    tx.apply(writer)
    if (isJournaling(firstByte)) this.#compactions.keepJournal(writer, tx.touched())
    return result
  }
}

function readServing<T>(store: OpenStore, work: (view: EnvironmentView) => T): T | typeof STALE {
  return store.environment.read(view => (isServing(view.firstByte(STATE_KEY)) ? work(view) : STALE))
}
