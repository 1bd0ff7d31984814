/**
 * One LMDB file, opened. Knows the `lmdb` package well (with lmdb-table.ts): the version is pinned, and
 * test/unit/engine/embedded/lmdb-environment.test.ts guards each trick used here.
 *
 * - Opening takes no write lock. The package opens its table inside a write transaction on the
 *   JavaScript thread; two processes that each wait there for the other's writer, which in turn
 *   waits for its own JavaScript thread, would wait forever. The main table needs no write
 *   transaction, so `openTable` uses a read one.
 * - Reads run in a read transaction of ours that is renewed by the first access and reset after the
 *   last: each read sees the newest commit of any process, and no snapshot stays open between two.
 * - Writes queue; those that wait together share one commit and one fsync, both off the JavaScript thread. The promise
 *   resolves when the bytes are durable (`overlappingSync: false`).
 * - A failed commit rejects with LMDB's own code. Without `#watchCommits` the package prints a
 *   stack, hides the code in a second promise, and never settles writes whose transaction could not
 *   even begin.
 */
import { assert } from '../../base/assert.ts'
import { Failure } from '../../base/errors.ts'
import type { BatchOptions, Entry } from '../engine.ts'
import { rowsOfBatch } from './batch-rows.ts'
import { withMappedBuffers } from './keep-buffers-mapped.ts'
import { assertOpenable } from './lmdb-file-check.ts'
import {
  FAST_GET,
  type NativeRange,
  type NativeRow,
  type NativeStore,
  type NativeTransaction,
  native,
  openTable,
} from './lmdb-table.ts'
import { ReservedKey, type StoredKey } from './reserved-keys.ts'
import { commitFailure, storageFailure } from './storage-errors.ts'

/** What LMDB itself allows, less our first byte. The engine promises less. */
export const LMDB_KEY_BYTES_MAX = 1977

export interface EnvironmentOptions {
  /** Commits do not wait for the disk; call `sync`. For files nobody else uses yet. */
  readonly noSync?: boolean
}

/** Access to the rows within one read or one write. Not to be kept. */
export interface EnvironmentView {
  get(key: StoredKey): Buffer | undefined
  /** The first byte of a short value without copying it; -1 when there is none. */
  firstByte(key: StoredKey): number
  scan(range: StoredRange, options: BatchOptions): Entry[]
}

export interface EnvironmentWriter extends EnvironmentView {
  /** `append` asserts that the key is beyond every other one: LMDB fills its pages to the brim. */
  put(key: StoredKey, value: Uint8Array, append?: boolean): void
  delete(key: StoredKey): void
}

export interface StoredRange {
  readonly start: StoredKey
  readonly end: StoredKey
}

export interface EnvironmentSize {
  readonly pageBytes: number
  /** Pages ever used in the file. */
  readonly pages: number
  /** Pages of the tree and of large values. */
  readonly livePages: number
  readonly rows: number
}

export class LmdbEnvironment {
  readonly path: string
  readonly #db: NativeStore
  readonly #snapshot: NativeTransaction
  readonly #snapshotOptions: { readonly transaction: NativeTransaction }
  readonly #reader: EnvironmentView
  readonly #writer: EnvironmentWriter
  readonly #waiting = new Set<PendingWrite>()
  #depth = 0
  #inWrite = false
  #commitError: Error | undefined
  #applyError: Error | undefined
  #broken: Failure | undefined
  #closing: Promise<void> | undefined

