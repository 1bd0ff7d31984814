/**
 * PORT: who brings indexes up to date, wherever that happens. Whoever asks a view asks this first, and then reads the
 * index himself.
 *
 * `LocalIndexUpdates` does it in this process: for servers that are one process, and in the processes that do nothing
 * else. All who ask for the same index at the same time share one run.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import { getOrAdd } from '../../base/get-or-add.ts'
import type { StoreId } from '../../engine/engine.ts'
import type { Catalog } from '../database/catalog.ts'
import type { Database } from '../database/database.ts'
import type { DesignCache } from '../design/design-cache.ts'
import { BuildSlots } from './build-slots.ts'
import type { IndexCatalog } from './index-catalog.ts'
import type { IndexLeases } from './index-leases.ts'
import type { ProgressParts } from './index-progress.ts'
import type { IndexProgress } from './index-rows.ts'
import type { OpenIndex, OpenIndexes } from './open-indexes.ts'
import { updateIndex } from './update-index.ts'

/** An index and how far it must come. */
export interface IndexRequest {
  readonly databaseName: string
  readonly databaseId: StoreId
  readonly designId: string
  readonly signature: string
  readonly seq: number
  readonly purgeSeq: number
}

export interface IndexUpdates {
  /**
   * Resolves when the index has come that far. Fails with `index_changed` when the design document defines another one
   * by now, and with whatever goes wrong in its functions.
   */
  bringUp(request: IndexRequest): Promise<void>
}

export interface LocalUpdatesParts {
  readonly databases: Catalog
  readonly designs: DesignCache
  readonly indexes: OpenIndexes
  readonly catalog: IndexCatalog
  readonly batchesMax: number
  /** An index that lacks so many changes may be built anew. */
  readonly farBehindCount: () => number
  readonly progress: ProgressParts
  /** Where other nodes could be at work on the same indexes. */
  readonly leases?: IndexLeases | undefined
}

export class LocalIndexUpdates implements IndexUpdates {
  readonly #parts: LocalUpdatesParts
  readonly #runs = new Map<StoreId, Promise<IndexProgress>>()
  readonly #stop = new AbortController()
  readonly #builds = new BuildSlots(BUILDS_MAX)

  constructor(parts: LocalUpdatesParts) {
    this.#parts = parts
  }

  /** Indexes that are being updated. */
  get runCount(): number {
    return this.#runs.size
  }

  async bringUp(request: IndexRequest): Promise<void> {
    const { databases, designs, indexes } = this.#parts
    const database = await databases.open(request.databaseName)
    if (database.store.id !== request.databaseId) throw database.missing()
    const design = await designs.find(database, request.designId)
    const open = design && indexes.of(database, design)
    if (open?.signature !== request.signature) throw new Failure('index_changed')
    await this.#reach(database, open, request)
  }

  /** Ends all runs, soon; what they have saved stays. */
  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled(this.#runs.values())
  }

  async #reach(database: Database, open: OpenIndex, wanted: IndexProgress): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      try {
        const { seq, purgeSeq } = await this.#run(database, open)
        if (seq >= wanted.seq && purgeSeq >= wanted.purgeSeq) return
      } catch (thrown) {
        // Somebody removed it while it was built: unused indexes are cleaned up. Or another node took it over.
        const isOver = isFailure(thrown, 'store_missing') || isFailure(thrown, 'engine_busy')
        if (!isOver || attempt === ATTEMPTS_MAX) throw thrown
      }
    }
    // The run under way may not go far enough; the one after it does.
    throw new Failure('unexpected', { reason: 'An index does not reach a change of its database' })
  }

  /** The run that is under way, or a new one. */
  #run(database: Database, open: OpenIndex): Promise<IndexProgress> {
    const { catalog, batchesMax, progress } = this.#parts
    const farBehindCount = this.#parts.farBehindCount()
    const { signal } = this.#stop
    const builds = this.#builds
    if (signal.aborted) return Promise.reject(new Failure('engine_closed'))
    return getOrAdd(this.#runs, open.storeId, () =>
      this.#alone(database, open, () =>
        updateIndex({
          database,
          open,
          catalog,
          batchesMax,
          farBehindCount,
          progress,
          builds,
          signal,
        }),
      ).finally(() => this.#runs.delete(open.storeId)),
    )
  }

  /** Another node may be at work on it: then its work is waited for, and done here only if it does not come far enough. */
  async #alone(
    database: Database,
    open: OpenIndex,
    update: () => Promise<IndexProgress>,
  ): Promise<IndexProgress> {
    const { leases, catalog } = this.#parts
    if (leases === undefined) return update()
    await catalog.prepare(database, open.storeId)
    const { updateSeq, purgeSeq } = await database.head()
    let reached: IndexProgress | undefined
    const isDone = async (): Promise<boolean> => {
      const state = await open.index.state()
      const isFar = state?.phase === 'ready' && state.progress.seq >= updateSeq
      if (isFar && state.progress.purgeSeq >= purgeSeq) reached = state.progress
      return reached !== undefined
    }
    const done = await leases.alone(open.storeId, { signal: this.#stop.signal, isDone }, update)
    return (done ?? reached) as IndexProgress
  }
}

const ATTEMPTS_MAX = 5
/** First builds at once in a process. */
const BUILDS_MAX = 2
