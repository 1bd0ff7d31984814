/**
 * Which databases there are. The truth is the `catalog` store: name -> identity and properties; every request asks
 * it, so a database made or deleted by one process is there or gone for all others at once.
 *
 * A database's data is a store of its own, and so is each of its indexes, which go with it (`store-names.ts`). Making
 * one writes the store first and the name last; deleting takes the name away first: a crash between leaves a store
 * without a name, which `sweep` removes at the next start.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import type { Engine, Key, Range, Store, StoreId } from '../../engine/engine.ts'
import type { Notices } from '../notices/notices.ts'
import { Database, type DatabaseProperties } from './database.ts'
import { EMPTY_HEAD, encodeHead } from './database-head.ts'
import { checkDatabaseName } from './database-name.ts'
import { HEAD, PROPERTIES, SECURITY } from './keyspace.ts'
import { isDatabaseStoreId, newDatabaseStoreId, readIndexStoreId } from './store-names.ts'
import { UpdateLog } from './update-log.ts'

const CATALOG_STORE = 'catalog'
const NAMES: Range = { start: Buffer.of(0x01), end: Buffer.of(0x02) }

interface CatalogEntry extends DatabaseProperties {
  readonly storeId: string
}

export class Catalog {
  readonly #engine: Engine
  readonly #names: Store
  readonly #notices: Notices
  readonly #open = new Map<string, Database>()
  /** What the catalog said last about a name. */
  readonly #known = new Map<string, { key: Buffer; bytes: Buffer; database: Database }>()

  constructor(engine: Engine, notices: Notices) {
    this.#engine = engine
    this.#names = engine.store(CATALOG_STORE)
    this.#notices = notices
    notices.subscribe(notice => {
      if (notice.kind === 'database_deleted') this.#forget(notice.id)
    })
  }

  /** Makes the catalog itself, and the log of its updates, at the first start. */
  static async prepare(engine: Engine): Promise<void> {
    try {
      await engine.createStore(CATALOG_STORE)
    } catch (thrown) {
      if (!isFailure(thrown, 'store_exists')) throw thrown
    }
    await UpdateLog.prepare(engine)
  }

  open(name: string): MaybePromise<Database> {
    return after(this.find(name), database => {
      if (database === undefined) throw new Failure('database_missing', { subject: name })
      return database
    })
  }

  /** What the name led to when it was last asked about; it may be another's by now. */
  lastFound(name: string): Database | undefined {
    return this.#known.get(name)?.database
  }

  /** Asked by every request: one engine get, and nothing is parsed while the entry stays the same. */
  find(name: string): MaybePromise<Database | undefined> {
    const known = this.#known.get(name)
    const key = known?.key ?? nameKey(name)
    if (key === undefined) return undefined
    return after(this.#names.get(key), bytes => {
      if (bytes === undefined) return undefined
      if (known?.bytes.equals(bytes)) return known.database
      const database = this.#database(name, JSON.parse(bytes.toString()) as CatalogEntry)
      this.#known.set(name, { key, bytes, database })
      return database
    })
  }

  async create(name: string, options: CreateOptions): Promise<Database> {
    checkDatabaseName(name)
    const key = nameKey(name) as Key
    if ((await this.#names.get(key)) !== undefined) throw exists(name)
    const { security, ...properties } = options
    const entry: CatalogEntry = {
      storeId: newDatabaseStoreId(),
      ...properties,
    }
    await this.#createStore(entry, security)
    const taken = await this.#names.write(function* (tx) {
      if ((yield* tx.get(key)) !== undefined) return true
      tx.put(key, Buffer.from(JSON.stringify(entry)))
      return false
    })
    if (taken) {
      await this.#engine.deleteStore(entry.storeId)
      throw exists(name)
    }
    this.#notices.publish({ kind: 'database_created', name, id: entry.storeId })
    return this.#database(name, entry)
  }

  async delete(name: string): Promise<void> {
    const key = nameKey(name)
    if (key === undefined) throw new Failure('database_missing', { subject: name })
    const bytes = await this.#names.write(function* (tx) {
      const found = yield* tx.get(key)
      if (found !== undefined) tx.delete(key)
      return found
    })
    if (bytes === undefined) throw new Failure('database_missing', { subject: name })
    const { storeId } = JSON.parse(bytes.toString()) as CatalogEntry
    await this.#engine.deleteStore(storeId)
    this.#notices.publish({ kind: 'database_deleted', name, id: storeId })
    await this.#deleteIndexes(storeId)
  }

  async #deleteIndexes(storeId: StoreId): Promise<void> {
    for (const id of await this.#engine.listStores()) {
      if (readIndexStoreId(id)?.databaseId === storeId) await this.#engine.deleteStore(id)
    }
  }

  /** All names in byte order. */
  async names(): Promise<string[]> {
    const names: string[] = []
    for await (const rows of this.#names.scan(NAMES, { keysOnly: true })) {
      for (const row of rows) names.push(row.key.toString('utf8', 1))
    }
    return names
  }

  /** The stores of all databases, each with its name. */
  async stores(): Promise<[id: StoreId, name: string][]> {
    const stores: [StoreId, string][] = []
    for await (const rows of this.#names.scan(NAMES)) {
      for (const { key, value } of rows) {
        const { storeId } = JSON.parse(value.toString()) as CatalogEntry
        stores.push([storeId, key.toString('utf8', 1)])
      }
    }
    return stores
  }

  /** Stores that no name leads to: of databases that are being made just now, or left behind by a crash. */
  async orphans(): Promise<StoreId[]> {
    // Names are read last: what was made before it was listed has its name by then, or never gets it.
    const ids = await this.#engine.listStores()
    const named = new Set((await this.stores()).map(([id]) => id))
    return ids.filter(id => {
      const databaseId = isDatabaseStoreId(id) ? id : readIndexStoreId(id)?.databaseId
      return databaseId !== undefined && !named.has(databaseId)
    })
  }

  /**
   * Removes stores that no name leads to. While others use the engine only those that had no name a good while ago.
   *
   * @param suspects what `orphans` said then
   */
  async sweep(suspects?: readonly StoreId[]): Promise<number> {
    const orphans = await this.orphans()
    const doomed = suspects === undefined ? orphans : orphans.filter(id => suspects.includes(id))
    for (const id of doomed) await this.#engine.deleteStore(id)
    return doomed.length
  }

  async #createStore(entry: CatalogEntry, security: string): Promise<void> {
    const store = await this.#engine.createStore(entry.storeId)
    await store.write(function* (tx) {
      tx.put(HEAD, encodeHead(EMPTY_HEAD))
      tx.put(PROPERTIES, Buffer.from(JSON.stringify(entry)))
      tx.put(SECURITY, Buffer.from(security))
    })
  }

  #database(name: string, entry: CatalogEntry): Database {
    const open = this.#open.get(entry.storeId)
    if (open !== undefined) {
      // Most recently used last, so that the first is the one to let go.
      this.#open.delete(entry.storeId)
      this.#open.set(entry.storeId, open)
      return open
    }
    const { storeId, ...properties } = entry
    const store = this.#engine.store(storeId)
    const database = new Database({ name, store, properties, notices: this.#notices })
    this.#open.set(storeId, database)
    for (const [id, candidate] of this.#open) {
      if (this.#open.size <= OPEN_MAX) break
      if (!candidate.isIdle) continue
      this.#open.delete(id)
      this.#known.delete(candidate.name)
    }
    return database
  }

  #forget(storeId: string): void {
    const database = this.#open.get(storeId)
    database?.end()
    if (database !== undefined) this.#known.delete(database.name)
    this.#open.delete(storeId)
  }
}

/** Database objects kept in a process; they are small, their files are the engine's business. */
const OPEN_MAX = 10_000

export interface CreateOptions extends DatabaseProperties {
  /** The first security object, as JSON text. */
  readonly security: string
}

const exists = (name: string) => new Failure('database_exists', { subject: name })

/** Undefined for names no database can have: they may be too long or empty for a key. */
function nameKey(name: string): Buffer | undefined {
  const bytes = Buffer.from(name)
  return bytes.length === 0 || bytes.length > 1024 ? undefined : Buffer.concat([NAMES.start, bytes])
}
