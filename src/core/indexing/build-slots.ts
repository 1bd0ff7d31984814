/**
 * Bounds how many first builds a process runs at once: each takes memory for sorting. Updates of indexes that are there
 * need little and never wait here, so a long build holds up nobody but other builds.
 */
export class BuildSlots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(countMax: number) {
    this.#free = countMax
  }

  /** Runs the work when there is room; first come, first served. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>(begin => this.#waiting.push(begin))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
