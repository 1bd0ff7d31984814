/**
 * The default engine: LMDB, one file per store, any number of processes on the same folder.
 *
 * What is promised about deleting in another process: once `deleteStore` has resolved anywhere, no
 * process reads from or writes to the old file. The deletion is a state inside the file
 * (store-state.ts) that every read and write looks at in its own transaction, so nothing has to be
 * told to anybody for correctness. `forget` is for the disk: a process that has the removed file
 * open keeps its space until it touches the store, needs the room, or is told.
 */
import { Failure } from '../../base/errors.ts'
import type { Engine, Store, StoreId } from '../engine.ts'
import { Compactions } from './compactions.ts'
import { EMBEDDED_LIMITS, OPEN_STORES_DEFAULT } from './embedded-limits.ts'
import { EmbeddedStore } from './embedded-store.ts'
import { keepBuffersMapped } from './keep-buffers-mapped.ts'
import { OpenStores } from './open-stores.ts'
import { liveRow, StoreCatalog } from './store-catalog.ts'
import { removeStoreFile, storePath, syncFolder } from './store-files.ts'
import { createStoreFile, finishDeletion } from './store-lifecycle.ts'
import { sweepFolder } from './sweep-folder.ts'

export interface EmbeddedEngineOptions {
  readonly folder: string
  /** Files open at once in this process. */
  readonly openStoresMax?: number
  /**
   * Clears what crashed processes left behind. Only while no other process uses the folder: for the
   * one that holds its lock, before it starts others.
   */
  readonly sweep?: boolean
}

export class EmbeddedEngine implements Engine {
  readonly name = 'embedded'
  readonly limits = EMBEDDED_LIMITS
  readonly supports = { manyProcesses: true, manyNodes: false, persistence: true }
  readonly #folder: string
  readonly #catalog: StoreCatalog
  readonly #open: OpenStores
  readonly #compactions: Compactions
  /** Creating and deleting one store is done one after the other in this process. */
  readonly #changing = new Map<StoreId, Promise<unknown>>()
  #closing: Promise<void> | undefined

  static async open(options: EmbeddedEngineOptions): Promise<EmbeddedEngine> {
    keepBuffersMapped()
    const catalog = new StoreCatalog(options.folder)
    try {
      await syncFolder(options.folder)
      if (options.sweep === true) await sweepFolder(options.folder, catalog)
    } catch (error) {
      await catalog.close()
      throw error
    }
    return new EmbeddedEngine(options, catalog)
  }

  private constructor(options: EmbeddedEngineOptions, catalog: StoreCatalog) {
    this.#folder = options.folder
    this.#catalog = catalog
    this.#open = new OpenStores(
      options.folder,
      catalog,
      options.openStoresMax ?? OPEN_STORES_DEFAULT,
    )
    this.#compactions = new Compactions(options.folder, catalog, this.#open)
  }

  createStore(id: StoreId): Promise<Store> {
    return this.#change(id, () => this.#create(id))
  }

  store(id: StoreId): Store {
    return new EmbeddedStore(id, this.#open, this.#compactions)
  }

  deleteStore(id: StoreId): Promise<void> {
    return this.#change(id, () => this.#delete(id))
  }

  async listStores(): Promise<StoreId[]> {
    this.#assertOpen()
    return this.#catalog.list().flatMap(([id, row]) => (row.deleting ? [] : [id]))
  }

  /**
   * Closes the file of a store in this process, for instance because another one has deleted or
   * compacted it.
   */
  async forget(id: StoreId): Promise<void> {
    this.#assertOpen()
    await this.#open.retire(id)
  }

  /** Files this process has open. */
  get openStoreCount(): number {
    return this.#open.count
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#open.refuse()
    await this.#compactions.stop()
    await Promise.allSettled([...this.#changing.values()])
    await this.#open.closeAll()
    await this.#catalog.close()
  }

  async #create(id: StoreId): Promise<Store> {
    const row = this.#catalog.get(id)
    if (row?.deleting === true) await this.#finishDeletion(id)
    else if (row !== undefined) throw new Failure('store_exists', { subject: id })
    const generation = await this.#catalog.newGeneration()
    const file = storePath(this.#folder, id, generation)
    try {
      await createStoreFile(file)
      await syncFolder(this.#folder)
      await this.#catalog.update(id, present => {
        if (present !== undefined) throw new Failure('store_exists', { subject: id })
        return liveRow(generation)
      })
    } catch (error) {
      await removeStoreFile(file)
      throw error
    }
    return this.store(id)
  }

  async #delete(id: StoreId): Promise<void> {
    const before = await this.#catalog.update(id, row =>
      row === undefined || row.deleting ? row : { ...row, deleting: true },
    )
    if (before !== undefined) await this.#finishDeletion(id)
  }

  async #finishDeletion(id: StoreId): Promise<void> {
    await this.#open.retire(id)
    await finishDeletion(this.#folder, this.#catalog, id)
  }

  async #change<T>(id: StoreId, change: () => Promise<T>): Promise<T> {
    this.#assertOpen()
    const before = this.#changing.get(id)
    const after = (async () => {
      await before?.catch(() => {})
      return change()
    })()
    this.#changing.set(id, after)
    try {
      return await after
    } finally {
      if (this.#changing.get(id) === after) this.#changing.delete(id)
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new Failure('engine_closed')
  }
}
