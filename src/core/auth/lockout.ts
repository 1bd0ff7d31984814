/**
 * Failed logins are counted per peer and name. After `threshold` failures within the window, that
 * peer is refused for that name until the window has passed, even with the right password; others
 * are not touched.
 *
 * Names are counted whether they exist or not, so the answer tells nothing about them. An attempt
 * counts from its start: many guesses sent at once cannot pass before the first of them has failed.
 * Failures are also counted per peer over all names: that makes it a suspect for `hash-queue.ts`,
 * it locks nobody out. Memory is bounded; the oldest entry goes first, which at worst forgets a
 * lock early. Failures in other processes are noted here too, so that guesses spread over all of
 * them are as few as in one.
 */
import { hash } from 'node:crypto'
import { Failure } from '../../base/errors.ts'

export interface LockoutSettings {
  readonly mode: 'off' | 'warn' | 'enforce'
  readonly threshold: number
  readonly windowMs: number
}

export interface LockoutOptions {
  readonly clock: () => number
  readonly entriesMax?: number
  /** Told once per window when a peer reaches the threshold for a name. For the log. */
  readonly onThreshold?: (peer: string, name: string) => void
  /** Told of every failure here, for the other processes. */
  readonly onFailure?: (peer: string, name: string) => void
}

/** An attempt under way; exactly one of the two must be called. */
export interface Attempt {
  fail(): void
  /** The password was right, or could not be checked at all. */
  release(): void
}

/** A peer with this many times the threshold in failures, whatever the names, is a suspect. */
const SUSPECT_FACTOR = 2

export class Lockout {
  readonly #clock: () => number
  readonly #onThreshold: (peer: string, name: string) => void
  readonly #onFailure: (peer: string, name: string) => void
  readonly #byPeerAndName: FailureCounts
  readonly #byPeer: FailureCounts

  constructor(options: LockoutOptions) {
    const { clock, entriesMax = 10_000, onThreshold = () => {}, onFailure = () => {} } = options
    this.#clock = clock
    this.#onThreshold = onThreshold
    this.#onFailure = onFailure
    this.#byPeerAndName = new FailureCounts(entriesMax)
    this.#byPeer = new FailureCounts(entriesMax)
  }

  /** Refuses a locked peer and name, also when the password needs no checking any more. */
  refuseIfLocked(peer: string, name: string, settings: LockoutSettings): void {
    if (settings.mode !== 'enforce') return
    // Most peers never failed: they are not worth a digest.
    if (!this.#byPeer.has(peer)) return
    const count = this.#byPeerAndName.find(keyOf(peer, name), this.#clock(), settings.windowMs)
    if (count && count.failures >= settings.threshold) refuse()
  }

  begin(peer: string, name: string, settings: LockoutSettings): Attempt {
    if (settings.mode === 'off') return { fail: () => {}, release: () => {} }
    const count = this.#byPeerAndName.open(keyOf(peer, name), this.#clock(), settings.windowMs)
    if (settings.mode === 'enforce' && count.failures + count.underWay >= settings.threshold) {
      refuse()
    }
    count.underWay++
    return {
      release: () => {
        count.underWay--
      },
      fail: () => {
        count.underWay--
        count.failures++
        if (count.failures === settings.threshold) this.#onThreshold(peer, name)
        this.#byPeer.open(peer, this.#clock(), settings.windowMs).failures++
        this.#onFailure(peer, name)
      },
    }
  }

  /** A failure that another process saw. */
  note(peer: string, name: string, { mode, windowMs }: LockoutSettings): void {
    if (mode === 'off') return
    this.#byPeerAndName.open(keyOf(peer, name), this.#clock(), windowMs).failures++
    this.#byPeer.open(peer, this.#clock(), windowMs).failures++
  }

  isSuspect(peer: string, settings: LockoutSettings): boolean {
    if (settings.mode === 'off') return false
    const count = this.#byPeer.find(peer, this.#clock(), settings.windowMs)
    return count !== undefined && count.failures >= settings.threshold * SUSPECT_FACTOR
  }

  get size(): number {
    return this.#byPeerAndName.size + this.#byPeer.size
  }
}

interface FailureCount {
  sinceMs: number
  failures: number
  underWay: number
}

class FailureCounts {
  readonly #entriesMax: number
  /** Oldest window first. */
  readonly #counts = new Map<string, FailureCount>()

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax
  }

  get size(): number {
    return this.#counts.size
  }

  /** Whether there is an entry, however old. */
  has(key: string): boolean {
    return this.#counts.has(key)
  }

  find(key: string, nowMs: number, windowMs: number): FailureCount | undefined {
    const count = this.#counts.get(key)
    return count && nowMs - count.sinceMs < windowMs ? count : undefined
  }

  open(key: string, nowMs: number, windowMs: number): FailureCount {
    const known = this.find(key, nowMs, windowMs)
    if (known) return known
    // An expired one is reused: what is still under way counts in the new window too.
    const count = this.#counts.get(key) ?? { sinceMs: nowMs, failures: 0, underWay: 0 }
    count.sinceMs = nowMs
    count.failures = 0
    this.#counts.delete(key)
    this.#counts.set(key, count)
    if (this.#counts.size > this.#entriesMax) this.#dropOldest()
    return count
  }

  #dropOldest(): void {
    const [oldest] = this.#counts.keys()
    if (oldest !== undefined) this.#counts.delete(oldest)
  }
}

/** Long names, which nobody has, are kept as digests: memory must not grow with what strangers send. */
const keyOf = (peer: string, name: string): string =>
  `${peer} ${name.length > NAME_LENGTH_KEPT ? hash('sha256', name, 'base64') : name}`

const NAME_LENGTH_KEPT = 128

function refuse(): never {
  throw new Failure('forbidden', {
    reason: 'Account is temporarily locked due to multiple authentication failures',
  })
}
