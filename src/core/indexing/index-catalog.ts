/**
 * Which indexes of a database there are on disk, and the removal of those that no design document defines any more. The
 * names of their stores say it all (`core/database/store-names.ts`); that indexes go with their database, and what a
 * crash left without one, is the catalog of databases' matter.
 */
import { isFailure } from '../../base/errors.ts'
import type { Engine, StoreId, StoreSize } from '../../engine/engine.ts'
import type { Database } from '../database/database.ts'
import { readIndexStoreId } from '../database/store-names.ts'
import { ensureStore } from './open-indexes.ts'

export class IndexCatalog {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Makes the store of an index unless it is there. Fails with `database_missing` when its database is gone. */
  async prepare(database: Database, id: StoreId): Promise<void> {
    await ensureStore(this.#engine, id)
    try {
      // Whoever deletes a database deletes the indexes he sees: this one may have come too late for him.
      await database.head()
    } catch (thrown) {
      await this.#engine.deleteStore(id)
      throw thrown
    }
  }

  /** Removes the indexes of a database but those with these signatures; how many. */
  async removeOthers(databaseId: StoreId, signatures: ReadonlySet<string>): Promise<number> {
    const unused = (await this.#engine.listStores()).filter(id => {
      const index = readIndexStoreId(id)
      return index?.databaseId === databaseId && !signatures.has(index.signature)
    })
    for (const id of unused) await this.#engine.deleteStore(id)
    return unused.length
  }

  remove(id: StoreId): Promise<void> {
    return this.#engine.deleteStore(id)
  }

  /** Nothing for an index that was never built. */
  async size(id: StoreId): Promise<StoreSize> {
    try {
      return await this.#engine.store(id).size()
    } catch (thrown) {
      if (isFailure(thrown, 'store_missing')) return { fileBytes: 0, liveBytes: 0 }
      throw thrown
    }
  }

  /** Gives back disk space; nothing to do for an index that was never built or is gone. */
  async compact(id: StoreId, progress: (done: number, total: number) => void): Promise<void> {
    try {
      await this.#engine.store(id).compact(progress)
    } catch (thrown) {
      const isHarmless = isFailure(thrown, 'store_missing') || isFailure(thrown, 'engine_busy')
      if (!isHarmless) throw thrown
    }
  }
}
