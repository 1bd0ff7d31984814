/**
 * Makers of document ids. `sequential` is the default because ids that grow keep inserts next to each other in the
 * store: a random part of 26 digits, then a counter that steps by a random amount, so neighbours cannot be guessed
 * from the count alone.
 */
import { randomBytes, randomInt } from 'node:crypto'

export type UuidAlgorithm = 'sequential' | 'random' | 'utc_random' | 'utc_id'

export class UuidSource {
  #prefix = ''
  #counter = COUNTER_END

  next(algorithm: UuidAlgorithm, suffix = ''): string {
    if (algorithm === 'random') return randomBytes(16).toString('hex')
    if (algorithm === 'utc_random') return microseconds() + randomBytes(9).toString('hex')
    if (algorithm === 'utc_id') return microseconds() + suffix
    return this.#sequential()
  }

  #sequential(): string {
    if (this.#counter >= COUNTER_END) {
      this.#prefix = randomBytes(13).toString('hex')
      this.#counter = randomInt(1, STEP_MAX)
    }
    const id = this.#prefix + this.#counter.toString(16).padStart(6, '0')
    this.#counter += randomInt(1, STEP_MAX)
    return id
  }
}

const COUNTER_END = 0xfff000
const STEP_MAX = 0xffe

function microseconds(): string {
  const now = performance.timeOrigin + performance.now()
  return Math.floor(now * 1000)
    .toString(16)
    .padStart(14, '0')
}
