/**
 * The `fields` of a query: cuts a document down to the paths named, rebuilding the nesting.
 *
 * Fields that are not there are left out. Array positions become members (`tags.0` gives
 * `{"tags":{"0":…}}`).
 */
import { isFound, parseFieldPath, readField } from './field-path.ts'
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
  member,
  setMember,
} from './json-value.ts'
import { mangoFailure } from './mango-failure.ts'
import { printTerm } from './print-term.ts'

export type Projection = (document: JsonValue) => JsonValue

/** Empty means all fields. */
export function parseFields(json: JsonValue): readonly string[] {
  if (!isJsonArray(json)) {
    throw mangoFailure(
      'invalid_fields',
      `Fields must be an array of strings, not: ${printTerm(json)}`,
    )
  }
  return json.map(field => {
    if (typeof field === 'string') return field
    throw mangoFailure('invalid_field', `Invalid JSON for field spec: ${printTerm(field)}`)
  })
}

export function compileProjection(fields: readonly string[]): Projection {
  if (fields.length === 0) return document => document
  const all = fields.map(parseFieldPath)
  const paths = all.filter((path, at) => !isWithin(path, all.slice(0, at)))
  return document => {
    const result: MutableJsonObject = {}
    for (const path of paths) {
      const value = readField(document, path)
      if (isFound(value)) setPath(result, path, value)
    }
    return result
  }
}

/** A document as far as a covering index knows it. */
export function documentFromKey(
  id: string,
  columns: readonly (readonly string[])[],
  key: readonly JsonValue[],
): JsonObject {
  const document: MutableJsonObject = { _id: id }
  for (const [at, path] of columns.entries()) setPath(document, path, key[at] ?? null)
  return document
}

/** Objects on the way are ours, never parts of the source. */
function setPath(root: MutableJsonObject, path: readonly string[], value: JsonValue): void {
  let object = root
  for (const name of path.slice(0, -1)) {
    let child = member(object, name)
    if (!isJsonObject(child)) {
      child = {}
      setMember(object, name, child)
    }
    object = child as MutableJsonObject
  }
  const last = path.at(-1)
  if (last !== undefined) setMember(object, last, value)
}

/** An earlier field that holds this one has brought it along. */
const isWithin = (path: readonly string[], earlier: readonly (readonly string[])[]): boolean =>
  earlier.some(other => other.length < path.length && other.every((name, at) => name === path[at]))
