/**
 * The rules for design documents that need no running of functions: types of the fields, a map in
 * every view, names of builtin reduces; and the views and functions taken out of a document that
 * obeys them. Texts and order are CouchDB's. Compiling is for the sandbox.
 */
import { Failure } from '../../base/errors.ts'

export interface DesignDocument {
  readonly language: string
  readonly options: DesignOptions
  /** By name, in document order, without `lib`. */
  readonly views: ReadonlyMap<string, ViewDefinition>
  /** Definitions of text indexes, unchecked. */
  readonly indexes?: Fields
  /** CommonJS modules for map functions. */
  readonly lib?: Fields
  readonly filters: ReadonlyMap<string, FunctionSource>
  readonly lists: ReadonlyMap<string, FunctionSource>
  readonly shows: ReadonlyMap<string, FunctionSource>
  readonly updates: ReadonlyMap<string, FunctionSource>
  readonly rewrites?: readonly unknown[] | string
  readonly validateDocUpdate?: string
  /** False: no index is built before somebody asks. */
  readonly autoupdate: boolean
}

export interface DesignOptions {
  readonly includeDesign: boolean
  readonly localSeq: boolean
  /** Its indexes are asked partition by partition; absent where the database has no partitions and nobody said. */
  readonly partitioned?: boolean
}

/** The part of an index's signature that tells in which order its rows are. */
export const scopeOf = ({ partitioned }: DesignOptions): string | false | null =>
  partitioned === true ? 'by partition' : (partitioned ?? null)

export interface ViewDefinition {
  /** An object if the language is `query`. */
  readonly map: FunctionSource
  readonly reduce?: string
  readonly options: Fields
}

/** Text, or for some languages a description. */
export type FunctionSource = string | Fields

export type Fields = Readonly<Record<string, unknown>>

export const DEFAULT_LANGUAGE = 'javascript'

/** Fails with `design_document_invalid`. `body` is the document as JSON.parse gives it. */
export function validateDesignDocument(
  body: Fields,
  database: { readonly partitioned: boolean } = { partitioned: false },
): void {
  const mapType: FieldType = body.language === 'query' ? 'object' : 'string'
  for (const path of FIELDS) checkPath(body, path, '')
  checkPath(
    body,
    [
      ['views', 'object'],
      [ANY, 'object'],
      ['map', mapType],
    ],
    '',
  )
  checkPath(
    body,
    [
      ['views', 'object'],
      [ANY, 'object'],
      ['reduce', 'string'],
    ],
    '',
  )
  for (const [name, view] of viewsOf(body)) {
    if (view.map === undefined) throw invalid(`View \`${name}\` must contain map function`)
  }
  if (optionOf(body, 'partitioned') === true && !database.partitioned) {
    throw invalid('partitioned option cannot be true in a non-partitioned database.')
  }
  for (const [, view] of viewsOf(body)) checkReduce(view.reduce)
}

/**
 * What a valid design document holds.
 *
 * @param database in a partitioned one indexes are partitioned unless the document says otherwise
 */
export function readDesignDocument(
  body: Fields,
  database: { readonly partitioned: boolean } = { partitioned: false },
): DesignDocument {
  const lib = isObject(body.views) && isObject(body.views.lib) ? body.views.lib : undefined
  const { rewrites, validate_doc_update } = body
  const said = optionOf(body, 'partitioned')
  const partitioned = typeof said === 'boolean' ? said : database.partitioned || undefined
  return {
    language: typeof body.language === 'string' ? body.language : DEFAULT_LANGUAGE,
    options: {
      includeDesign: optionOf(body, 'include_design') === true,
      localSeq: optionOf(body, 'local_seq') === true,
      ...(partitioned === undefined ? {} : { partitioned }),
    },
    views: new Map(viewsOf(body).map(([name, view]) => [name, viewFrom(view)])),
    ...(isObject(body.indexes) ? { indexes: body.indexes } : {}),
    ...(lib === undefined ? {} : { lib }),
    filters: functionsOf(body.filters),
    lists: functionsOf(body.lists),
    shows: functionsOf(body.shows),
    updates: functionsOf(body.updates),
    ...(Array.isArray(rewrites) || typeof rewrites === 'string' ? { rewrites } : {}),
    ...(typeof validate_doc_update === 'string' ? { validateDocUpdate: validate_doc_update } : {}),
    autoupdate: body.autoupdate !== false,
  }
}

