/**
 * How many list functions may run at once in a process.
 *
 * A list keeps its sandbox process for as long as its client reads, at the client's pace; all other functions are done
 * in moments. So lists get some of the processes only: however slowly they are read, there is one left for validation.
 * Who finds no place waits in line, for a bounded time.
 */
import { Failure } from '../../base/errors.ts'

export interface ListGateOptions {
  readonly runningMax: number
  readonly waitersMax: number
  readonly waitMsMax: number
}

export class ListGate {
  readonly #options: ListGateOptions
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(options: ListGateOptions) {
    this.#options = options
  }

  get running(): number {
    return this.#running
  }

  /** Answers what gives the place back; calling it again does nothing. */
  async enter(): Promise<() => void> {
    if (this.#running < this.#options.runningMax) this.#running++
    else await this.#wait()
    let isInside = true
    return () => {
      if (!isInside) return
      isInside = false
      // A place that somebody waits for goes from hand to hand, so that nobody slips in between.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }

  #wait(): Promise<void> {
    const { waitersMax, waitMsMax } = this.#options
    if (this.#waiting.length >= waitersMax) throw busy()
    return new Promise((resolve, reject) => {
      const admit = (): void => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(admit), 1)
        reject(busy())
      }, waitMsMax)
      this.#waiting.push(admit)
    })
  }
}

const busy = (): Failure =>
  new Failure('sandbox_unavailable', { reason: 'Too many list functions run at once.' })
