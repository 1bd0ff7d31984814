/**
 * The order of keys, and the neighbours of a key in it. Pure; used by every engine and by the
 * batches of `scan`.
 */
import type { Key, Range } from './engine.ts'

export const compareKeys = (a: Key, b: Key): number => Buffer.compare(a, b)

/**
 * The first key after `key`: nothing fits between a key and the same key with a zero byte behind
 * it.
 */
export function keyAfter(key: Key): Buffer {
  const next = Buffer.alloc(key.length + 1)
  next.set(key)
  return next
}

/** What is left of a range once the rows up to `last` were read. */
export const restOfRange = (range: Range, last: Key, reverse: boolean): Range =>
  reverse ? { start: range.start, end: last } : { start: keyAfter(last), end: range.end }

export const isEmptyRange = (range: Range): boolean => Buffer.compare(range.start, range.end) >= 0
