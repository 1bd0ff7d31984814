/**
 * Follows the changes of the main database and runs transitions on what changed, a batch at a time. How far it came is
 * kept in `_local/transitions-seq` of the sentinel database, after the work is written: a process that is killed and
 * begins anew does the last batch again, and by the promise of transitions nothing comes of that.
 *
 * While changes come one after the other they are gathered for a moment: a batch of one costs much the same as one of
 * many. What this process itself has written comes back as changes and is let pass. Work that fails is tried again with a
 * pause; a document that fails again and again while others do not is left, and told.
 */
import { type FailureCode, isFailure } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { printRevision } from '../../core/document/revision.ts'
import type { ChangeRow } from '../../core/operations/change-rows.ts'
import type { DatabaseOperations } from '../../core/operations/operations.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { readLocal, writeLocal } from '../documents/local-document.ts'
import { isInfoId } from '../info-documents/info-document.ts'
import type { BatchItem, BatchResult } from './run-batch.ts'

export const TRANSITIONS_SEQ = '_local/transitions-seq'
const BATCH = 200
const ATTEMPTS_MAX = 5
const FEED_WAIT_MS = 60_000
const PAUSE_MS_MAX = 30_000
/** From the beginning of a batch that took all there was to that of the next one, at the least. */
const GATHER_MS = 50
/** Revisions of ours that are still to come by. */
const OWN_MAX = 20_000

export interface ChangeProcessorParts {
  readonly data: DocumentDatabase
  readonly sentinel: DocumentDatabase
  readonly run: (items: readonly BatchItem[]) => Promise<BatchResult>
  readonly log: Log
  /** Rejects when the signal fires. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<unknown>
  /** Told after a batch which documents it was about. */
  readonly onBatch: (ids: readonly string[]) => void
}

export class ChangeProcessor {
  readonly #parts: ChangeProcessorParts
  readonly #stop = new AbortController()
  /** `id rev`, in the order they were written. */
  readonly #own = new Set<string>()
  readonly #waiting = new Set<() => void>()
  #doneSeq = 0
  #hurry: AbortController | undefined
  #ended: Promise<void> = Promise.resolve()

  constructor(parts: ChangeProcessorParts) {
    this.#parts = parts
  }

  start(): void {
    this.#ended = this.#follow()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#ended
  }

  /** Resolves when everything is done that was there at the call; nothing is gathered meanwhile. */
  async caughtUp(): Promise<void> {
    const { database } = await this.#parts.data.open()
    const { updateSeq } = await database.head()
    while (this.#doneSeq < updateSeq && !this.#stop.signal.aborted) {
      await new Promise<void>(resolve => {
        this.#waiting.add(resolve)
        this.#hurry?.abort()
      })
    }
  }

