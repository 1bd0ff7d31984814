/**
 * Who was here lately: a log document for each user with the time of his last visit, for those who count. It is written
 * at most once in half an hour, beside the request: nobody waits for it, and a visit that could not be written down is
 * told to the log of the server only.
 */
import { isFailure } from '../../base/errors.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'

const PREFIX = 'connected-user-'
const INTERVAL_MS = 30 * 60 * 1000
/** Users whose last visit is remembered; of others the document is asked. */
const REMEMBERED_MAX = 10_000

export interface ConnectedUsersParts {
  readonly logs: DocumentDatabase
  readonly clock: () => number
  readonly onFailure: (thrown: unknown) => void
}

export class ConnectedUsers {
  readonly #parts: ConnectedUsersParts
  /** Name -> when the visit was written down; oldest first. */
  readonly #written = new Map<string, number>()
  readonly #writing = new Set<Promise<void>>()

  constructor(parts: ConnectedUsersParts) {
    this.#parts = parts
  }

  note(name: string): void {
    const nowMs = this.#parts.clock()
    const known = this.#written.get(name)
    if (known !== undefined && nowMs - known < INTERVAL_MS) return
    // Remembered before it is written: of many requests that come together one writes.
    this.#remember(name, nowMs)
    const work = this.#write(name, nowMs)
      .catch(thrown => {
        this.#written.delete(name)
        this.#parts.onFailure(thrown)
      })
      .finally(() => this.#writing.delete(work))
    this.#writing.add(work)
  }

  /** Resolves when all that was noted is written. */
  async settle(): Promise<void> {
    await Promise.all(this.#writing)
  }

  #remember(name: string, ms: number): void {
    this.#written.delete(name)
    this.#written.set(name, ms)
    if (this.#written.size <= REMEMBERED_MAX) return
    const [oldest] = this.#written.keys()
    if (oldest !== undefined) this.#written.delete(oldest)
  }

  async #write(name: string, nowMs: number): Promise<void> {
    const { logs } = this.#parts
    const stored = await logs.get(PREFIX + name)
    const timestamp = stored?.timestamp
    if (typeof timestamp === 'number' && nowMs - timestamp < INTERVAL_MS) {
      this.#remember(name, timestamp)
      return
    }
    const rev = stored?._rev === undefined ? {} : { _rev: stored._rev }
    try {
      await logs.put({ _id: PREFIX + name, ...rev, user: name, timestamp: nowMs })
    } catch (thrown) {
      // Another process wrote down the same visit.
      if (!isFailure(thrown, 'document_conflict')) throw thrown
    }
  }
}
