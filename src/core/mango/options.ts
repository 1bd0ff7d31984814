/**
 * The body of `_find` and `_explain`: checks in CouchDB's order, defaults, and the `opts` that
 * `_explain` shows.
 *
 * Every member is either understood or refused. Failure('mango_invalid') with CouchDB's words.
 */
import { validatePartition } from '../document/document-id.ts'
import { type Bookmark, decodeBookmark, invalidBookmark, NO_BOOKMARK } from './bookmark.ts'
import { parseFieldPath } from './field-path.ts'
import { isInteger, isJsonArray, type JsonObject, type JsonValue, member } from './json-value.ts'
import { mangoFailure } from './mango-failure.ts'
import { parseSelector } from './parse-selector.ts'
import { printTerm } from './print-term.ts'
import { parseFields } from './projection.ts'
import type { Selector } from './selector.ts'
import { parseSort, type SortField, sortObject } from './sort.ts'

export const DEFAULT_LIMIT = 25

/**
 * The design document's name without `_design/`, and the index's where given; empty when none is
 * named.
 */
export type UseIndex = readonly [] | readonly [string] | readonly [string, string]

export interface FindOptions {
  readonly selector: Selector
  readonly useIndex: UseIndex
  readonly bookmark: Bookmark | undefined
  /** As sent, for `_explain`. */
  readonly bookmarkText: string
  readonly limit: number
  readonly skip: number
  readonly sort: readonly SortField[]
  /** Empty means all. */
  readonly fields: readonly string[]
  readonly partition: string
  readonly readQuorum: number
  readonly conflicts: boolean
  readonly stale: boolean
  readonly update: boolean
  readonly stable: boolean
  readonly executionStats: boolean
  readonly allowFallback: boolean
}

const KNOWN = new Set(
  `selector use_index bookmark limit skip sort fields partition r conflicts stale update stable
   execution_stats allow_fallback`.split(/\s+/),
)

export function parseFindOptions(
  body: JsonObject,
  settings: { readonly defaultLimit?: number; readonly partition?: string } = {},
): FindOptions {
  const option = <T>(name: string, parse: (json: JsonValue) => T, otherwise: T): T => {
    const given = member(body, name)
    return given === undefined ? otherwise : parse(given)
  }
  const selector = parseSelector(required(body, 'selector'))
  const useIndex = option('use_index', parseUseIndex, [] as UseIndex)
  const bookmarkText = option('bookmark', parseBookmarkText, NO_BOOKMARK)
  const options: FindOptions = {
    selector,
    useIndex,
    bookmark: decodeBookmark(bookmarkText),
    bookmarkText,
    limit: option('limit', parseNaturalNumber, settings.defaultLimit ?? DEFAULT_LIMIT),
    skip: option('skip', parseNaturalNumber, 0),
    sort: option('sort', parseSort, []),
    fields: option('fields', parseFieldNames, []),
    partition: option('partition', parsePartition, settings.partition ?? ''),
    readQuorum: option('r', parsePositiveNumber, 1),
    conflicts: option('conflicts', parseBoolean, false),
    stale: option('stale', parseStale, false),
    update: option('update', parseBoolean, true),
    stable: option('stable', parseBoolean, false),
    executionStats: option('execution_stats', parseBoolean, false),
    allowFallback: option('allow_fallback', parseBoolean, true),
  }
  refuseUnknown(body, KNOWN)
  return options
}

/** The `opts` member of `_explain`. */
export function optionsJson(options: FindOptions): JsonObject {
  return {
    use_index: options.useIndex,
    bookmark: options.bookmarkText,
    limit: options.limit,
    skip: options.skip,
    sort: sortObject(options.sort),
    fields: options.fields,
    partition: options.partition,
    r: options.readQuorum,
    conflicts: options.conflicts,
    stale: options.stale ? 'ok' : false,
    update: options.update,
    stable: options.stable,
    execution_stats: options.executionStats,
    allow_fallback: options.allowFallback,
  }
}

export function required(body: JsonObject, name: string): JsonValue {
  const given = member(body, name)
  if (given === undefined) {
    throw mangoFailure('missing_required_key', `Missing required key: ${name}`)
  }
  return given
}

export function refuseUnknown(body: JsonObject, known: ReadonlySet<string>): void {
  const unknown = Object.keys(body).find(name => !known.has(name))
  if (unknown !== undefined) {
    throw mangoFailure('invalid_key', `Invalid key ${unknown} for this request.`)
  }
}

export function parseUseIndex(json: JsonValue): UseIndex {
  if (json === null) return []
  const parts = typeof json === 'string' ? indexNameParts(json) : json
  if (isJsonArray(parts) && parts.length <= 2 && parts.every(part => typeof part === 'string')) {
    const [ddoc, name] = parts as readonly string[]
    if (ddoc === undefined) return []
    const design = ddoc.replace(/^_design\//, '')
    return name === undefined ? [design] : [design, name]
  }
  throw mangoFailure('invalid_index_name', `Invalid index name: ${printTerm(json)}`)
}

/** `ddoc`, `_design/ddoc`, `ddoc/name`, `_design/ddoc/name`. */
function indexNameParts(text: string): readonly string[] {
  const rest = text.startsWith('_design/') ? text.slice('_design/'.length) : text
  const slash = rest.indexOf('/')
  return slash < 0 ? [rest] : [rest.slice(0, slash), rest.slice(slash + 1)]
}

function parseBookmarkText(json: JsonValue): string {
  if (json === null || json === '') return NO_BOOKMARK
  if (typeof json !== 'string') throw invalidBookmark(json)
  return json
}

function parseNaturalNumber(json: JsonValue): number {
  if (isInteger(json) && json >= 0) return json
  throw mangoFailure(
    'invalid_non_neg_integer',
    `${printTerm(json)} is not an integer greater than or equal to zero`,
  )
}

export function parsePositiveNumber(json: JsonValue): number {
  if (isInteger(json) && json > 0) return json
  throw mangoFailure(
    'invalid_pos_integer',
    `${printTerm(json)} is not an integer greater than zero`,
  )
}

export function parseBoolean(json: JsonValue): boolean {
  if (typeof json === 'boolean') return json
  throw mangoFailure('invalid_boolean', `Invalid boolean value: ${printTerm(json)}`)
}

export function parseString(json: JsonValue): string {
  if (typeof json === 'string') return json
  throw mangoFailure('invalid_string', `A string is needed here, not: ${printTerm(json)}`)
}

/** Empty: all of them. */
function parsePartition(json: JsonValue): string {
  const partition = parseString(json)
  if (partition !== '') validatePartition(partition)
  return partition
}

/** `ok`, `false` or false. CouchDB crashes on others; we say what is wrong. */
function parseStale(json: JsonValue): boolean {
  if (json === 'ok') return true
  if (json === false || json === 'false') return false
  throw mangoFailure('invalid_value', `stale can be "ok" or false, not: ${printTerm(json)}`)
}

/** Checked here, so that a bad path is an error and not a field that is never there. */
function parseFieldNames(json: JsonValue): readonly string[] {
  const fields = parseFields(json)
  for (const field of fields) parseFieldPath(field)
  return fields
}
