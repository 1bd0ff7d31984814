/**
 * A sandbox that is made when the first function runs: most processes never need one, and each costs memory.
 *
 * `current` is for calls; `close` ends whatever was made. After that no new one is made.
 */
import { Failure } from '../../base/errors.ts'
import type { Sandbox } from './sandbox.ts'

export class LazySandbox {
  readonly #make: () => Sandbox
  #sandbox: Sandbox | undefined
  #isClosed = false

  constructor(make: () => Sandbox) {
    this.#make = make
  }

  readonly current = (): Sandbox => {
    if (this.#isClosed) {
      throw new Failure('sandbox_unavailable', { reason: 'The server is stopping.' })
    }
    this.#sandbox ??= this.#make()
    return this.#sandbox
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#sandbox?.close()
  }
}
