/**
 * The order in which `_id` is compared: bytewise, with the types in the "raw" order of views
 * (numbers < false, null, true < objects < arrays < strings).
 *
 * UTF-8 bytes sort as code points, UTF-16 units do not: surrogate pairs (U+10000 and up) stand
 * below U+E000 to U+FFFF there.
 */
import { isJsonArray, isJsonObject, type JsonValue } from './json-value.ts'

export function compareRaw(a: JsonValue, b: JsonValue): number {
  if (typeof a === 'string' && typeof b === 'string') return compareCodePoints(a, b)
  const rank = rankOf(a)
  const difference = rank - rankOf(b)
  if (difference !== 0) return difference
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (isJsonArray(a) && isJsonArray(b)) return compareLists(a, b)
  if (isJsonObject(a) && isJsonObject(b)) {
    return compareLists(Object.entries(a).flat(), Object.entries(b).flat())
  }
  return compareCodePoints(String(a), String(b))
}

export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at)
    const right = b.charCodeAt(at)
    if (left !== right) return codePointRank(left) - codePointRank(right)
  }
  return a.length - b.length
}

/** Lifts surrogates above the rest of the plane, which is all that differs between both orders. */
const codePointRank = (unit: number) => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)

function compareLists(a: readonly JsonValue[], b: readonly JsonValue[]): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const order = compareRaw(a[at] as JsonValue, b[at] as JsonValue)
    if (order !== 0) return order
  }
  return a.length - b.length
}

function rankOf(value: JsonValue): number {
  if (typeof value === 'number') return 0
  if (value === null || typeof value === 'boolean') return 1
  if (typeof value === 'string') return 4
  return isJsonArray(value) ? 3 : 2
}
