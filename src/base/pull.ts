/**
 * Something long, piece by piece at the reader's pace, where a piece that is there at once costs no promise: the stages of
 * a query are pulls, so that a short answer is made in the turn in which it was asked for.
 *
 * A pull holds nothing open between two pieces, so whoever has enough stops asking, and that is all.
 */
import type { MaybePromise } from './maybe-promise.ts'

/** The next piece; undefined when there are no more. */
export type Pull<T> = () => MaybePromise<T | undefined>

/** For those who read with `for await`; each time they begin, they go on where the pull is. */
export const pieces = <T>(next: Pull<T>): AsyncIterable<T> => new Pieces(next)

class Pieces<T> implements AsyncIterable<T> {
  readonly #next: Pull<T>

  constructor(next: Pull<T>) {
    this.#next = next
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const piece = await this.#next()
      if (piece === undefined) return
      yield piece
    }
  }
}

/** The other way round. Nothing is told to a source that is not read to its end: it must hold nothing open. */
export function pullFrom<T>(source: AsyncIterable<T>): Pull<T> {
  const iterator = source[Symbol.asyncIterator]()
  return async () => {
    const step = await iterator.next()
    return step.done === true ? undefined : step.value
  }
}