  /**
   * Opens the file, or makes an empty one: whether there should be one is for the caller to know.
   */
  constructor(path: string, options: EnvironmentOptions = {}) {
    this.path = path
    assertOpenable(path)
    try {
      this.#db = withMappedBuffers(() => openTable(path, options.noSync ?? false))
      this.#snapshot = this.#db.useReadTransaction()
      // Lets go of the shared read transaction, so that from now on this one is ours alone.
      this.#db.resetReadTxn()
      native.resetTxn(this.#snapshot.address)
    } catch (error) {
      throw storageFailure(error, path)
    }
    this.#snapshotOptions = { transaction: this.#snapshot }
    this.#reader = this.#makeReader()
    this.#writer = this.#makeWriter()
    this.#watchCommits()
  }

  /** Writes that were asked for and have not been settled. */
  get pendingCount(): number {
    return this.#waiting.size
  }

  /** Set once the environment cannot write any more; it has to be closed and opened anew. */
  get broken(): Failure | undefined {
    return this.#broken
  }

  /** Runs `work` at once on one consistent and current state. */
  read<T>(work: (view: EnvironmentView) => T): T {
    if (this.#closing !== undefined) throw this.#closedFailure()
    this.#depth++
    try {
      return work(this.#reader)
    } catch (error) {
      throw isNativeError(error) ? storageFailure(error, this.path) : error
    } finally {
      if (--this.#depth === 0) native.resetTxn(this.#snapshot.address)
    }
  }

  /**
   * Runs `work` alone among all writers of all processes, and resolves when everything is durable.
   * What `work` throws rejects the promise, but what it has put by then stays put: decide first,
   * put afterwards.
   */
  write<T>(work: (writer: EnvironmentWriter) => T): Promise<T> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken)
    if (this.#closing !== undefined) return Promise.reject(this.#closedFailure())
    assert(!this.#inWrite, 'a write was started inside the work of another')
    return new Promise<T>((resolve, reject) => {
      const pending: PendingWrite = { reject }
      this.#waiting.add(pending)
      this.#db
        .transaction(() => this.#runWrite(work))
        .then(
          value => this.#settle(pending, () => resolve(value)),
          (error: unknown) => this.#settle(pending, () => reject(this.#writeFailure(error))),
        )
    })
  }

  /**
   * Like `write`, but blocks the thread: for a file nobody else uses, within the write of another.
   */
  writeSync(work: (writer: EnvironmentWriter) => void): void {
    try {
      this.#db.transactionSync(() => work(this.#writer))
    } catch (error) {
      throw isNativeError(error) ? storageFailure(error, this.path) : error
    }
  }

  async sync(): Promise<void> {
    const error = await new Promise<unknown>(resolve => this.#db.env.sync(resolve))
    if (error instanceof Error) throw storageFailure(error, this.path)
  }

  syncNow(): void {
    try {
      this.#db.env.sync()
    } catch (error) {
      throw storageFailure(error, this.path)
    }
  }

  size(): EnvironmentSize {
    const stat = this.#db.env.stat()
    return {
      pageBytes: stat.pageSize,
      pages: this.#db.env.info().lastPageNumber + 1,
      livePages: stat.treeBranchPageCount + stat.treeLeafPageCount + stat.overflowPages,
      rows: stat.entryCount,
    }
  }

  /** Waits for the writes asked for, then unmaps and closes the file. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** Closes at once; nothing may be under way. */
  closeNow(): void {
    assert(this.#waiting.size === 0 && this.#closing === undefined, 'the environment is in use')
    this.#closing = Promise.resolve()
    this.#snapshot.done()
    this.#db.env.close()
  }

  #closedFailure(): Failure {
    return new Failure('engine_busy', { subject: this.path, reason: 'the file is being closed' })
  }

  async #close(): Promise<void> {
    while (this.#waiting.size > 0) await new Promise(resolve => setImmediate(resolve))
    this.#snapshot.done()
    if (this.#broken === undefined) await this.#db.close()
    else this.#db.env.close() // the package would wait for writes that never end
  }

  #makeReader(): EnvironmentView {
    const options = this.#snapshotOptions
    return {
      get: key => this.#get(key, options),
      firstByte: key => this.#db.getBinaryFast(key, options)?.[0] ?? -1,
      scan: (range, batch) => this.#scan(range, batch, options),
    }
  }

  #makeWriter(): EnvironmentWriter {
    const db = this.#db
    return {
      get: key => this.#get(key, undefined),
      firstByte: key => db.getBinaryFast(key)?.[0] ?? -1,
      scan: (range, batch) => this.#scan(range, batch, undefined),
      put: (key, value, append) => {
        this.#apply(() => db.put(key, value, append ? APPEND : undefined))
      },
      delete: key => {
        this.#apply(() => db.remove(key))
      },
    }
  }

  /**
   * LMDB marks a transaction as failed when a put fails half way, so the commit of the whole group
   * fails and nothing of it is written. Sizes are checked before, so no other failure is known;
   * should one turn up, the commit that must not succeed is noticed in `#watchCommits`.
   */
  #apply(step: () => unknown): void {
    try {
      step()
    } catch (error) {
      this.#applyError = error as Error
      throw error
    }
  }

  #runWrite<T>(work: (writer: EnvironmentWriter) => T): T {
    this.#inWrite = true
    try {
      return work(this.#writer)
    } finally {
      this.#inWrite = false
    }
  }

  #get(key: StoredKey, options: ReadOptions): Buffer | undefined {
    if (!FAST_GET) return asBuffer(this.#db.getBinary(key, options))
    let bytes: Uint8Array | undefined
    try {
      bytes = this.#db.getBinaryFast(key, options)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return this.#getCopied(key, options)
    }
    if (bytes === undefined) return undefined
    const length = this.#db.lastSize
    // `bytes` is scratch memory or the map itself, and its `length` cannot be trusted.
    const value = Buffer.allocUnsafe(length)
    if (length > 0) value.set(new Uint8Array(bytes.buffer, bytes.byteOffset, length))
    return value
  }

  #scan(range: StoredRange, batch: BatchOptions, options: ReadOptions): Entry[] {
    if (batch.limit <= 0) return []
    const values = batch.keysOnly !== true
    const native = { ...bounds(range, batch), ...options, values }
    const found = this.#db.getRange(native)[Symbol.iterator]()
    try {
      return rowsOfBatch(found, batch, values ? entryOf : entryOfKey)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      found.return?.() // or its cursor would stay open
      return this.#scanCopied(range, batch, options)
    }
  }

  /**
   * The package wraps values over 16 KB where they lie in the map, in a buffer that it keeps by the address where the map
   * begins, for good. In a map that begins where a shorter one did (another file was there, or this one has grown) a
   * value behind the end of that buffer cannot be wrapped: a RangeError. Such values are copied, as small ones are.
   */
  #getCopied(key: StoredKey, options: ReadOptions): Buffer | undefined {
    const db = this.#db
    const getFast = () => db.getBinaryFast(key, options)
    const copying = { getBinaryFast: { value: () => db._returnLargeBuffer(getFast) } }
    return asBuffer((Object.create(db, copying) as NativeStore).getBinary(key, options))
  }

  #scanCopied(range: StoredRange, batch: BatchOptions, options: ReadOptions): Entry[] {
    const stored = (key: Buffer) =>
      range.start instanceof ReservedKey ? new ReservedKey(key) : key
    const keys = this.#scan(range, { ...batch, keysOnly: true }, options)
    return rowsOfBatch(keys[Symbol.iterator](), batch, ({ key }) => ({
      key,
      value: this.#get(stored(key), options) as Buffer,
    }))
  }

  #settle(pending: PendingWrite, outcome: () => void): void {
    // Already rejected when the environment broke.
    if (this.#waiting.delete(pending)) outcome()
  }

  #writeFailure(error: unknown): unknown {
    const commitFailed = error instanceof Error && 'commitError' in error
    if (commitFailed) return commitFailure(this.#commitError, this.path)
    return isNativeError(error) ? storageFailure(error, this.path) : error
  }

  /** Sees how each commit ended before the package does, and keeps the code it would lose. */
  #watchCommits(): void {
    const { env } = this.#db
    const startWriting = env.startWriting.bind(env)
    const watched = (address: number, callback: (status: number) => unknown) =>
      startWriting(address, status => this.#onStatus(status, callback))
    // The method sits on the prototype and cannot be assigned over.
    Object.defineProperty(env, 'startWriting', { value: watched })
  }

  #onStatus(status: number, callback: (status: number) => unknown): unknown {
    if (status === RUN_CALLBACKS) return callback(status)
    const applyError = this.#applyError
    this.#applyError = undefined
    if (status === COMMITTED || status === VISIBLE) {
      if (applyError !== undefined) this.#halfWritten(applyError)
      return callback(status)
    }
    this.#commitError = applyError ?? errorOf(status)
    const before = [...this.#waiting]
    const result = callback(COMMITTED) // rejects what was in this commit; without the noise
    setImmediate(() => this.#breakIfStuck(before, status))
    return result
  }

  /**
   * A transaction that could not begin settles nothing, now or ever: the writes of then all still
   * wait.
   */
  #breakIfStuck(before: readonly PendingWrite[], status: number): void {
    if (before.length === 0 || before.some(pending => !this.#waiting.has(pending))) return
    this.#broken = storageFailure(errorOf(status), this.path)
    for (const pending of this.#waiting) pending.reject(this.#broken)
    this.#waiting.clear()
  }

  #halfWritten(cause: Error): void {
    const lost = new Error(`a commit went through although a put failed: ${cause.message}`)
    this.#broken = storageFailure(Object.assign(lost, { code: MDB_CORRUPTED }), this.path)
    for (const pending of this.#waiting) pending.reject(this.#broken)
    this.#waiting.clear()
  }
}

/** Absent within a write. */
type ReadOptions = { readonly transaction: NativeTransaction } | undefined

const entryOf = (row: NativeRow | Buffer): Entry => {
  const { key, value } = row as NativeRow
  return { key, value: asBuffer(value) as Buffer }
}
const entryOfKey = (row: NativeRow | Buffer): Entry => ({ key: row as Buffer, value: NO_BYTES })

interface PendingWrite {
  readonly reject: (reason: unknown) => void
}

const NO_BYTES = Buffer.alloc(0)
const APPEND = { append: true } as const
const MDB_CORRUPTED = -30796

// What the native writer reports to its callback.
const COMMITTED = 0
const VISIBLE = 1
const RUN_CALLBACKS = 2

function bounds(range: StoredRange, batch: BatchOptions): NativeRange {
  if (batch.reverse !== true) return { start: range.start, end: range.end }
  return {
    start: range.end,
    end: range.start,
    reverse: true,
    exclusiveStart: true,
    inclusiveEnd: true,
  }
}

function errorOf(status: number): Error {
  try {
    native.lmdbError(status)
  } catch (error) {
    return error as Error
  }
  return new Error(`LMDB status ${status}`)
}

const isNativeError = (error: unknown): boolean =>
  error instanceof Error && typeof (error as { code?: unknown }).code === 'number'

const asBuffer = (bytes: Uint8Array | undefined): Buffer | undefined =>
  bytes === undefined || Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
