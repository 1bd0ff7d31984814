/** Parameters of registration triggers: an object, its text, or names with commas between. */
import { isObject, isText, type JsonObject } from '../../documents/document.ts'

/** Throws where the text begins like JSON and is none. */
export function parametersOf(given: unknown): JsonObject {
  if (isObject(given)) return given
  if (!isText(given) || !given.trim().startsWith('{')) return {}
  const parsed: unknown = JSON.parse(given)
  return isObject(parsed) ? parsed : {}
}

export const textParameter = (parameters: JsonObject, name: string): string | undefined => {
  const value = parameters[name]
  return isText(value) ? value.trim() : undefined
}

/** The value of a field by its name, which may be a path. */
export function fieldOf(fields: JsonObject, name: string): unknown {
  if (Object.hasOwn(fields, name)) return fields[name]
  return name
    .split('.')
    .reduce<unknown>(
      (value, each) => (isObject(value) && Object.hasOwn(value, each) ? value[each] : undefined),
      fields,
    )
}
