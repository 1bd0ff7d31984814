/**
 * `POST _index`, `POST _index/_bulk_delete` and the parameters of `GET _index`: checks, generated
 * names, and what becomes of the design document.
 *
 * Loading and saving the design document is left to the caller.
 */
import { Failure } from '../../base/errors.ts'
import { generatedIndexName } from './generated-name.ts'
import {
  type IndexDefinition,
  type JsonIndex,
  jsonIndexView,
  parseJsonIndex,
  readJsonIndex,
  type TextIndex,
} from './index-definition.ts'
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
  member,
  sameJson,
  setMember,
} from './json-value.ts'
import { indexFailure } from './mango-failure.ts'
import {
  parseBoolean,
  parsePositiveNumber,
  parseString,
  refuseUnknown,
  required,
} from './options.ts'
import { printTerm } from './print-term.ts'
import { parseTextIndex, readTextIndex, textIndexMember } from './text-index.ts'

const KNOWN = new Set(['index', 'type', 'name', 'ddoc', 'w', 'partitioned'])
const LANGUAGE = 'query'

export interface IndexSettings {
  /** What `partitioned` means when it is not given: whether the database is. */
  readonly partitioned?: boolean
  /** Without a text search service `type: "text"` is refused with CouchDB's words. */
  readonly textSearch: boolean
}

export function parseIndexRequest(
  body: JsonObject,
  settings: IndexSettings,
): JsonIndex | TextIndex {
  const given = required(body, 'index')
  const type = parseString(member(body, 'type') ?? 'json')
  const name = parseIndexName(member(body, 'name'))
  const ddoc = parseIndexName(member(body, 'ddoc'))
  const writeQuorum = parsePositiveNumber(member(body, 'w') ?? 2)
  const asked = member(body, 'partitioned')
  const partitioned = asked === undefined ? undefined : parseBoolean(asked)
  refuseUnknown(body, KNOWN)
  refuseUnknownType(type, settings)
  const generated = () =>
    generatedIndexName({ index: given, type, name, ddoc, writeQuorum, partitioned })
  const named = {
    ddoc: `_design/${ddoc?.replace(/^_design\//, '') ?? generated()}`,
    name: name ?? generated(),
    partitioned: partitioned ?? settings.partitioned ?? false,
  }
  return type === 'json' ? parseJsonIndex(given, named) : parseTextIndex(given, named)
}

function refuseUnknownType(type: string, settings: IndexSettings): void {
  if (type === 'json') return
  if (type !== 'text') throw indexFailure('invalid_index', `Invalid type for index: ${type}`)
  if (!settings.textSearch) {
    throw new Failure('service_unavailable', {
      error: 'required index service unavailable',
      reason: 'text',
    })
  }
}

function parseIndexName(json: JsonValue | undefined): string | undefined {
  if (json === undefined) return undefined
  const name = parseString(json)
  if (name !== '') return name
  throw indexFailure('invalid_empty_string', 'Index name or ddoc cannot be empty string')
}

/**
 * The body of the design document with the index in it (underscore members are the caller's), or
 * undefined when it was there already just so.
 */
export function addIndex(
  existing: JsonObject | undefined,
  index: JsonIndex | TextIndex,
  /** `partitioned` of the request, when it was given. */
  partitioned?: boolean,
): JsonObject | undefined {
  const body: MutableJsonObject = { ...(existing ?? { language: LANGUAGE }) }
  setPartitioned(body, index.ddoc, existing === undefined, partitioned)
  const language = member(body, 'language')
  if (language !== LANGUAGE) {
    const shown = language === undefined ? 'undefined' : printTerm(language)
    throw indexFailure(
      'invalid_ddoc_lang',
      `The design document holds no indexes, its language is: ${shown}`,
    )
  }
  const section = index.type === 'json' ? 'views' : 'indexes'
  const held = member(body, section)
  const members: MutableJsonObject = isJsonObject(held) ? { ...held } : {}
  setMember(
    members,
    index.name,
    index.type === 'json' ? jsonIndexView(index) : textIndexMember(index),
  )
  body[section] = members
  return existing && sameJson(existing, body) ? undefined : body
}

