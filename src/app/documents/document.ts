/** A document as the application knows it: a plain object with its id, and its revision once it is stored. */
export interface Document {
  readonly _id: string
  readonly _rev?: string
  readonly [member: string]: unknown
}

export type JsonObject = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A text that is there and says something. */
export const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== ''

/** The id in `{_id}`, or the id itself; undefined for anything else. */
export function idIn(value: unknown): string | undefined {
  const id = isObject(value) ? value._id : value
  return typeof id === 'string' && id !== '' ? id : undefined
}

/** The same object without some members. */
export function without(object: JsonObject, ...names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))
}

/** Equal as JSON, whatever the order of members. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSameJson(item, b[index]))
  }
  if (!isObject(a) || !isObject(b)) return false
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every(name => Object.hasOwn(b, name) && isSameJson(a[name], b[name]))
  )
}
