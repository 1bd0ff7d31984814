/**
 * Parsed JSON as selectors see it, and the small questions asked about it everywhere in this
 * folder.
 *
 * Documents come from `JSON.parse`, so `5` and `5.0` are one number here (docs/compatibility.md).
 * Member names of documents are not ours to trust: reads go through own members only, writes
 * survive `__proto__`. The order of values that views use is not here: it is handed in as a
 * `Compare`.
 */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }
export type JsonObject = { readonly [name: string]: JsonValue }
export type MutableJsonObject = { [name: string]: JsonValue }

/** View order of two values: negative, zero or positive. */
export type Compare = (a: JsonValue, b: JsonValue) => number

export const JSON_TYPES = ['null', 'boolean', 'number', 'string', 'array', 'object'] as const
export type JsonType = (typeof JSON_TYPES)[number]

export function jsonType(value: JsonValue): JsonType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value as 'boolean' | 'number' | 'string' | 'object'
}

export const isJsonObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const isJsonArray = (value: JsonValue | undefined): value is readonly JsonValue[] =>
  Array.isArray(value)

export const isInteger = (value: JsonValue | undefined): value is number => Number.isInteger(value)

export const member = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined

/** Plain assignment except for the one name where that would set the prototype instead. */
export function setMember(object: MutableJsonObject, name: string, value: JsonValue): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true })
}

/**
 * Identity of values, member order included: what `$all` asks, and whether an index definition
 * changed.
 */
export function sameJson(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true
  if (isJsonArray(a)) {
    return (
      isJsonArray(b) &&
      a.length === b.length &&
      a.every((item, at) => sameJson(item, b[at] as JsonValue))
    )
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false
  const names = Object.keys(a)
  const others = Object.keys(b)
  return (
    names.length === others.length &&
    names.every(
      (name, at) => name === others[at] && sameJson(a[name] as JsonValue, b[name] as JsonValue),
    )
  )
}
