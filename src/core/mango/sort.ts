/**
 * The `sort` of a query and the `fields` of a JSON index: lists of names with a direction, one
 * direction for all.
 */
import {
  isJsonArray,
  isJsonObject,
  type JsonValue,
  type MutableJsonObject,
  setMember,
} from './json-value.ts'
import { mangoFailure } from './mango-failure.ts'
import { printTermReadably } from './print-term.ts'

export type Direction = 'asc' | 'desc'
export interface SortField {
  readonly name: string
  readonly direction: Direction
}

export function parseSort(json: JsonValue): readonly SortField[] {
  if (!isJsonArray(json)) {
    throw mangoFailure(
      'invalid_sort_json',
      `Sort must be an array of sort specs, not: ${printTermReadably(json)}`,
    )
  }
  const fields = json.map(parseSortField)
  if (fields.some(field => field.direction !== fields[0]?.direction)) {
    throw mangoFailure(
      'unsupported_mixed_sort',
      'Sorts currently only support a single direction for all fields.',
    )
  }
  return fields
}

function parseSortField(json: JsonValue): SortField {
  if (typeof json === 'string' && json !== '') return { name: json, direction: 'asc' }
  if (isJsonObject(json)) {
    const [entry, ...more] = Object.entries(json)
    if (entry && more.length === 0) {
      const [name, direction] = entry
      if (name !== '' && (direction === 'asc' || direction === 'desc')) return { name, direction }
    }
  }
  throw mangoFailure('invalid_sort_field', `Invalid sort field: ${printTermReadably(json)}`)
}

/** `{"a":"asc","b":"asc"}`, as stored in design documents and shown in `_explain`. */
export function sortObject(fields: readonly SortField[]): MutableJsonObject {
  const object: MutableJsonObject = {}
  for (const { name, direction } of fields) setMember(object, name, direction)
  return object
}

/** `[{"a":"asc"},{"b":"asc"}]`, as in `GET _index`. */
export const sortList = (fields: readonly SortField[]): readonly JsonValue[] =>
  fields.map(field => sortObject([field]))