  async #follow(): Promise<void> {
    const { signal } = this.#stop
    for (let failures = 0; !signal.aborted; ) {
      try {
        const database = await this.#parts.data.open()
        await this.#followChanges(database, () => {
          failures = 0
        })
      } catch (thrown) {
        if (signal.aborted || isFailure(thrown, 'engine_closed')) break
        failures++
        this.#parts.log.error('transitions cannot go on for the moment', { error: thrown })
      }
      const pauseMs = Math.min(PAUSE_MS_MAX, 100 * 2 ** Math.min(failures, 10))
      await this.#parts.wait(pauseMs, signal).catch(() => {})
    }
    this.#wake()
  }

  async #followChanges(database: DatabaseOperations, onProgress: () => void): Promise<void> {
    const { updateSeq } = await database.database.head()
    const feed = await database.openChanges({
      since: await this.#place(database),
      limit: Number.MAX_SAFE_INTEGER,
      allLeaves: false,
      feed: 'continuous',
      descending: false,
      waitMs: FEED_WAIT_MS,
      beats: true,
    })
    let batchMs = Number.NEGATIVE_INFINITY
    for await (const event of feed.events(this.#stop.signal)) {
      if (event.kind === 'waiting') {
        this.#noteDone(Math.max(updateSeq, this.#doneSeq))
        await this.#gather(batchMs + GATHER_MS - performance.now())
      }
      if (event.kind !== 'rows') continue
      batchMs = performance.now()
      for (let at = 0; at < event.rows.length && !this.#stop.signal.aborted; at += BATCH) {
        const rows = event.rows.slice(at, at + BATCH)
        await this.#process(this.#itemsOf(database, rows))
        if (this.#stop.signal.aborted) return
        const last = rows.at(-1)?.seq as number
        const value = database.printSequence(last)
        const { life } = database.database
        await writeLocal(this.#parts.sentinel, TRANSITIONS_SEQ, { value, life })
        this.#noteDone(last)
        onProgress()
      }
    }
  }

  /** Lets changes come together, unless somebody waits for them. */
  async #gather(ms: number): Promise<void> {
    if (ms <= 0 || this.#waiting.size > 0) return
    this.#hurry = new AbortController()
    const signal = AbortSignal.any([this.#stop.signal, this.#hurry.signal])
    await this.#parts.wait(ms, signal).catch(() => {})
    this.#hurry = undefined
  }

  /** Where to begin: at the first change of a database that was made anew. */
  async #place({ database }: DatabaseOperations): Promise<string> {
    const kept = await readLocal(this.#parts.sentinel, TRANSITIONS_SEQ)
    const isSame = kept?.life === undefined || kept.life === database.life
    return isSame && typeof kept?.value === 'string' ? kept.value : '0'
  }

  #itemsOf(database: DatabaseOperations, rows: readonly ChangeRow[]): BatchItem[] {
    return rows.flatMap(row => {
      const { id } = row
      if (row.deleted || isSkipped(id)) return []
      const [rev] = row.revs
      if (rev !== undefined && this.#own.delete(`${id} ${printRevision(rev)}`)) return []
      return [{ id, seq: database.printSequence(row.seq) }]
    })
  }

  async #process(items: readonly BatchItem[]): Promise<void> {
    let left = items
    for (let attempt = 1; left.length > 0; attempt++) {
      if (attempt > ATTEMPTS_MAX) {
        this.#parts.log.error('transitions of some documents were given up', {
          ids: left.map(({ id }) => id),
        })
        return
      }
      const { again, written } = await this.#run(left)
      // Not those of other documents: what was made or changed there is looked at like any change.
      for (const { id } of left) this.#noteOwn(id, written.get(id))
      this.#parts.onBatch(left.map(({ id }) => id))
      left = left.filter(({ id }) => again.includes(id))
    }
  }

  /** One that brings a whole batch down is found by doing them one by one, and left. */
  async #run(items: readonly BatchItem[]): Promise<Pick<BatchResult, 'again' | 'written'>> {
    try {
      return await this.#parts.run(items)
    } catch (thrown) {
      if (this.#stop.signal.aborted || isOurs(thrown)) throw thrown
      const { log, wait } = this.#parts
      log.warning('transitions failed', { ids: items.map(({ id }) => id), error: thrown })
      if (items.length > 1) return this.#oneByOne(items)
      for (let attempt = 2; attempt <= ATTEMPTS_MAX; attempt++) {
        await wait(50 * 2 ** attempt, this.#stop.signal)
        try {
          return await this.#parts.run(items)
        } catch (again) {
          if (this.#stop.signal.aborted || isOurs(again)) throw again
        }
      }
      log.error('transitions of a document were given up', { id: items[0]?.id, error: thrown })
      return { again: [], written: new Map() }
    }
  }

  async #oneByOne(items: readonly BatchItem[]): Promise<Pick<BatchResult, 'again' | 'written'>> {
    const again: string[] = []
    const written = new Map<string, string>()
    for (const item of items) {
      const result = await this.#run([item])
      again.push(...result.again)
      for (const [id, rev] of result.written) written.set(id, rev)
    }
    return { again, written }
  }

  #noteOwn(id: string, rev: string | undefined): void {
    if (rev === undefined) return
    this.#own.add(`${id} ${rev}`)
    for (const oldest of this.#own) {
      if (this.#own.size <= OWN_MAX) break
      this.#own.delete(oldest)
    }
  }

  #noteDone(seq: number): void {
    this.#doneSeq = seq
    this.#wake()
  }

  #wake(): void {
    for (const resume of this.#waiting) resume()
    this.#waiting.clear()
  }
}

const isSkipped = (id: string): boolean => id.startsWith('_design/') || isInfoId(id)

/** Not the document's fault: it is waited until the server is well again. */
const isOurs = (thrown: unknown): boolean => isFailure(thrown) && OURS.has(thrown.code)

const OURS: ReadonlySet<FailureCode> = new Set<FailureCode>([
  'database_missing',
  'engine_busy',
  'engine_closed',
  'sandbox_unavailable',
  'service_unavailable',
  'storage_full',
  'storage_unwritable',
  'timeout',
])
