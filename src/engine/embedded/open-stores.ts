/**
 * The files this process has open, at most so many at once. Opening finds the right file of a
 * store; the least recently used one that has no write under way is closed to make room.
 *
 * Reads run within one turn of the event loop, so a file without pending writes may be closed
 * between any two turns. `now` hands out what is open for use in the same turn; `open` is the slow
 * way. A compaction `pin`s its file.
 */
import { Failure } from '../../base/errors.ts'
import type { StoreId } from '../engine.ts'
import { LmdbEnvironment } from './lmdb-environment.ts'
import type { StoreCatalog } from './store-catalog.ts'
import { fileBytes, removeStoreFile, storePath } from './store-files.ts'
import { decodeState, STATE_KEY, type StoreState } from './store-state.ts'

const FOLLOW_MAX = 100

export interface OpenStore {
  readonly id: StoreId
  readonly generation: number
  readonly environment: LmdbEnvironment
}

interface Slot extends OpenStore {
  usedAt: number
  /** Compactions that use the file; it does not count against the limit meanwhile. */
  pins: number
  /** Just opened: stays until those who wait for it had their turn. */
  fresh: boolean
}

export class OpenStores {
  readonly #folder: string
  readonly #catalog: StoreCatalog
  readonly #countMax: number
  readonly #slots = new Map<StoreId, Slot>()
  readonly #opening = new Map<StoreId, Promise<void>>()
  readonly #closing = new Map<string, Promise<void>>()
  /** Files being opened that have room already. */
  #making = 0
  #clock = 0
  #closed = false

  constructor(folder: string, catalog: StoreCatalog, countMax: number) {
    this.#folder = folder
    this.#catalog = catalog
    this.#countMax = countMax
  }

  get count(): number {
    return this.#slots.size
  }

  /**
   * The open file of a store for use in this turn, or `undefined`: then `open` it and ask again.
   */
  now(id: StoreId): OpenStore | undefined {
    const slot = this.#slots.get(id)
    if (slot === undefined || this.#closed) return undefined
    slot.usedAt = ++this.#clock
    return slot
  }

  /** Opens a store unless it is open. Fails with `store_missing`. */
  async open(id: StoreId): Promise<void> {
    if (this.#closed) throw new Failure('engine_closed')
    if (this.#slots.has(id)) return
    let opening = this.#opening.get(id)
    if (opening === undefined) {
      opening = this.#open(id).finally(() => this.#opening.delete(id))
      this.#opening.set(id, opening)
    }
    await opening
  }

  /** Keeps a store's file open until the function that comes back is called. */
  pin(store: OpenStore): () => void {
    const slot = store as Slot
    slot.pins++
    return () => {
      slot.pins--
    }
  }

  /**
   * Closes the file of a store; the next use opens what is right by then. Pass `store` to close
   * only that one.
   */
  async retire(id: StoreId, store?: OpenStore): Promise<void> {
    await this.#opening.get(id)?.catch(() => {})
    const slot = this.#slots.get(id)
    if (slot === undefined || (store !== undefined && slot !== store)) return
    await this.#close(slot)
  }

  /** From now on `open` fails with `engine_closed`. */
  refuse(): void {
    this.#closed = true
  }

  async closeAll(): Promise<void> {
    this.refuse()
    await Promise.allSettled([...this.#opening.values()])
    await Promise.all([...this.#slots.values()].map(slot => this.#close(slot)))
    await Promise.all([...this.#closing.values()])
  }

  async #open(id: StoreId): Promise<void> {
    await this.#takeRoom()
    const found = await this.#find(id).finally(() => {
      this.#making--
    })
    const slot: Slot = { id, ...found, usedAt: ++this.#clock, pins: 0, fresh: true }
    this.#slots.set(id, slot)
    setImmediate(() => {
      slot.fresh = false
    })
    if (this.#closed) await this.#close(slot)
  }

  async #find(id: StoreId): Promise<{ generation: number; environment: LmdbEnvironment }> {
    let moved: number | undefined
    for (let steps = 0; steps < FOLLOW_MAX; steps++) {
      const row = this.#catalog.get(id)
      if (row === undefined || row.deleting) throw new Failure('store_missing', { subject: id })
      const generation = moved ?? row.generation
      const file = storePath(this.#folder, id, generation)
      await this.#closing.get(file)
      const found = await openComplete(file)
      if (found === undefined) {
        // Gone, or never was: right if the catalog says something else by now.
        if (moved === undefined && this.#catalog.get(id)?.generation === generation) {
          throw new Failure('storage_corrupt', {
            subject: file,
            reason: 'the file of a store is missing',
          })
        }
        moved = undefined
        continue
      }
      if (found.state.kind === 'live' || found.state.kind === 'journaling') {
        return { generation, environment: found.environment }
      }
      await found.environment.close()
      moved = found.state.kind === 'moved' ? found.state.generation : undefined
      if (moved === undefined) await turn()
    }
    throw new Failure('engine_busy', {
      subject: id,
      reason: 'the store changes its file all the time',
    })
  }

  /** Closes what was not used for longest until there is room; waits while everything is in use. */
  async #takeRoom(): Promise<void> {
    for (;;) {
      let counted = 0
      let oldest: Slot | undefined
      for (const slot of this.#slots.values()) {
        if (slot.pins > 0) continue
        counted++
        if (slot.fresh || slot.environment.pendingCount > 0) continue
        if (oldest === undefined || slot.usedAt < oldest.usedAt) oldest = slot
      }
      if (counted + this.#making < this.#countMax) {
        this.#making++
        return
      }
      if (oldest === undefined) await turn()
      else await this.#close(oldest)
    }
  }

  async #close(slot: Slot): Promise<void> {
    if (this.#slots.get(slot.id) === slot) this.#slots.delete(slot.id)
    const file = slot.environment.path
    const closing = slot.environment.close().finally(() => this.#closing.delete(file))
    this.#closing.set(file, closing)
    await closing
  }
}

interface CompleteFile {
  readonly environment: LmdbEnvironment
  readonly state: StoreState
}

/** Opens a file that is there and complete. LMDB would make a missing one. */
async function openComplete(file: string): Promise<CompleteFile | undefined> {
  if ((await fileBytes(file)) === undefined) return undefined
  const environment = new LmdbEnvironment(file)
  try {
    const bytes = environment.read(view => view.get(STATE_KEY))
    if (bytes !== undefined) return { environment, state: decodeState(bytes, file) }
  } catch (error) {
    await environment.close()
    throw error
  }
  // The file was removed after we looked, and opening made an empty one. Its name is never used
  // again.
  await environment.close()
  await removeStoreFile(file)
  return undefined
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