type FieldType = 'string' | 'object' | 'boolean' | 'array'
/**
 * A field name (or any) and the types it may have; where it is absent nothing further is checked.
 */
type Step = readonly [name: string | typeof ANY, type: FieldType | readonly FieldType[]]

const ANY = Symbol('any')
const SOURCE = ['object', 'string'] as const

const FIELDS: readonly (readonly Step[])[] = [
  [
    ['filters', 'object'],
    [ANY, SOURCE],
  ],
  [['language', 'string']],
  [
    ['lists', 'object'],
    [ANY, SOURCE],
  ],
  [['options', 'object']],
  [
    ['options', 'object'],
    ['include_design', 'boolean'],
  ],
  [
    ['options', 'object'],
    ['local_seq', 'boolean'],
  ],
  [
    ['options', 'object'],
    ['partitioned', 'boolean'],
  ],
  [['rewrites', ['string', 'array']]],
  [
    ['shows', 'object'],
    [ANY, SOURCE],
  ],
  [
    ['updates', 'object'],
    [ANY, SOURCE],
  ],
  [['validate_doc_update', 'string']],
  [
    ['views', 'object'],
    ['lib', 'object'],
  ],
]

const invalid = (reason: string) => new Failure('design_document_invalid', { reason })

function checkPath(value: Fields, [step, ...further]: readonly Step[], at: string): void {
  if (step === undefined) return
  const [name, type] = step
  for (const field of name === ANY ? Object.keys(value) : [name as string]) {
    const member = Object.hasOwn(value, field) ? value[field] : undefined
    if (member === undefined) continue
    const path = at === '' ? field : `${at}.${field}`
    const types: readonly FieldType[] = typeof type === 'string' ? [type] : type
    if (!types.some(candidate => hasType(member, candidate))) {
      throw invalid(`\`${path}\` field must have ${types.join(' or ')} type`)
    }
    if (isObject(member)) checkPath(member, further, path)
  }
}

function hasType(value: unknown, type: FieldType): boolean {
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  return typeof value === type
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Builtin names match by their beginning. */
const BUILTINS = ['_sum', '_count', '_stats', '_approx_count_distinct', '_first', '_last']
const RANKED = /^_(?:top|bottom)_(.*)$/s
const RANK_MAX = 100

function checkReduce(reduce: unknown): void {
  if (typeof reduce !== 'string' || !reduce.startsWith('_')) return
  const rank = RANKED.exec(reduce)?.[1]
  if (rank !== undefined) {
    if (!/^[+-]?[0-9]+$/.test(rank)) throw invalid('invalid rank reducer')
    const value = Number(rank)
    if (value < 1 || value > RANK_MAX) throw invalid('rank value must be between 1 and 100')
    return
  }
  if (BUILTINS.some(name => reduce.startsWith(name))) return
  throw invalid(`\`${reduce}\` is not a supported reduce function.`)
}

function viewsOf(body: Fields): [string, Fields][] {
  if (!isObject(body.views)) return []
  const views: [string, Fields][] = []
  for (const [name, view] of Object.entries(body.views)) {
    if (name !== 'lib' && isObject(view)) views.push([name, view])
  }
  return views
}

const viewFrom = (view: Fields): ViewDefinition => ({
  map: view.map as FunctionSource,
  ...(typeof view.reduce === 'string' ? { reduce: view.reduce } : {}),
  options: isObject(view.options) ? view.options : {},
})

const optionOf = (body: Fields, name: string): unknown =>
  isObject(body.options) && Object.hasOwn(body.options, name) ? body.options[name] : undefined

function functionsOf(value: unknown): Map<string, FunctionSource> {
  const functions = new Map<string, FunctionSource>()
  if (!isObject(value)) return functions
  for (const [name, source] of Object.entries(value)) {
    if (typeof source === 'string' || isObject(source)) functions.set(name, source)
  }
  return functions
}
