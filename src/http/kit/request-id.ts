/**
 * Request ids: the client's own when it is harmless, else ten random hex digits.
 *
 * Random bytes are drawn a few thousand at a time, because one draw a request is dear. The ids only tell
 * lines of a log apart; nothing is protected by their being hard to guess.
 */
import { randomFillSync } from 'node:crypto'

const HARMLESS = /^[0-9A-Za-z_-]{1,36}$/
const ID_BYTES = 5

export class RequestIds {
  readonly #pool = Buffer.alloc(ID_BYTES * 1024)
  readonly #fill: (pool: Buffer) => void
  #used = this.#pool.length

  constructor(fill: (pool: Buffer) => void = randomFillSync) {
    this.#fill = fill
  }

  /** @param given what the client sent, if anything */
  idFor(given: string | undefined): string {
    return given !== undefined && HARMLESS.test(given) ? given : this.#draw()
  }

  #draw(): string {
    if (this.#used === this.#pool.length) {
      this.#fill(this.#pool)
      this.#used = 0
    }
    this.#used += ID_BYTES
    return this.#pool.toString('hex', this.#used - ID_BYTES, this.#used)
  }
}
