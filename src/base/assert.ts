/** Checks of our own promises. A failing one is a bug of ours: it is logged with its stack and ends as a 500. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}

export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

/** For `switch` and lookups that the types say are complete. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`)
}
