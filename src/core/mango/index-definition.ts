/**
 * Index definitions as the planner and the indexer see them, and their three spellings outside: the
 * body of `POST _index`, the member of a design document, and the entry of `GET _index`.
 *
 * This file has the shared parts and JSON indexes; `text-index.ts` has what is particular to text
 * indexes. Failure('index_invalid') or Failure('mango_invalid') with CouchDB's words.
 */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, member } from './json-value.ts'
import { indexFailure } from './mango-failure.ts'
import { refuseUnknown, required } from './options.ts'
import { parseSelector } from './parse-selector.ts'
import { printTerm } from './print-term.ts'
import { type Selector, selectorJson } from './selector.ts'
import { parseSort, type SortField, sortList, sortObject } from './sort.ts'

interface Named {
  /** With `_design/`. */
  readonly ddoc: string
  readonly name: string
  readonly partitioned: boolean
}

export interface JsonIndex extends Named {
  readonly type: 'json'
  readonly fields: readonly SortField[]
  /** Only documents that match are in the index. */
  readonly partial: Selector | undefined
  /** The definition as it was sent, kept in the design document. */
  readonly given: JsonObject
}

export type TextFieldType = 'string' | 'number' | 'boolean'

export interface TextIndex extends Named {
  readonly type: 'text'
  readonly fields: 'all' | readonly { readonly name: string; readonly type: TextFieldType }[]
  readonly defaultAnalyzer: JsonValue
  readonly defaultField: { readonly enabled: boolean; readonly analyzer: JsonValue }
  readonly arrayLengths: boolean
  readonly partial: Selector | undefined
  /** The definition as stored. */
  readonly def: JsonObject
}

export interface SpecialIndex {
  readonly type: 'special'
  readonly ddoc: null
  readonly name: '_all_docs'
}

export type IndexDefinition = JsonIndex | TextIndex | SpecialIndex

export const ALL_DOCS: SpecialIndex = { type: 'special', ddoc: null, name: '_all_docs' }

const KNOWN_JSON = new Set(['fields', 'partial_filter_selector'])

/** The `index` member of `POST _index` for type json. */
export function parseJsonIndex(given: JsonValue, named: Named): JsonIndex {
  if (!isJsonObject(given)) {
    throw indexFailure('invalid_index', `JSON indexes must be an object, not: ${printTerm(given)}`)
  }
  const fields = parseSort(required(given, 'fields'))
  const partial = parsePartial(member(given, 'partial_filter_selector'))
  refuseUnknown(given, KNOWN_JSON)
  return { type: 'json', ...named, fields, partial, given }
}

/** An empty filter is none. */
export function parsePartial(json: JsonValue | undefined): Selector | undefined {
  const selector = json === undefined ? undefined : parseSelector(json)
  return selector?.kind === 'everything' ? undefined : selector
}

/** The member of `views` for a JSON index. */
export function jsonIndexView(index: JsonIndex): JsonObject {
  return {
    map: {
      fields: sortObject(index.fields),
      partial_filter_selector: index.partial ? selectorJson(index.partial) : {},
    },
    reduce: '_count',
    options: { def: index.given },
  }
}

/** Reads it back; undefined for a view that is no index of ours, which CouchDB skips too. */
export function readJsonIndex(view: JsonValue, named: Named): JsonIndex | undefined {
  const map = isJsonObject(view) ? member(view, 'map') : undefined
  if (!isJsonObject(view) || !isJsonObject(map)) return undefined
  const stored = member(map, 'fields')
  const options = member(view, 'options')
  const given = isJsonObject(options) ? member(options, 'def') : undefined
  if (!isJsonObject(stored)) return undefined
  try {
    const fields = inGivenOrder(parseSort(Object.entries(stored).map(pairObject)), given)
    const partial = parsePartial(member(map, 'partial_filter_selector'))
    return { type: 'json', ...named, fields, partial, given: isJsonObject(given) ? given : map }
  } catch {
    return undefined
  }
}

const pairObject = ([name, direction]: [string, JsonValue]): JsonObject => ({ [name]: direction })

/**
 * Objects in JavaScript put names that look like integers first; the list that was sent knows
 * better.
 */
function inGivenOrder(
  fields: readonly SortField[],
  given: JsonValue | undefined,
): readonly SortField[] {
  const list = isJsonObject(given) ? member(given, 'fields') : undefined
  if (!isJsonArray(list) || list.length !== fields.length) return fields
  const sent = parseSort(list)
  const agree = sent.every(field =>
    fields.some(other => other.name === field.name && other.direction === field.direction),
  )
  return agree ? sent : fields
}

/** An entry of `GET _index`, also the `index` of `_explain`. */
export function indexJson(index: IndexDefinition): JsonObject {
  if (index.type === 'special') {
    const { ddoc, name, type } = index
    return { ddoc, name, type, def: { fields: [{ _id: 'asc' }] } }
  }
  const { ddoc, name, type, partitioned } = index
  return {
    ddoc,
    name,
    type,
    partitioned,
    def: index.type === 'json' ? jsonDef(index) : textDef(index),
  }
}

const jsonDef = (index: JsonIndex): JsonObject => ({
  fields: sortList(index.fields),
  ...(index.partial && { partial_filter_selector: selectorJson(index.partial) }),
})

/** All fields are shown as an empty list. */
const textDef = (index: TextIndex): JsonObject => ({
  ...index.def,
  fields: index.fields === 'all' ? [] : index.fields.map(({ name, type }) => ({ [name]: type })),
})

export const columnNames = (index: IndexDefinition): readonly string[] => {
  if (index.type === 'special') return ['_id']
  return index.fields === 'all' ? [] : index.fields.map(field => field.name)
}
