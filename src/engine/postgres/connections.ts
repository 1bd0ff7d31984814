/**
 * The connections of one process: opened when needed, a few at the most, closed when idle for a while. Writes never take
 * the last one, so that reads go on while writes wait for a lock.
 */
import { Failure } from '../../base/errors.ts'
import type { Connection } from './connection.ts'

const IDLE_MS = 30_000
const WAITING_MAX = 20_000

export type Purpose = 'read' | 'write'

interface Waiter {
  readonly purpose: Purpose
  readonly start: () => void
}

interface Idle {
  readonly connection: Connection
  readonly sinceMs: number
}

export class Connections {
  readonly #open: () => Promise<Connection>
  readonly #max: number
  readonly #writersMax: number
  /** The one used last is used first, so that the others can go. */
  #idle: Idle[] = []
  readonly #waiting: Waiter[] = []
  readonly #reaper: NodeJS.Timeout
  #busy = 0
  #writers = 0
  #closed = false
  #onQuiet: (() => void) | undefined

  constructor(open: () => Promise<Connection>, max: number) {
    this.#open = open
    this.#max = max
    this.#writersMax = Math.max(1, max - 1)
    this.#reaper = setInterval(() => this.#closeIdle(), IDLE_MS / 3)
    this.#reaper.unref()
  }

  get freeCount(): number {
    return this.#max - this.#busy
  }

  /** A connection that fails is let go; what fails otherwise leaves it as it was before. */
  async use<T>(purpose: Purpose, work: (connection: Connection) => Promise<T>): Promise<T> {
    await this.#enter(purpose)
    let connection: Connection | undefined
    try {
      connection = this.#takeIdle() ?? (await this.#open())
      return await work(connection)
    } finally {
      this.#leave(purpose, connection)
    }
  }

  /** Waits for what is under way. */
  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#reaper)
    if (this.#busy > 0 || this.#waiting.length > 0) {
      await new Promise<void>(resolve => {
        this.#onQuiet = resolve
      })
    }
    for (const { connection } of this.#idle) connection.close()
    this.#idle = []
  }

  #enter(purpose: Purpose): Promise<void> {
    if (this.#closed) return Promise.reject(new Failure('engine_closed'))
    if (this.#mayStart(purpose)) {
      this.#count(purpose, 1)
      return Promise.resolve()
    }
    if (this.#waiting.length >= WAITING_MAX) return Promise.reject(new Failure('engine_busy'))
    return new Promise(resolve => {
      const start = (): void => {
        this.#count(purpose, 1)
        resolve()
      }
      this.#waiting.push({ purpose, start })
    })
  }

  #leave(purpose: Purpose, connection: Connection | undefined): void {
    this.#count(purpose, -1)
    if (connection !== undefined && !connection.isLost) {
      this.#idle.push({ connection, sinceMs: performance.now() })
    }
    const next = this.#waiting.findIndex(waiter => this.#mayStart(waiter.purpose))
    if (next >= 0) this.#waiting.splice(next, 1)[0]?.start()
    else if (this.#busy === 0) this.#onQuiet?.()
  }

  #mayStart(purpose: Purpose): boolean {
    if (this.#busy >= this.#max) return false
    return purpose === 'read' || this.#writers < this.#writersMax
  }

  #count(purpose: Purpose, by: number): void {
    this.#busy += by
    if (purpose === 'write') this.#writers += by
  }

  #takeIdle(): Connection | undefined {
    for (;;) {
      const idle = this.#idle.pop()
      if (idle === undefined || !idle.connection.isLost) return idle?.connection
    }
  }

  #closeIdle(): void {
    if (this.#closed) return
    const oldestMs = performance.now() - IDLE_MS
    this.#idle = this.#idle.filter(({ connection, sinceMs }) => {
      if (sinceMs < oldestMs) connection.close()
      return sinceMs >= oldestMs && !connection.isLost
    })
  }
}
