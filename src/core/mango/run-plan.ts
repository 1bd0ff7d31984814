/**
 * The loop of a `_find`: candidates in, matches out, until there are enough. Counts what it looked at and remembers
 * the last row for the bookmark.
 *
 * Candidates come in batches from wherever the plan says; parsing them is put off until the matcher needs it. The loop
 * lets others run every few milliseconds, so one long scan does not stop a server. Leaves to others: reading.
 */
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Pull } from '../../base/pull.ts'
import type { JsonValue } from './json-value.ts'
import type { Matcher } from './match.ts'

/** A row that may be an answer. */
export interface Candidate {
  /** True: it matches, nobody need look at the document. */
  readonly isProven?: boolean
  /** What the selector sees; undefined: the document is gone, or not for this user. */
  document(): JsonValue | undefined
}

export interface Match<C extends Candidate> {
  readonly candidate: C
  /** Undefined where nobody had to look. */
  readonly document: JsonValue | undefined
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

  /** Matches in batches that are not empty. */
  matches(next: Pull<readonly C[]>): Pull<readonly Match<C>[]> {
    let batch: readonly C[] | undefined = this.#left === 0 ? undefined : NONE
    let at = 0
    const begin = (given: readonly C[] | undefined): void => {
      batch = given
      at = 0
    }
    const pull = (): MaybePromise<readonly Match<C>[] | undefined> => {
      while (batch !== undefined) {
        if (at >= batch.length) {
          const given = next()
          if (given instanceof Promise) return given.then(begin).then(pull)
          begin(given)
          continue
        }
        const found: Match<C>[] = []
        const isDone = this.#select(batch, at, found)
        at += SLICE_COUNT
        if (isDone) batch = undefined
        const rest = isDone ? undefined : this.#rest()
        if (found.length > 0) return rest === undefined ? found : rest.then(() => found)
        if (rest !== undefined) return rest.then(pull)
      }
      return undefined
    }
    return pull
  }

  /** Looks at a slice of a batch. True when nothing more is wanted. */
  #select(batch: readonly C[], start: number, found: Match<C>[]): boolean {
    const { matches } = this.#options
    const end = Math.min(batch.length, start + SLICE_COUNT)
    for (let at = start; at < end; at++) {
      const candidate = batch[at] as C
      this.examined++
      if (this.#left === 0) return true
      const document = candidate.isProven === true ? undefined : candidate.document()
      const isMatch = candidate.isProven === true || (document !== undefined && matches(document))
      if (!isMatch) continue
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

  /** Undefined when it is not time to let others run. */
  #rest(): Promise<void> | undefined {
    if (this.#options.now() < this.#sliceEndMs) return undefined
    return this.#options.pause().then(() => {
      this.#sliceEndMs = this.#options.now() + SLICE_MS
    })
  }
}

const NONE: readonly never[] = []
const SLICE_MS = 10
/** Between two looks at the clock. */
const SLICE_COUNT = 64
