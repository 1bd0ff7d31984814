/**
 * One metric among many: it is asked for a bounded time, and one that fails takes no other with it. The place of a
 * number is then taken by -1 and that of a text by an empty one, so that whoever watches sees which question failed.
 */
export const FAILED_NUMBER = -1
export const FAILED_TEXT = ''

/** An index that is being built for the first time may take hours; whoever watches asks again anyway. */
const TIMEOUT_MS = 5000

export type OnMetricFailure = (metric: string, thrown: unknown) => void

export class MetricReader {
  readonly #onFailure: OnMetricFailure

  constructor(onFailure: OnMetricFailure) {
    this.#onFailure = onFailure
  }

  async read<T>(metric: string, instead: T, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timeUp = new AbortController()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        timeUp.abort()
        reject(new Error(`no answer in ${TIMEOUT_MS} ms`))
      }, TIMEOUT_MS)
    })
    try {
      return await Promise.race([work(timeUp.signal), late])
    } catch (thrown) {
      this.#onFailure(metric, thrown)
      return instead
    } finally {
      clearTimeout(timer)
    }
  }

  number(metric: string, work: (signal: AbortSignal) => Promise<number>): Promise<number> {
    return this.read(metric, FAILED_NUMBER, work)
  }
}
