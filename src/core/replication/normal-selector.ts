/**
 * A selector in the one form that all ways of writing it share, as CouchDB names replications by: normalised as for
 * `_find`, members in the order of their names. Pure.
 *
 * Numbers keep the form they were written in (`1.0` is not `1` in a name), which the normaliser does not care for: they
 * pass it as texts that stand for them.
 */
import { Failure } from '../../base/errors.ts'
import { type Json, JsonFloat, parseJson, toPlain } from '../../base/json/exact-json.ts'
import { isJsonArray, isJsonObject, type JsonValue } from '../mango/json-value.ts'
import { parseSelector } from '../mango/parse-selector.ts'
import { selectorJson } from '../mango/selector.ts'

const NESTING_MAX = 1000
/** No text of JSON that came over the wire is likely to begin like this; one that does is only named differently. */
const STAND_IN = '\u0000number '

/** @param text JSON of an object. Fails with `mango_invalid` for what is no selector. */
export function normalSelector(text: string): Json {
  const exact = parseJson(text)
  const numbers: Json[] = []
  const masked = mask(exact, numbers, 0)
  return sorted(unmasked(normalised(masked) ?? normalise(exact), numbers))
}

const normalise = (value: Json): JsonValue =>
  selectorJson(parseSelector(toPlain(value) as JsonValue))

/** Undefined where a number had to be seen as one. */
function normalised(masked: Json): JsonValue | undefined {
  try {
    return normalise(masked)
  } catch {
    return undefined
  }
}

/** Only what plain numbers cannot tell is replaced: operators that count get their whole numbers. */
function mask(value: Json, numbers: Json[], depth: number): Json {
  if (depth > NESTING_MAX) {
    throw new Failure('request_invalid', { reason: 'The selector is nested too deeply.' })
  }
  if (value instanceof JsonFloat || typeof value === 'bigint') {
    return `${STAND_IN}${numbers.push(value) - 1}`
  }
  if (Array.isArray(value)) return value.map(each => mask(each, numbers, depth + 1))
  if (!(value instanceof Map)) return value
  return new Map([...value].map(([name, each]) => [name, mask(each, numbers, depth + 1)]))
}

function unmasked(value: JsonValue, numbers: readonly Json[]): Json {
  if (typeof value === 'string' && value.startsWith(STAND_IN)) {
    return numbers[Number(value.slice(STAND_IN.length))] ?? value
  }
  if (isJsonArray(value)) return value.map(each => unmasked(each, numbers))
  if (!isJsonObject(value)) return value
  return new Map(Object.entries(value).map(([name, each]) => [name, unmasked(each, numbers)]))
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (!(value instanceof Map)) return value
  const members = [...value].map(([name, each]) => [name, sorted(each)] as const)
  return new Map(members.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
}
