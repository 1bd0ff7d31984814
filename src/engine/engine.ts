/**
 * The engine port: ordered byte keys with transactions. Everything above it (documents, indexes, users,
 * configuration of databases) is keys and values in *stores*; everything below it is an existing database.
 *
 * A store is one ordered keyspace that lives and dies as a whole. The embedded engine keeps each in a file of
 * its own, so deleting a store is unlinking a file; a distributed one keeps them apart by prefix.
 *
 * What every engine promises (test/conformance/engine checks each line against each engine):
 *
 * 1. Keys are ordered by unsigned bytes, a prefix before what it begins. Keys are 1 to `limits.keyBytesMax`
 *    bytes long, values 0 to `limits.valueBytesMax`.
 * 2. `read` runs its work on one consistent state of the store. `scan` is consistent within a batch only: each
 *    batch is read afresh and goes on after the last key of the one before, so rows written meanwhile may show
 *    up further on. No client's pace ever holds a snapshot open.
 * 3. `write` is atomic, isolated and durable: when its promise resolves, the bytes survive the death of the
 *    process and of the machine. If the work throws, nothing is written and the promise rejects with what was
 *    thrown. Writes of one store are serial, whichever process makes them. The engine may commit several waiting
 *    writes together.
 * 4. Inside a write the reads show the state before that write: its own puts and deletes are applied at the
 *    end, in the order given, all or nothing.
 * 5. The work of `read` and `write` may run more than once, so it must have no effect outside its `tx`. It is a
 *    generator and not an async function: it can wait for the store and for nothing else, so a transaction never
 *    outlives a turn of the event loop on an engine that answers at once. Write it as
 *    `function* (tx) { const value = yield* tx.get(key) ... }`.
 * 6. After `kill -9` every acknowledged write is there and nothing half-written is.
 * 7. Buffers handed out belong to the caller and do not change. Buffers handed in may be reused by the caller
 *    once the promise has resolved.
 * 8. A Store object needs no closing. The engine opens and closes what lies beneath as it sees fit, and many
 *    processes may use the same stores at once when `supports.manyProcesses` is true.
 */
import type { MaybePromise } from '../base/maybe-promise.ts'

export interface Engine {
  readonly name: string
  readonly limits: EngineLimits
  readonly supports: EngineSupports

  /** Makes an empty store. Fails with `store_exists`. */
  createStore(id: StoreId): Promise<Store>
  /** A handle on a store; costs nothing. Operations on a store that is not there fail with `store_missing`. */
  store(id: StoreId): Store
  /** Removes a store and frees its space. Succeeds when there is none. */
  deleteStore(id: StoreId): Promise<void>
  /** The ids of all stores, in no order. */
  listStores(): Promise<StoreId[]>
  /** Waits for writes under way, then lets go of everything. Later calls fail with `engine_closed`. */
  close(): Promise<void>
}

/** 1 to 64 characters of a-z, 0-9, `-` and `_`: it may become a file name. */
export type StoreId = string

export interface Store {
  readonly id: StoreId
  /** One value on its own: `read` with a single `get`. At once where the engine can, and it may throw at once too. */
  get(key: Key): MaybePromise<Buffer | undefined>
  /** At once where the engine can, as `get`. */
  read<T>(work: (tx: ReadTx) => Steps<T>): MaybePromise<T>
  write<T>(work: (tx: WriteTx) => Steps<T>): Promise<T>
  /** Batches of rows in key order, at the consumer's pace. */
  scan(range: Range, options?: ScanOptions): AsyncIterable<Entry[]>
  size(): Promise<StoreSize>
  /** Gives back disk space that deleted data left behind, while reads and writes go on. */
  compact(progress?: (done: number, total: number) => void): Promise<void>
}

export interface ReadTx {
  get(key: Key): Steps<Buffer | undefined>
  getMany(keys: readonly Key[]): Steps<(Buffer | undefined)[]>
  /** At most `limit` rows, and no more after `bytesMax` bytes of values (at least one row). */
  scan(range: Range, options: BatchOptions): Steps<Entry[]>
}

export interface WriteTx extends ReadTx {
  put(key: Key, value: Uint8Array): void
  delete(key: Key): void
  deleteRange(range: Range): void
}

/** A piece of transaction: run it with `yield*`. What it yields is between it and its engine. */
export type Steps<T> = Generator<unknown, T, unknown>

export type Key = Uint8Array

/** From `start` (included) to `end` (left out). */
export interface Range {
  readonly start: Key
  readonly end: Key
}

export interface Entry {
  readonly key: Buffer
  readonly value: Buffer
}

export interface BatchOptions {
  readonly limit: number
  readonly bytesMax?: number
  readonly reverse?: boolean
  /** Rows carry empty values: cheaper where only keys matter. */
  readonly keysOnly?: boolean
}

export interface ScanOptions {
  readonly reverse?: boolean
  readonly keysOnly?: boolean
  /** Rows in all; without it, all rows of the range. */
  readonly limit?: number
  /** Rows in one batch at the most. */
  readonly batchCountMax?: number
  readonly batchBytesMax?: number
}

export interface StoreSize {
  /** Bytes on disk. */
  readonly fileBytes: number
  /** Bytes in use by live data and its tree; the rest is free for reuse. */
  readonly liveBytes: number
}

export interface EngineLimits {
  readonly keyBytesMax: number
  readonly valueBytesMax: number
  /** Puts of one write, added up. */
  readonly transactionBytesMax: number
}

export interface EngineSupports {
  /** Several processes may work on the same stores at once. */
  readonly manyProcesses: boolean
  /** Processes of several machines may: nodes that each have a tree of processes. */
  readonly manyNodes: boolean
  /** Data outlives the process. */
  readonly persistence: boolean
}
