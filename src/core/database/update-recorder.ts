/**
 * Turns this process's own notices of written databases into `updated` entries of the update log: gathered, so that a
 * database written a thousand times a second costs one entry a second, and written behind the backs of the writers.
 *
 * Bounded by the number of databases written within a second. A write that fails is tried again with the next.
 */
import type { Notices } from '../notices/notices.ts'
import type { UpdateLog } from './update-log.ts'

export interface RecorderParts {
  readonly log: UpdateLog
  readonly notices: Notices
  readonly onFailure: (thrown: unknown) => void
  readonly intervalMs?: number
}

const INTERVAL_MS = 1000
/** The first write after a quiet time is told sooner. */
const FIRST_MS = 50

export class UpdateRecorder {
  readonly #parts: RecorderParts
  readonly #intervalMs: number
  readonly #names = new Set<string>()
  readonly #unsubscribe: readonly (() => void)[]
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #wroteMs = Number.NEGATIVE_INFINITY

  constructor(parts: RecorderParts) {
    this.#parts = parts
    this.#intervalMs = parts.intervalMs ?? INTERVAL_MS
    this.#unsubscribe = [
      parts.notices.subscribeOwn(notice => {
        if (notice.kind === 'database_updated') this.#add(notice.name)
      }),
      // Nothing is told of a database after it is gone, whoever deleted it.
      parts.notices.subscribe(notice => {
        if (notice.kind === 'database_deleted') this.#names.delete(notice.name)
      }),
    ]
  }

  /** Resolves when all that was noticed so far is recorded. */
  async settle(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.#write()
  }

  async close(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    await this.settle()
  }

  #add(name: string): void {
    this.#names.add(name)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#writing !== undefined || this.#names.size === 0) return
    const dueMs = this.#wroteMs + this.#intervalMs - performance.now()
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined
        void this.#write()
      },
      Math.max(Math.min(FIRST_MS, this.#intervalMs), dueMs),
    )
    this.#timer.unref()
  }

  async #write(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
    if (this.#names.size === 0) return
    const names = [...this.#names]
    this.#names.clear()
    this.#writing = this.#record(names)
    await this.#writing
    this.#writing = undefined
    this.#schedule()
  }

  async #record(names: readonly string[]): Promise<void> {
    try {
      await this.#parts.log.record('updated', names)
    } catch (thrown) {
      for (const name of names) this.#names.add(name)
      this.#parts.onFailure(thrown)
    }
    this.#wroteMs = performance.now()
  }
}
