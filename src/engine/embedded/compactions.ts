/**
 * The compactions of this process: at most one per store, and at most one per store among all
 * processes, by a claim in the catalog that is void when its process has died. Also keeps the
 * journal inside writes while one is under way anywhere, and ends journals that nobody will read.
 */
import { Failure } from '../../base/errors.ts'
import type { StoreId } from '../engine.ts'
import { Compaction, type CompactProgress } from './compaction.ts'
import { appendJournal, clearJournal, type Touched } from './journal.ts'
import type { EnvironmentWriter } from './lmdb-environment.ts'
import type { OpenStores } from './open-stores.ts'
import type { CatalogRow, StoreCatalog } from './store-catalog.ts'
import { decodeState, encodeState, LIVE, STATE_KEY } from './store-state.ts'

/** How often a write looks whether the compaction it keeps a journal for is still alive. */
const OWNER_CHECK_EVERY = 1000

export class Compactions {
  readonly #folder: string
  readonly #catalog: StoreCatalog
  readonly #open: OpenStores
  readonly #running = new Map<StoreId, Running>()
  #stopped = false

  constructor(folder: string, catalog: StoreCatalog, open: OpenStores) {
    this.#folder = folder
    this.#catalog = catalog
    this.#open = open
  }

  /** Joins the compaction of the store that this process runs already, if there is one. */
  async compact(id: StoreId, progress?: CompactProgress): Promise<void> {
    if (this.#stopped) throw new Failure('engine_closed')
    let running = this.#running.get(id)
    if (running === undefined) {
      running = { generation: 0, listeners: new Set(), done: Promise.resolve() }
      this.#running.set(id, running)
      running.done = this.#run(id, running).finally(() => this.#running.delete(id))
    }
    if (progress !== undefined) running.listeners.add(progress)
    await running.done
  }

  /** Asks all to give up at the next step, and waits for that. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.allSettled([...this.#running.values()].map(running => running.done))
  }

  /** Inside a write, after its changes: notes what was touched for the compaction under way. */
  keepJournal(writer: EnvironmentWriter, touched: readonly Touched[]): void {
    if (touched.length === 0) return
    const number = appendJournal(writer, touched)
    if (number % OWNER_CHECK_EVERY !== OWNER_CHECK_EVERY - 1) return
    const bytes = writer.get(STATE_KEY)
    if (bytes === undefined) return
    const state = decodeState(bytes, 'journal')
    if (this.#isAlive(state.generation, state.pid)) return
    writer.put(STATE_KEY, encodeState(LIVE))
    clearJournal(writer, Number.MAX_SAFE_INTEGER)
  }

  async #run(id: StoreId, running: Running): Promise<void> {
    const target = await this.#catalog.newGeneration()
    running.generation = target
    const before = await this.#claim(id, target)
    const compaction = new Compaction({
      folder: this.#folder,
      id,
      target,
      catalog: this.#catalog,
      open: this.#open,
      leftover: before.compactingTo,
      stopped: () => this.#stopped,
      progress: (done, total) => {
        for (const listener of running.listeners) listener(done, total)
      },
    })
    await compaction.run()
  }

  async #claim(id: StoreId, target: number): Promise<CatalogRow> {
    const before = await this.#catalog.update(id, row => {
      if (row === undefined || row.deleting) throw new Failure('store_missing', { subject: id })
      if (row.compactingTo !== 0 && this.#isAlive(row.compactingTo, row.compactingPid)) {
        throw new Failure('engine_busy', { subject: id, reason: 'the store is being compacted' })
      }
      return { ...row, compactingTo: target, compactingPid: process.pid }
    })
    return before as CatalogRow
  }

  #isAlive(generation: number, pid: number): boolean {
    // Our own number may have been that of a process long dead.
    if (pid === process.pid) {
      return [...this.#running.values()].some(running => running.generation === generation)
    }
    try {
      process.kill(pid, 0)
      return true
    } catch (error) {
      return (error as { code?: unknown }).code === 'EPERM'
    }
  }
}

interface Running {
  generation: number
  done: Promise<void>
  readonly listeners: Set<CompactProgress>
}
