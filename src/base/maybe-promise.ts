/**
 * Answers that are there at once, or later. The hot paths (who asks, which database, one document) never leave the turn in
 * which the request arrived when the store answers at once: a promise costs as much as a read from memory, and there were
 * two dozen of them on the way. `await` takes either; use `after` only where it is measured to matter.
 */
export type MaybePromise<T> = T | Promise<T>

/** `next` of the value: now when it is here, else then. */
export const after = <A, B>(
  value: MaybePromise<A>,
  next: (value: A) => MaybePromise<B>,
): MaybePromise<B> => (value instanceof Promise ? value.then(next) : next(value))

/** The value of `work`, or what `failed` makes of what it throws, now or later. */
export function rescued<T>(
  work: () => MaybePromise<T>,
  failed: (thrown: unknown) => MaybePromise<T>,
): MaybePromise<T> {
  try {
    const value = work()
    return value instanceof Promise ? value.catch(failed) : value
  } catch (thrown) {
    return failed(thrown)
  }
}
