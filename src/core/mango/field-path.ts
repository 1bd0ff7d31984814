/**
 * Paths to fields: `a.b`, `a\.b` (a literal dot), `list.0` (an index into an array).
 *
 * Reading tells a missing member from a path that cannot exist (through a scalar, past the end of
 * an array), because `{"$exists": false}` is true for the first only, as in CouchDB.
 */
import { isJsonArray, isJsonObject, type JsonValue } from './json-value.ts'
import { mangoFailure } from './mango-failure.ts'

export const MISSING = Symbol('missing')
export const UNREACHABLE = Symbol('unreachable')
export type Found = JsonValue | typeof MISSING | typeof UNREACHABLE

export const isFound = (found: Found): found is JsonValue =>
  found !== MISSING && found !== UNREACHABLE

export function parseFieldPath(name: string): readonly string[] {
  const segments: string[] = []
  let start = 0
  for (let at = 0; at <= name.length; at++) {
    if (at < name.length && (name[at] !== '.' || name[at - 1] === '\\')) continue
    segments.push(name.slice(start, at).replaceAll('\\', ''))
    if (at === start) throw mangoFailure('invalid_field_name', `Invalid field name: ${name}`)
    start = at + 1
  }
  return segments
}

export function readField(value: JsonValue, segments: readonly string[]): Found {
  let current = value
  for (const segment of segments) {
    if (isJsonObject(current)) {
      if (!Object.hasOwn(current, segment)) return MISSING
      current = current[segment] as JsonValue
    } else if (isJsonArray(current) && /^[+-]?\d+$/.test(segment)) {
      const item = current[Number(segment)]
      if (item === undefined) return UNREACHABLE
      current = item
    } else return UNREACHABLE
  }
  return current
}
