/**
 * The simplest right answer to the engine port: each store is a sorted array in memory.
 *
 * For tests and for trying things out: nothing outlives the process. Reads and writes run at once
 * and to their end, so isolation and order come from JavaScript itself. Values are copied on the
 * way in and out, which keeps promise 7 without thought. Inserts in the middle move the tail of an
 * array of references: fine for the hundred thousand keys that tests use, not meant for millions.
 */
import { Failure } from '../../base/errors.ts'
import type { Engine, Store, StoreId } from '../engine.ts'
import { MemoryStore } from './memory-store.ts'
import { SortedRows } from './sorted-rows.ts'

export class MemoryEngine implements Engine {
  readonly name = 'memory'
  readonly limits = {
    keyBytesMax: 1900,
    valueBytesMax: 64 * 1024 * 1024,
    transactionBytesMax: 256 * 1024 * 1024,
  }
  readonly supports = { manyProcesses: false, manyNodes: false, persistence: false }
  readonly #stores = new Map<StoreId, SortedRows>()
  #closed = false

  async createStore(id: StoreId): Promise<Store> {
    this.#assertOpen()
    if (this.#stores.has(id)) throw new Failure('store_exists', { subject: id })
    this.#stores.set(id, new SortedRows())
    return this.store(id)
  }

  store(id: StoreId): Store {
    return new MemoryStore(id, () => {
      this.#assertOpen()
      const rows = this.#stores.get(id)
      if (rows === undefined) throw new Failure('store_missing', { subject: id })
      return rows
    })
  }

  async deleteStore(id: StoreId): Promise<void> {
    this.#assertOpen()
    this.#stores.delete(id)
  }

  async listStores(): Promise<StoreId[]> {
    this.#assertOpen()
    return [...this.#stores.keys()]
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#stores.clear()
  }

  #assertOpen(): void {
    if (this.#closed) throw new Failure('engine_closed')
  }
}
