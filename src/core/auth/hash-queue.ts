/**
 * Decides when a password may be hashed. PBKDF2 is slow on purpose, so a flood of logins is a flood
 * of work: without a bound it would take the thread pool from storage and the cores from everybody
 * else.
 *
 * - Few run at once; the others wait, a bounded number, and each peer in its own line: lines are
 *   served in turn, so that a flood from one peer does not delay the login of another.
 * - Peers with many recent failures are suspects. All suspects share one slot, and after each hash
 *   the slot rests several times as long as the hash took: guessing gets a small, fixed share of a
 *   core. Who turns out to be one while waiting joins their line. Who waits in a full line is refused
 *   with `service_unavailable`.
 */
import { Failure } from '../../base/errors.ts'

export interface HashQueueOptions {
  readonly concurrencyMax?: number
  readonly waitingMax?: number
  readonly waitingPerPeerMax?: number
  /** Rest of the suspects' slot, in multiples of the time its last hash took. */
  readonly suspectRestFactor?: number
  readonly clock: () => number
  readonly wait: (ms: number) => Promise<void>
}

export class HashQueue {
  readonly #trusted: Lane
  readonly #suspect: Lane
  readonly #clock: () => number

  constructor(options: HashQueueOptions) {
    const { concurrencyMax = 2, waitingMax = 1000, waitingPerPeerMax = 64 } = options
    const { suspectRestFactor = 9, clock, wait } = options
    const limits = { waitingMax, waitingPerPeerMax }
    this.#trusted = new Lane(limits, concurrencyMax)
    this.#suspect = new Lane(limits, 1, async startedMs =>
      wait(Math.max(0, clock() - startedMs) * suspectRestFactor),
    )
    this.#clock = clock
  }

  /** @param isSuspect asked when the work arrives, and again when its turn has come */
  async run<T>(peer: string, isSuspect: () => boolean, work: () => Promise<T>): Promise<T> {
    const clock = this.#clock
    if (isSuspect()) return this.#suspect.run(peer, work, clock)
    const asked = async () => (isSuspect() ? undefined : { done: await work() })
    const result = await this.#trusted.run(peer, asked, clock)
    return result === undefined ? this.#suspect.run(peer, work, clock) : result.done
  }

  get waiting(): number {
    return this.#trusted.waiting + this.#suspect.waiting
  }
}

interface LaneLimits {
  readonly waitingMax: number
  readonly waitingPerPeerMax: number
}

class Lane {
  readonly #limits: LaneLimits
  readonly #concurrencyMax: number
  readonly #rest: ((startedMs: number) => Promise<void>) | undefined
  /** In the order of turns; a peer that was served goes to the end. No line is empty. */
  readonly #linesByPeer = new Map<string, (() => void)[]>()
  #running = 0
  waiting = 0

  constructor(
    limits: LaneLimits,
    concurrencyMax: number,
    rest?: (startedMs: number) => Promise<void>,
  ) {
    this.#limits = limits
    this.#concurrencyMax = concurrencyMax
    this.#rest = rest
  }

  async run<T>(peer: string, work: () => Promise<T>, clock: () => number): Promise<T> {
    if (this.#running < this.#concurrencyMax) this.#running++
    else await this.#turn(peer)
    const startedMs = clock()
    try {
      return await work()
    } finally {
      if (this.#rest) void this.#rest(startedMs).finally(() => this.#passOn())
      else this.#passOn()
    }
  }

  #turn(peer: string): Promise<void> {
    const line = this.#linesByPeer.get(peer) ?? []
    const { waitingMax, waitingPerPeerMax } = this.#limits
    if (this.waiting >= waitingMax || line.length >= waitingPerPeerMax) {
      throw new Failure('service_unavailable', {
        reason: 'Too many logins are waiting, try again later.',
      })
    }
    this.waiting++
    return new Promise(resolve => {
      line.push(resolve)
      this.#linesByPeer.set(peer, line)
    })
  }

  /** Hands the slot to the next line, or frees it. */
  #passOn(): void {
    const [next] = this.#linesByPeer
    if (next === undefined) {
      this.#running--
      return
    }
    const [peer, line] = next
    const start = line.shift()
    this.#linesByPeer.delete(peer)
    if (line.length > 0) this.#linesByPeer.set(peer, line)
    this.waiting--
    start?.()
  }
}
