/**
 * Indexes of declarative queries as a kind of index: all indexes of a design document are one, with a tree for each
 * JSON index and two for each text index. Documents are parsed here, in the process that builds.
 *
 * A JSON index can also be asked as a view: its rows are `[values of the fields]` and null, reduced by `_count`.
 */
import { createHash } from 'node:crypto'
import type { StoredDocument } from '../database/stored-document.ts'
import { type DesignDocument, scopeOf } from '../document/design-document.ts'
import type {
  IndexKind,
  IndexKindMaker,
  IndexDefinition as KindDefinition,
} from '../indexing/index-kind.ts'
import type { EmittedRow } from '../indexing/index-rows.ts'
import type { TreeDefinition } from '../indexing/index-tree.ts'
import { type MappedRows, packRows } from '../indexing/mapped-rows.ts'
import type { ReduceJob, Reducer } from '../indexing/reducer.ts'
import { parseFieldPath } from './field-path.ts'
import type { JsonIndex, TextIndex } from './index-definition.ts'
import { compileIndexKey, type KeyOf } from './index-entries.ts'
import { readIndexes } from './index-request.ts'
import type { Compare, JsonObject, JsonValue } from './json-value.ts'
import { selectorFields } from './selector.ts'
import { selectorDocument, type WantedMembers } from './selector-document.ts'
import { TERM_REDUCER } from './text/term-reducer.ts'
import { compileTextRows, type TextRowsOf } from './text/text-rows.ts'

export const QUERY_LANGUAGE = 'query'

export interface MangoParts {
  readonly compare: () => Compare
}

export class MangoMaker implements IndexKindMaker {
  readonly language = QUERY_LANGUAGE
  readonly #parts: MangoParts

  constructor(parts: MangoParts) {
    this.#parts = parts
  }

  signatureOf({ views, indexes = {}, options }: DesignDocument): string {
    const parts = [FORMAT, [...views], indexes, scopeOf(options)]
    return createHash('md5').update(JSON.stringify(parts)).digest('hex')
  }

  make(definition: KindDefinition): MangoKind {
    return new MangoKind(definition, this.#parts)
  }
}

/** Version of what rows are made of equal definitions: another one means other signatures. */
const FORMAT = 1

/** Where the rows of a JSON index are. */
export interface KeyPlace {
  readonly tree: number
  readonly reducer: { readonly number: number; readonly reducer: CountReducer }
}

/** Where the rows of a text index are. */
export interface TextPlace {
  readonly terms: number
  readonly values: number
}

interface CountReducer extends Reducer {
  present(reduction: Buffer): { readonly valueText: Buffer }
}

export class MangoKind implements IndexKind {
  readonly name = 'mango'
  readonly includesDesigns = false
  readonly trees: readonly TreeDefinition[]
  /** JSON indexes by name. */
  readonly views: ReadonlyMap<string, KeyPlace>
  /** Text indexes by name. */
  readonly texts: ReadonlyMap<string, TextPlace>
  readonly #keys: readonly KeyOf[]
  readonly #textRows: readonly TextRowsOf[]
  readonly #wanted: WantedMembers

  constructor({ designId, design }: KindDefinition, { compare }: MangoParts) {
    const { json, text } = definitionsOf(designId, design)
    const settings = { compare: compare() }
    this.#keys = json.map(index => compileIndexKey(index, settings))
    this.#textRows = text.map(index => compileTextRows(index, settings))
    const partitioned = design.options.partitioned === true
    const keyTree = { ...KEY_TREE, partitioned }
    this.trees = [...json.map(() => keyTree), ...text.flatMap(() => [TERM_TREE, VALUE_TREE])]
    const reducer = { number: 0, reducer: COUNT }
    this.views = new Map(json.map(({ name }, tree) => [name, { tree, reducer }]))
    const first = json.length
    this.texts = new Map(
      text.map(({ name }, at) => [name, { terms: first + 2 * at, values: first + 2 * at + 1 }]),
    )
    this.#wanted = wantedBy(json, text)
  }

  async rowsOf(documents: readonly StoredDocument[]): Promise<MappedRows> {
    const rows = documents.map(stored => {
      const document = selectorDocument(stored, this.#wanted)
      const rows: (readonly EmittedRow[])[] = this.#keys.map(keyOf => {
        const key = keyOf(document)
        return key === undefined ? NONE : [{ keyText: textOf(key), valueText: NULL }]
      })
      for (const rowsOf of this.#textRows) rows.push(...rowsOf(document))
      return { id: stored.id, rows }
    })
    return packRows(rows, this.trees.length)
  }
}

function definitionsOf(
  designId: string,
  { views, indexes, options, language }: DesignDocument,
): { readonly json: readonly JsonIndex[]; readonly text: readonly TextIndex[] } {
  const body = {
    language,
    options: options.partitioned === undefined ? {} : { partitioned: options.partitioned },
    views: Object.fromEntries(views),
    ...(indexes === undefined ? {} : { indexes }),
  }
  const all = readIndexes(designId, body as unknown as JsonObject, { textSearch: true })
  return {
    json: all.filter(index => index.type === 'json'),
    text: all.filter(index => index.type === 'text'),
  }
}

/** Special members are made only when somebody asks for them. */
function wantedBy(json: readonly JsonIndex[], text: readonly TextIndex[]): WantedMembers {
  const fields = json.flatMap(({ fields, partial }) => [
    ...fields.map(({ name }) => name),
    ...(partial === undefined ? [] : selectorFields(partial)),
  ])
  for (const index of text) {
    if (index.partial !== undefined) fields.push(...selectorFields(index.partial))
    if (index.fields !== 'all') fields.push(...index.fields.map(({ name }) => name))
  }
  return wantedMembers(fields)
}

export function wantedMembers(fields: readonly string[], conflicts = false): WantedMembers {
  const names = fields.map(field => parseFieldPath(field)[0] ?? '')
  return {
    id: names.includes('_id'),
    special: names.some(name => name.startsWith('_') && name !== '_id'),
    conflicts,
  }
}

const textOf = (value: JsonValue): Buffer => Buffer.from(JSON.stringify(value))
const NULL = Buffer.from('null')
const NONE: readonly EmittedRow[] = []

const COUNT: CountReducer = {
  name: '_count',
  reduce: jobs => jobs.map(job => Buffer.from(String(countOf(job)))),
  present: valueText => ({ valueText }),
}

const countOf = (job: ReduceJob): number =>
  'rows' in job
    ? job.rows.to - job.rows.from
    : job.reductions.reduce((sum, one) => sum + Number(one.toString('latin1')), 0)

const KEY_TREE: TreeDefinition = { order: 'icu', reducers: [COUNT] }
/** Terms are found and expanded by their code points. */
const TERM_TREE: TreeDefinition = { order: 'raw', reducers: [TERM_REDUCER] }
const VALUE_TREE: TreeDefinition = { order: 'icu', reducers: [COUNT] }
