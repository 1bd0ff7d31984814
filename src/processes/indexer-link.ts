/**
 * The way from the workers to the processes that build indexes, in the primary. These are started when there is work for
 * them, one per core at the most, and end when there was none for a while. An index is worked on in one of them only;
 * what was asked of one that died is asked of another, which goes on from what is saved.
 */
import { Failure, isFailure } from '../base/errors.ts'
import { getOrAdd } from '../base/get-or-add.ts'
import type { IndexRequest } from '../core/indexing/index-updates.ts'
import { TOPIC } from './boot.ts'
import type { Channel } from './channel.ts'

/** A build takes as long as it takes; timers know no more than this. */
export const INDEX_MS = 2_147_483_647
const START_MS = 30_000
const IDLE_MS = 60_000
/** Deaths of processes that a request outlives. */
const ATTEMPTS = 4

export interface IndexerLinkParts {
  readonly countMax: number
  /** Starts one more process; `connect` follows, or `disconnect` with nothing. */
  start(): void
  /** Ends one that has nothing to do. */
  retire(channel: Channel): void
  readonly clock: () => number
}

interface Indexer {
  readonly channel: Channel
  /** Indexes it is at work on. */
  busy: number
  idleSinceMs: number
}

/** Where an index is worked on, and for how many requests. */
interface Home {
  readonly indexer: Promise<Indexer>
  requests: number
}

export class IndexerLink {
  readonly #parts: IndexerLinkParts
  readonly #indexers = new Set<Indexer>()
  readonly #homes = new Map<string, Home>()
  readonly #waiting: Waiter[] = []
  #starting = 0
  #reaper: NodeJS.Timeout | undefined

  constructor(parts: IndexerLinkParts) {
    this.#parts = parts
  }

  /** Lets a process of the tree ask. */
  serve(channel: Channel): void {
    channel.on(TOPIC.index, (request: IndexRequest) => this.#ask(request))
  }

  connect(channel: Channel): void {
    this.#starting--
    const indexer: Indexer = { channel, busy: 0, idleSinceMs: this.#parts.clock() }
    this.#indexers.add(indexer)
    // More may wait than processes are on their way.
    while (this.#waiting.length > this.#starting) this.#waiting.shift()?.resolve(indexer)
    this.#reaper ??= setInterval(() => this.#retireIdle(), IDLE_MS / 2).unref()
  }

  /** One is gone; without a channel, one that never came. */
  disconnect(channel: Channel | undefined): void {
    if (channel === undefined) {
      this.#starting--
      this.#waiting.shift()?.reject(unavailable('A process that builds indexes cannot start.'))
      return
    }
    for (const indexer of this.#indexers) {
      if (indexer.channel === channel) this.#indexers.delete(indexer)
    }
  }

  async #ask(request: IndexRequest): Promise<void> {
    const key = `${request.databaseId} ${request.signature}`
    for (let attempt = 1; ; attempt++) {
      const home = this.#enter(key)
      let indexer: Indexer | undefined
      try {
        indexer = await home.indexer
        return await indexer.channel.request<undefined>(TOPIC.index, request, INDEX_MS)
      } catch (thrown) {
        const isGone = indexer === undefined || !this.#indexers.has(indexer)
        if (!isGone || !isFailure(thrown, 'service_unavailable') || attempt >= ATTEMPTS)
          throw thrown
      } finally {
        this.#leave(key, home, indexer)
      }
    }
  }

  #enter(key: string): Home {
    const home = getOrAdd(this.#homes, key, () => ({ indexer: this.#choose(), requests: 0 }))
    home.requests++
    return home
  }

  #leave(key: string, home: Home, indexer: Indexer | undefined): void {
    const isGone = indexer === undefined || !this.#indexers.has(indexer)
    home.requests--
    if (home.requests > 0 && !isGone) return
    if (this.#homes.get(key) !== home) return
    this.#homes.delete(key)
    if (indexer === undefined) return
    indexer.busy--
    indexer.idleSinceMs = this.#parts.clock()
  }

  /** One that does nothing, a new one while there may be more, else the one that does least. */
  async #choose(): Promise<Indexer> {
    const least = [...this.#indexers].sort((a, b) => a.busy - b.busy)[0]
    const mayStart = this.#indexers.size + this.#starting < this.#parts.countMax
    const isFree = least !== undefined && least.busy === 0
    const chosen = isFree || (least !== undefined && !mayStart) ? least : undefined
    if (chosen !== undefined) {
      chosen.busy++
      return chosen
    }
    const started = await this.#started(mayStart)
    started.busy++
    return started
  }

  #started(isNew: boolean): Promise<Indexer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1)
        reject(unavailable('No process that builds indexes starts.'))
      }, START_MS)
      const waiter: Waiter = {
        resolve: indexer => {
          clearTimeout(timer)
          resolve(indexer)
        },
        reject: failure => {
          clearTimeout(timer)
          reject(failure)
        },
      }
      this.#waiting.push(waiter)
      if (!isNew) return
      this.#starting++
      this.#parts.start()
    })
  }

  #retireIdle(): void {
    const oldestMs = this.#parts.clock() - IDLE_MS
    for (const indexer of this.#indexers) {
      if (indexer.busy > 0 || indexer.idleSinceMs > oldestMs) continue
      this.#indexers.delete(indexer)
      this.#parts.retire(indexer.channel)
    }
  }
}

interface Waiter {
  resolve(indexer: Indexer): void
  reject(failure: Failure): void
}

const unavailable = (reason: string): Failure => new Failure('service_unavailable', { reason })
