/**
 * Group commit: while one commit is on its way to the disk, all that arrives waits and goes together in the next.
 *
 * One writer pays one disk flush; a hundred at once share one. Nobody is told "done" before the flush. What waits is
 * bounded: past the bound new work is refused rather than let memory grow.
 */
import { Failure } from '../../base/errors.ts'

export interface QueueLimits {
  /** Items in one commit. */
  readonly countMax: number
  /** Bytes in one commit. */
  readonly bytesMax: number
  /** Bytes waiting in all. */
  readonly waitingBytesMax: number
}

export interface Work {
  readonly count: number
  readonly bytes: number
}

export class CommitQueue<W extends Work, Result> {
  readonly #commit: (works: readonly W[]) => Promise<Result[]>
  readonly #limits: QueueLimits
  #waiting: Waiting<W, Result>[] = []
  #waitingBytes = 0
  #running = false

  /** @param commit answers one result per work, in order */
  constructor(commit: (works: readonly W[]) => Promise<Result[]>, limits: QueueLimits) {
    this.#commit = commit
    this.#limits = limits
  }

  get isIdle(): boolean {
    return !this.#running && this.#waiting.length === 0
  }

  submit(work: W): Promise<Result> {
    if (this.#waitingBytes > this.#limits.waitingBytesMax) {
      return Promise.reject(new Failure('engine_busy'))
    }
    this.#waitingBytes += work.bytes
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject })
      if (!this.#running) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#waiting.length > 0) {
      const batch = this.#take()
      try {
        const results = await this.#commit(batch.map(item => item.work))
        for (const [index, item] of batch.entries()) item.resolve(results[index] as Result)
      } catch (thrown) {
        for (const item of batch) item.reject(thrown)
      }
    }
    this.#running = false
  }

  /** At least one work, then as many as the limits of a commit allow. */
  #take(): Waiting<W, Result>[] {
    let count = 0
    let bytes = 0
    let length = 0
    for (const { work } of this.#waiting) {
      const over = count + work.count > this.#limits.countMax
      if (length > 0 && (over || bytes + work.bytes > this.#limits.bytesMax)) break
      count += work.count
      bytes += work.bytes
      length++
    }
    this.#waitingBytes -= bytes
    return this.#waiting.splice(0, length)
  }
}

interface Waiting<W, Result> {
  readonly work: W
  readonly resolve: (result: Result) => void
  readonly reject: (reason: unknown) => void
}
