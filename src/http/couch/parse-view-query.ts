/**
 * The parameters of views and of lists of documents, from a query string (texts, keys as JSON) and from a body
 * (values), as one typed query. Later ones win. What a parameter may be is checked here; what goes together is
 * for those who know the view.
 */
import { Failure } from '../../base/errors.ts'
import {
  type Json,
  JsonFloat,
  type JsonObject,
  parseJson,
  printJson,
} from '../../base/json/exact-json.ts'
import { validatePartition } from '../../core/document/document-id.ts'
import type { ViewQuery } from '../../core/view/view-query.ts'
import type { Query } from '../kit/url.ts'

export interface ParsedViewQuery extends ViewQuery {
  readonly updateSeq?: boolean
  readonly attachments?: boolean
  readonly attEncodingInfo?: boolean
  readonly sorted?: boolean
  /** How an index that is behind is dealt with; brought up to date first when absent. */
  readonly update?: 'true' | 'false' | 'lazy'
  readonly stable?: boolean
  readonly partition?: string
}

type Draft = { -readonly [Name in keyof ParsedViewQuery]: ParsedViewQuery[Name] }

/** A parameter's value: a text of the query string, or a value of a body. */
type Given = { readonly text: string } | { readonly value: Json }

/** What is asked: CouchDB complains about bad keys in different words. */
export type Asked = 'documents' | 'view'

type Reader = (draft: Draft, given: Given, asked: Asked) => void

export function parseViewQuery(
  query: Query,
  body?: JsonObject,
  asked: Asked = 'documents',
): ParsedViewQuery {
  const draft: Draft = {}
  for (const [name, value] of body ?? []) read(draft, name, { value }, asked)
  for (const [name, text] of query.all()) read(draft, name, { text }, asked)
  return draft
}

/** One of several queries in a body. */
export function parseQueryObject(value: Json, asked: Asked = 'documents'): ParsedViewQuery {
  if (!(value instanceof Map)) {
    throw new Failure('request_invalid', { reason: 'Request body must be a JSON object' })
  }
  const draft: Draft = {}
  for (const [name, member] of value) read(draft, name, { value: member }, asked)
  return draft
}

/** A JSON body that must be an object, with its numbers and the order of its members. */
export function parseJsonObject(bytes: Buffer): JsonObject {
  if (bytes.length === 0) throw new Failure('request_invalid', { reason: 'Missing request body' })
  const value = parseJson(bytes)
  if (value instanceof Map) return value
  throw new Failure('request_invalid', { reason: 'Request body must be a JSON object' })
}

function read(draft: Draft, name: string, given: Given, asked: Asked): void {
  if (Object.hasOwn(READERS, name)) READERS[name]?.(draft, given, asked)
}

const startKey: Reader = (draft, given) => {
  draft.startKey = keyOf(given)
}
const endKey: Reader = (draft, given) => {
  draft.endKey = keyOf(given)
}
const startKeyDocId: Reader = (draft, given) => {
  draft.startKeyDocId = textOf(given)
}
const endKeyDocId: Reader = (draft, given) => {
  draft.endKeyDocId = textOf(given)
}

