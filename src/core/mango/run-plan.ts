/**
 * The loop of a `_find`: candidates in, matches out, until there are enough. Counts what it looked at and remembers
 * the last row for the bookmark.
 *
 * Candidates come in batches from wherever the plan says; parsing them is put off until the matcher needs it. The loop
 * lets others run every few milliseconds, so one long scan does not stop a server. Leaves to others: reading.
 */
import type { JsonValue } from './json-value.ts'
import type { Matcher } from './match.ts'

/** A row that may be an answer. */
export interface Candidate {
  /** What the selector sees; undefined: the document is gone, or not for this user. */
  document(): JsonValue | undefined
}

export interface Match<C extends Candidate> {
  readonly candidate: C
  readonly document: JsonValue
}

export interface RunOptions {
  readonly matches: Matcher
  readonly skip: number
  readonly limit: number
  /** Milliseconds, for slices of time. */
  readonly now: () => number
  /** Lets others run. */
  readonly pause: () => Promise<void>
}

export class PlanRun<C extends Candidate> {
  readonly #options: RunOptions
  #sliceEndMs: number
  #skip: number
  #left: number
  /** Rows looked at. The one after the last match counts: it says that there is more, as in CouchDB. */
  examined = 0
  returned = 0
  last: C | undefined

  constructor(options: RunOptions) {
    this.#options = options
    this.#skip = options.skip
    this.#left = options.limit
    this.#sliceEndMs = options.now() + SLICE_MS
  }

  /** Matches in batches, which may be empty. */
  async *matches(
    batches: AsyncIterable<readonly C[]>,
  ): AsyncGenerator<readonly Match<C>[], void, undefined> {
    if (this.#left === 0) return
    for await (const batch of batches) {
      for (let at = 0; at < batch.length; at += SLICE_COUNT) {
        const found: Match<C>[] = []
        const isDone = this.#select(batch, at, found)
        if (found.length > 0) yield found
        if (isDone) return
        await this.#rest()
      }
    }
  }

  /** Looks at a slice of a batch. True when nothing more is wanted. */
  #select(batch: readonly C[], start: number, found: Match<C>[]): boolean {
    const { matches } = this.#options
    const end = Math.min(batch.length, start + SLICE_COUNT)
    for (let at = start; at < end; at++) {
      const candidate = batch[at] as C
      this.examined++
      if (this.#left === 0) return true
      const document = candidate.document()
      if (document === undefined || !matches(document)) continue
      if (this.#skip > 0) this.#skip--
      else {
        found.push({ candidate, document })
        this.last = candidate
        this.returned++
        this.#left--
      }
    }
    return false
  }

  async #rest(): Promise<void> {
    if (this.#options.now() < this.#sliceEndMs) return
    await this.#options.pause()
    this.#sliceEndMs = this.#options.now() + SLICE_MS
  }
}

const SLICE_MS = 10
/** Between two looks at the clock. */
const SLICE_COUNT = 64