function setPartitioned(
  body: MutableJsonObject,
  ddoc: string,
  isNew: boolean,
  asked: boolean | undefined,
): void {
  if (asked === undefined) return
  const options = member(body, 'options')
  const held = isJsonObject(options) ? options : {}
  const before = member(held, 'partitioned')
  if (!isNew && before !== asked) {
    throw indexFailure(
      'invalid_partitioned_option',
      `${ddoc} exists with another value of partitioned.`,
    )
  }
  body.options = { ...held, partitioned: asked }
}

/**
 * Without the index: the body, or null when nothing is left and the design document goes.
 * undefined: no such index.
 */
export function removeIndex(
  existing: JsonObject,
  type: string,
  name: string,
): JsonObject | null | undefined {
  const section = type === 'json' ? 'views' : type === 'text' ? 'indexes' : undefined
  const held = section === undefined ? undefined : member(existing, section)
  if (section === undefined || !isJsonObject(held) || !Object.hasOwn(held, name)) return undefined
  const { [name]: _removed, ...members } = held
  const { [section]: _section, ...rest } = existing
  const body: JsonObject =
    Object.keys(members).length === 0 ? rest : { ...existing, [section]: members }
  const left = Object.keys(body).filter(key => key !== 'language' && !key.startsWith('_'))
  return left.length === 0 && member(body, 'language') === LANGUAGE ? null : body
}

/** The indexes of a design document, by name within their kind; none when it is not ours. */
export function readIndexes(
  ddoc: string,
  body: JsonObject,
  settings: { readonly partitioned?: boolean; readonly textSearch: boolean },
): readonly IndexDefinition[] {
  if (member(body, 'language') !== LANGUAGE) return []
  const options = member(body, 'options')
  const own = isJsonObject(options) ? member(options, 'partitioned') : undefined
  const partitioned = typeof own === 'boolean' ? own : (settings.partitioned ?? false)
  const read = (section: string, one: typeof readJsonIndex | typeof readTextIndex) => {
    const held = member(body, section)
    if (!isJsonObject(held)) return []
    return Object.entries(held).flatMap(
      ([name, json]) => one(json, { ddoc, name, partitioned }) ?? [],
    )
  }
  const texts = settings.textSearch ? read('indexes', readTextIndex) : []
  return [...read('views', readJsonIndex), ...texts]
}

/** Ids of design documents, all with `_design/`. */
export function parseBulkDelete(body: JsonObject): readonly string[] {
  const ids = required(body, 'docids')
  if (!isJsonArray(ids) || !ids.every(id => typeof id === 'string')) {
    throw indexFailure('invalid_bulk_docs', `docids is a list of strings, not: ${printTerm(ids)}`)
  }
  parsePositiveNumber(member(body, 'w') ?? 2)
  refuseUnknown(body, new Set(['docids', 'w']))
  return ids.map(id => (id.startsWith('_design/') ? id : `_design/${id}`))
}

/** `limit` and `skip` of `GET _index`. */
export function parseListParameters(
  limit: string | undefined,
  skip: string | undefined,
): { readonly limit: number; readonly skip: number } {
  const parsed = {
    limit: limit === undefined ? Number.POSITIVE_INFINITY : wholeNumber(limit),
    skip: skip === undefined ? 0 : wholeNumber(skip),
  }
  if (parsed.limit >= 1 && parsed.skip >= 0) return parsed
  throw new Failure('index_list_invalid', {
    reason: 'limit is a whole number from 1, skip one from 0.',
  })
}

const wholeNumber = (text: string) => (/^-?\d+$/.test(text) ? Number(text) : Number.NaN)
