/**
 * A store of the memory engine. Works run to their end at once; changes are collected and applied
 * after the work returned, so a work that throws changes nothing and reads inside a write see the
 * state before it.
 */
import type {
  BatchOptions,
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
import type { SortedRows } from './sorted-rows.ts'

export class MemoryStore implements Store {
  readonly id: StoreId
  readonly #rows: () => SortedRows

  constructor(id: StoreId, rows: () => SortedRows) {
    this.id = id
    this.#rows = rows
  }

  async get(key: Key): Promise<Buffer | undefined> {
    return copied(this.#rows().get(key))
  }

  async read<T>(work: (tx: ReadTx) => Steps<T>): Promise<T> {
    return finish(work(new MemoryReadTx(this.#rows())))
  }

  async write<T>(work: (tx: WriteTx) => Steps<T>): Promise<T> {
    const rows = this.#rows()
    const tx = new MemoryWriteTx(rows)
    const result = finish(work(tx))
    for (const change of tx.changes) change(rows)
    return result
  }

  scan(range: Range, options?: ScanOptions): AsyncIterable<Entry[]> {
    return scanBatches(async (rest, batch) => this.#rows().scan(rest, batch), range, options)
  }

  async size(): Promise<StoreSize> {
    const bytes = this.#rows().bytes()
    return { fileBytes: bytes, liveBytes: bytes }
  }

  /** Nothing to give back: deleted rows are gone. One step, done. */
  async compact(progress?: (done: number, total: number) => void): Promise<void> {
    this.#rows()
    progress?.(1, 1)
  }
}

class MemoryReadTx implements ReadTx {
  readonly #rows: SortedRows

  constructor(rows: SortedRows) {
    this.#rows = rows
  }

  *get(key: Key): Steps<Buffer | undefined> {
    return copied(this.#rows.get(key))
  }

  *getMany(keys: readonly Key[]): Steps<(Buffer | undefined)[]> {
    return keys.map(key => copied(this.#rows.get(key)))
  }

  *scan(range: Range, options: BatchOptions): Steps<Entry[]> {
    return this.#rows.scan(range, options)
  }
}

class MemoryWriteTx extends MemoryReadTx implements WriteTx {
  readonly changes: ((rows: SortedRows) => void)[] = []

  put(key: Key, value: Uint8Array): void {
    const [ownKey, ownValue] = [Buffer.from(key), Buffer.from(value)]
    this.changes.push(rows => rows.put(ownKey, ownValue))
  }

  delete(key: Key): void {
    const ownKey = Buffer.from(key)
    this.changes.push(rows => rows.delete(ownKey))
  }

  deleteRange(range: Range): void {
    const own = { start: Buffer.from(range.start), end: Buffer.from(range.end) }
    this.changes.push(rows => rows.deleteRange(own))
  }
}

const copied = (value: Buffer | undefined): Buffer | undefined =>
  value === undefined ? undefined : Buffer.from(value)
