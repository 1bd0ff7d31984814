/**
 * Checks what callers hand to an engine, once and in one place, so that adapters need not: sizes of
 * keys, values and transactions, ranges, ids, options, and that nothing is asked of an engine that
 * is closed or closing.
 *
 * Sizes break limits that depend on users' data and are Failures (`limit_exceeded`). The rest are
 * our own mistakes and are assertions. A transaction that is used after its work has ended is one
 * of them.
 */
import { assert } from '../base/assert.ts'
import { Failure } from '../base/errors.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type {
  BatchOptions,
  EngineLimits,
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

/**
 * The end of a range, and its start when it goes on after a key, may be a little longer than any
 * key.
 */
const BOUND_BYTES_EXTRA = 16

export class CheckedEngine extends WrappedEngine {
  #closing: Promise<void> | undefined

  override async createStore(id: StoreId): Promise<Store> {
    this.#assertOpen()
    checkId(id)
    return super.createStore(id)
  }

  override store(id: StoreId): Store {
    checkId(id)
    return super.store(id)
  }

  override async deleteStore(id: StoreId): Promise<void> {
    this.#assertOpen()
    checkId(id)
    await super.deleteStore(id)
  }

  override async listStores(): Promise<StoreId[]> {
    this.#assertOpen()
    return super.listStores()
  }

  override close(): Promise<void> {
    this.#closing ??= super.close()
    return this.#closing
  }

  protected wrap(store: Store): Store {
    return new CheckedStore(store, this.limits, () => this.#assertOpen())
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new Failure('engine_closed')
  }
}

class CheckedStore implements Store {
  readonly id: StoreId
  readonly #store: Store
  readonly #limits: EngineLimits
  readonly #assertOpen: () => void

  constructor(store: Store, limits: EngineLimits, assertOpen: () => void) {
    this.id = store.id
    this.#store = store
    this.#limits = limits
    this.#assertOpen = assertOpen
  }

  get(key: Key): MaybePromise<Buffer | undefined> {
    this.#assertOpen()
    return isUnstorable(key, this.#limits) ? this.#missing() : this.#store.get(key)
  }

  read<T>(work: (tx: ReadTx) => Steps<T>): MaybePromise<T> {
    this.#assertOpen()
    return this.#store.read(
      function* (this: CheckedStore, inner: ReadTx): Steps<T> {
        const tx = new CheckedReadTx(inner, this.#limits)
        try {
          return yield* work(tx)
        } finally {
          tx.end()
        }
      }.bind(this),
    )
  }

  async write<T>(work: (tx: WriteTx) => Steps<T>): Promise<T> {
    this.#assertOpen()
    return this.#store.write(
      function* (this: CheckedStore, inner: WriteTx): Steps<T> {
        const tx = new CheckedWriteTx(inner, this.#limits)
        try {
          return yield* work(tx)
        } finally {
          tx.end()
        }
      }.bind(this),
    )
  }

  async *scan(range: Range, options: ScanOptions = {}): AsyncGenerator<Entry[], void, undefined> {
    this.#assertOpen()
    checkRange(range, this.#limits)
    for (const count of [options.limit, options.batchCountMax, options.batchBytesMax]) {
      assert(count === undefined || isCount(count), 'scan options are whole numbers')
    }
    assert(options.batchCountMax !== 0, 'a batch of no rows would never end')
    for await (const batch of this.#store.scan(range, options)) {
      yield batch
      this.#assertOpen()
    }
  }

  async size(): Promise<StoreSize> {
    this.#assertOpen()
    return this.#store.size()
  }

  async compact(progress?: (done: number, total: number) => void): Promise<void> {
    this.#assertOpen()
    await this.#store.compact(progress)
  }

  /** A key that cannot be stored is not there; the store still has to be. */
  #missing(): MaybePromise<undefined> {
    return this.#store.read(function* () {
      return undefined
    })
  }
}

class CheckedReadTx implements ReadTx {
  readonly #tx: ReadTx
  readonly #limits: EngineLimits
  #ended = false

  constructor(tx: ReadTx, limits: EngineLimits) {
    this.#tx = tx
    this.#limits = limits
  }

  get(key: Key): Steps<Buffer | undefined> {
    this.assertRunning()
    return isUnstorable(key, this.#limits) ? nothing() : this.#tx.get(key)
  }

  getMany(keys: readonly Key[]): Steps<(Buffer | undefined)[]> {
    this.assertRunning()
    const isPlain = !keys.some(key => isUnstorable(key, this.#limits))
    return isPlain ? this.#tx.getMany(keys) : this.#oneByOne(keys)
  }

  *#oneByOne(keys: readonly Key[]): Steps<(Buffer | undefined)[]> {
    const values: (Buffer | undefined)[] = []
    for (const key of keys) values.push(yield* this.get(key))
    return values
  }

  *scan(range: Range, options: BatchOptions): Steps<Entry[]> {
    this.assertRunning()
    checkRange(range, this.#limits)
    assert(isCount(options.limit), 'a limit is a whole number')
    assert(options.bytesMax === undefined || options.bytesMax >= 0, 'bytesMax is not negative')
    return yield* this.#tx.scan(range, options)
  }

  end(): void {
    this.#ended = true
  }

  protected assertRunning(): void {
    assert(!this.#ended, 'a transaction was used after its work had ended')
  }
}

function* nothing(): Steps<undefined> {
  return undefined
}

class CheckedWriteTx extends CheckedReadTx implements WriteTx {
  readonly #tx: WriteTx
  readonly #limits: EngineLimits
  #bytes = 0

  constructor(tx: WriteTx, limits: EngineLimits) {
    super(tx, limits)
    this.#tx = tx
    this.#limits = limits
  }

  put(key: Key, value: Uint8Array): void {
    this.assertRunning()
    assert(value instanceof Uint8Array, 'a value is bytes')
    checkKey(key, this.#limits)
    checkSize('value', value.length, this.#limits.valueBytesMax)
    this.#bytes += key.length + value.length
    checkSize('transaction', this.#bytes, this.#limits.transactionBytesMax)
    this.#tx.put(key, value)
  }

  delete(key: Key): void {
    this.assertRunning()
    checkKey(key, this.#limits)
    this.#tx.delete(key)
  }

  deleteRange(range: Range): void {
    this.assertRunning()
    checkRange(range, this.#limits)
    this.#tx.deleteRange(range)
  }
}

function checkId(id: StoreId): void {
  assert(/^[a-z0-9_-]{1,64}$/.test(id), 'a store id is 1 to 64 of a-z, 0-9, - and _')
}

const isCount = (value: number): boolean =>
  value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && value >= 0)

function isUnstorable(key: Key, limits: EngineLimits): boolean {
  assert(key instanceof Uint8Array, 'a key is bytes')
  return key.length === 0 || key.length > limits.keyBytesMax
}

function checkKey(key: Key, limits: EngineLimits): void {
  assert(key instanceof Uint8Array && key.length > 0, 'a key is at least one byte')
  checkSize('key', key.length, limits.keyBytesMax)
}

function checkRange(range: Range, limits: EngineLimits): void {
  const bytesMax = limits.keyBytesMax + BOUND_BYTES_EXTRA
  for (const bound of [range.start, range.end]) {
    assert(bound instanceof Uint8Array, 'the bounds of a range are bytes')
    checkSize('range bound', bound.length, bytesMax)
  }
}

function checkSize(what: string, bytes: number, max: number): void {
  if (bytes <= max) return
  throw new Failure('limit_exceeded', { reason: `${what} of ${bytes} bytes, allowed are ${max}` })
}
