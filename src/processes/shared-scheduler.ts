/**
 * What `_scheduler` tells where several nodes replicate: each puts its jobs into a store that all share, and the one that
 * follows the documents puts what became of them beside. So whichever node is asked, it tells of all; what it tells of
 * others is a few seconds old.
 */
import type {
  DocumentState,
  JobView,
  ReplicationOperations,
  SchedulerDocuments,
  SchedulerQuery,
} from '../core/operations/replication-operations.ts'
import type { Engine, Range, Store } from '../engine/engine.ts'
import { CLUSTER_STORE } from './node-registry.ts'

const JOBS = 0x03
const JOBS_OF_ALL: Range = { start: Buffer.of(JOBS), end: Buffer.of(JOBS + 1) }
const DOCUMENTS = Buffer.of(0x04)
const PUBLISH_MS = 2000
/** What has not changed is said again after this time, so that it is known to be alive. */
const REPEAT_MS = 10_000
const STALE_MS = 30_000
const DOCUMENTS_MAX = 10_000
const NODES_MAX = 1000

interface Published<T> {
  readonly seenMs: number
  readonly items: readonly T[]
}

export interface SchedulerParts {
  readonly engine: Engine
  readonly nodeName: string
  readonly own: ReplicationOperations
  readonly clock: () => number
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
}

export class SharedScheduler {
  readonly #parts: SchedulerParts
  readonly #store: Store
  readonly #published = new Map<string, { text: string; seenMs: number }>()
  readonly #timer: NodeJS.Timeout
  #publishing: Promise<void> | undefined
  /** This node follows the documents. */
  isFollowing = false

  constructor(parts: SchedulerParts) {
    this.#parts = parts
    this.#store = parts.engine.store(CLUSTER_STORE)
    this.#timer = setInterval(() => {
      this.#publishing ??= this.#publish().finally(() => {
        this.#publishing = undefined
      })
    }, PUBLISH_MS)
    this.#timer.unref()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#publishing
  }

  async jobs(): Promise<readonly JobView[]> {
    const { own, nodeName } = this.#parts
    const rows = await this.#store.read(tx => tx.scan(JOBS_OF_ALL, { limit: NODES_MAX }))
    const others = rows
      .filter(({ key }) => key.toString('utf8', 1) !== nodeName)
      .flatMap(({ value }) => this.#fresh<JobView>(value))
    return [...(await own.jobs()), ...others]
  }

  async documents(query: SchedulerQuery): Promise<SchedulerDocuments> {
    if (this.isFollowing) return this.#parts.own.documents(query)
    const bytes = await this.#store.get(DOCUMENTS)
    const all = bytes === undefined ? [] : this.#fresh<DocumentState>(bytes)
    const found = all.filter(
      ({ database, doc_id, state }) =>
        (query.database === undefined || database === query.database) &&
        (query.id === undefined || doc_id === query.id) &&
        (query.states.length === 0 || query.states.includes(state)),
    )
    if (query.descending) found.reverse()
    return { total: found.length, documents: found.slice(query.skip, query.skip + query.limit) }
  }

  #fresh<T>(bytes: Buffer): T[] {
    const { seenMs, items } = JSON.parse(bytes.toString()) as Published<T>
    return this.#parts.clock() - seenMs < STALE_MS ? [...items] : []
  }

  async #publish(): Promise<void> {
    const { own, nodeName, warn } = this.#parts
    try {
      const jobsKey = Buffer.concat([Buffer.of(JOBS), Buffer.from(nodeName)])
      await this.#put(jobsKey, await own.jobs())
      if (!this.isFollowing) return
      const query = { states: [], skip: 0, limit: DOCUMENTS_MAX, descending: false }
      await this.#put(DOCUMENTS, (await own.documents(query)).documents)
    } catch (error) {
      warn('replications could not be told to other nodes', { error: String(error) })
    }
  }

  async #put(key: Buffer, items: readonly unknown[]): Promise<void> {
    const name = key.toString('latin1')
    const text = JSON.stringify(items)
    const seenMs = this.#parts.clock()
    const before = this.#published.get(name)
    const isNew = before?.text !== text && !(before === undefined && items.length === 0)
    const isDue = items.length > 0 && seenMs - (before?.seenMs ?? 0) > REPEAT_MS
    if (!isNew && !isDue) return
    await this.#store.write(function* (tx) {
      if (items.length === 0) tx.delete(key)
      else tx.put(key, Buffer.from(JSON.stringify({ seenMs, items })))
    })
    this.#published.set(name, { text, seenMs })
  }
}
