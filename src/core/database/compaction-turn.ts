/**
 * Who compacts a database: at most one process at a time, of all that share the store. The lease (`lease.ts`) keeps them
 * apart and ends when its owner has died. Two who overlap for a moment do no harm: each step of a compaction looks again
 * before it takes anything away.
 */
import type { Store } from '../../engine/engine.ts'
import { COMPACTION } from './keyspace.ts'
import { acquireLease, LeaseWatch } from './lease.ts'

export class CompactionTurn {
  readonly #store: Store
  readonly #durationMs: number | undefined
  readonly #watch = new LeaseWatch()
  #isTaken = false

  constructor(store: Store, durationMs?: number) {
    this.#store = store
    this.#durationMs = durationMs
  }

  /** Whoever died at it is seen to have done so at a look that comes a lease's length after the first. */
  async isRunning(): Promise<boolean> {
    const text = (await this.#store.get(COMPACTION))?.toString()
    if (text === undefined) return false
    this.#watch.look(text)
    return this.#watch.deadText !== text
  }

  /**
   * Runs the work while nobody else does; its signal fires when it is to end early. False: somebody else is at it, here
   * or elsewhere. It takes a moment to tell those who live from those who died.
   */
  async take(signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    if (this.#isTaken) return false
    this.#isTaken = true
    try {
      const place = { store: this.#store, key: COMPACTION }
      const duration = this.#durationMs === undefined ? {} : { durationMs: this.#durationMs }
      const lease = await acquireLease(place, { signal, onlyFromDead: true, ...duration })
      if (lease === undefined) return false
      const lost = new AbortController()
      lease.onLost = () => lost.abort()
      try {
        await work(AbortSignal.any([signal, lost.signal]))
      } finally {
        await lease.release()
      }
      return true
    } finally {
      this.#isTaken = false
    }
  }
}