const READERS: Readonly<Record<string, Reader>> = {
  key(draft, given) {
    const key = keyOf(given)
    draft.startKey = key
    draft.endKey = key
  },
  keys(draft, given, asked) {
    draft.keys = keysOf(given, asked)
  },
  startkey: startKey,
  start_key: startKey,
  endkey: endKey,
  end_key: endKey,
  startkey_docid: startKeyDocId,
  start_key_doc_id: startKeyDocId,
  endkey_docid: endKeyDocId,
  end_key_doc_id: endKeyDocId,
  limit(draft, given) {
    draft.limit = countOf(given)
  },
  skip(draft, given) {
    draft.skip = countOf(given)
  },
  group_level(draft, given) {
    draft.groupLevel = countOf(given)
  },
  descending(draft, given) {
    draft.descending = flagOf(given)
  },
  inclusive_end(draft, given) {
    draft.inclusiveEnd = flagOf(given)
  },
  include_docs(draft, given) {
    draft.includeDocs = flagOf(given)
  },
  reduce(draft, given) {
    draft.reduce = flagOf(given)
  },
  group(draft, given) {
    draft.group = flagOf(given)
  },
  update_seq(draft, given) {
    draft.updateSeq = flagOf(given)
  },
  conflicts(draft, given) {
    draft.conflicts = flagOf(given)
  },
  attachments(draft, given) {
    draft.attachments = flagOf(given)
  },
  att_encoding_info(draft, given) {
    draft.attEncodingInfo = flagOf(given)
  },
  sorted(draft, given) {
    draft.sorted = flagOf(given)
  },
  update(draft, given) {
    draft.update = choiceOf(given, 'update', ['true', 'false', 'lazy'])
  },
  stable(draft, given) {
    draft.stable = choiceOf(given, 'stable', ['true', 'false']) === 'true'
  },
  stale(draft, given) {
    draft.update = choiceOf(given, 'stale', ['ok', 'update_after']) === 'ok' ? 'false' : 'lazy'
    draft.stable = true
  },
  partition(draft, given) {
    const partition = textOf(given)
    validatePartition(partition)
    draft.partition = partition
  },
}

/** Keys stay JSON texts: how they compare is the view's business. */
function keyOf(given: Given): Buffer {
  if ('text' in given && PLAIN_KEY.test(given.text)) return Buffer.from(given.text, 'latin1')
  return Buffer.from(printJson('text' in given ? parseQueryJson(given.text) : given.value))
}

/** Keys that read and printed are what they were: texts of plain ASCII, short numbers, lists of such without blanks. */
const PLAIN_KEY =
  /^(?:"[ !#-[\]-~]*"|0|[1-9]\d{0,14}|\[(?:(?:"[ !#-[\]-~]*"|0|[1-9]\d{0,14})(?:,(?!\])|(?=\])))*\])$/

function keysOf(given: Given, asked: Asked): Buffer[] {
  const isQuery = 'text' in given
  const value = isQuery ? parseQueryJson(given.text) : given.value
  if (Array.isArray(value)) return value.map(key => Buffer.from(printJson(key)))
  if (isQuery && asked === 'view') throw invalid('`keys` must be an array of strings.')
  const reason = isQuery
    ? '`keys` parameter must be an array.'
    : `\`keys\` ${asked === 'view' ? '' : 'body '}member must be an array.`
  throw new Failure('request_invalid', { reason })
}

/** Bad JSON in the query string is a plain bad request in every dialect. */
function parseQueryJson(text: string): Json {
  try {
    return parseJson(text)
  } catch (thrown) {
    throw new Failure('request_invalid', { reason: 'invalid UTF-8 JSON' }, thrown)
  }
}

function textOf(given: Given): string {
  if ('text' in given) return given.text
  return typeof given.value === 'string' ? given.value : printJson(given.value)
}

function flagOf(given: Given): boolean {
  const lower = textOf(given).toLowerCase()
  if (lower === 'true' || lower === 'false') return lower === 'true'
  throw invalid(`Invalid boolean parameter: ${printed(given)}`)
}

function countOf(given: Given): number {
  const isFloat = 'value' in given && given.value instanceof JsonFloat
  const text = textOf(given)
  if (!isFloat && /^\+?\d{1,15}$/.test(text)) return Number(text)
  const kind = !isFloat && /^-\d+$/.test(text) ? 'positive integer' : 'integer'
  throw invalid(`Invalid value for ${kind}: ${printed(given)}`)
}

function choiceOf<Choice extends string>(
  given: Given,
  name: string,
  choices: readonly Choice[],
): Choice {
  const text = textOf(given)
  const found = choices.find(choice => choice === text)
  if (found !== undefined) return found
  throw invalid(`Invalid value for \`${name}\`.`)
}

/** As CouchDB's messages print a value: texts in quotes, an empty one as an empty list. */
function printed(given: Given): string {
  if ('value' in given) return printJson(given.value)
  return given.text === '' ? '[]' : JSON.stringify(given.text)
}

const invalid = (reason: string): Failure => new Failure('query_invalid', { reason })
