/**
 * What a document puts into a text index.
 *
 *   terms, in the order of code points
 *     [field, term]   [length, position …]   the field has the term there; length is that of the field in terms
 *     [field]         [length]               the document has the field
 *     []              [0]                    the document is in the index
 *   values, in the order of views
 *     [field, value]  null                   texts, numbers, booleans and null, whole; [] and {} for any array and object
 *     [field:length, n]  null                arrays, where their lengths are indexed
 *
 * Terms answer `$text`, values the other conditions of selectors: whatever type a definition gives a field, all its
 * values are there, so that no match is missed. Elements of arrays stand under the name of the array.
 * `$default` is all text together. Special members are in the index only when the definition names them.
 */
import type { EmittedRow } from '../../indexing/index-rows.ts'
import type { TextFieldType, TextIndex } from '../index-definition.ts'
import { isJsonArray, isJsonObject, type JsonValue } from '../json-value.ts'
import { compileMatcher, type MatchSettings } from '../match.ts'
import { type Analyzer, parseAnalyzer } from './analyzer.ts'
import { plainField } from './field-name.ts'

export const DEFAULT_FIELD = '$default'

/** Between two texts of one field, so that no phrase reaches from one to the next. */
const TEXT_GAP = 100

/** The rows of a document: terms, values. */
export type TextRowsOf = (
  document: JsonValue,
) => readonly [readonly EmittedRow[], readonly EmittedRow[]]

export function compileTextRows(index: TextIndex, settings: MatchSettings): TextRowsOf {
  const belongs = index.partial ? compileMatcher(index.partial, settings) : () => true
  const known = knownFields(index)
  const analyzers = fieldAnalyzers(index)
  return document => {
    if (!belongs(document)) return NO_ROWS
    const collected = new DocumentText(index, known, analyzers)
    collected.addMembers(document)
    return [collected.termRows(), collected.valueRows()]
  }
}

const NO_ROWS: readonly [readonly EmittedRow[], readonly EmittedRow[]] = [[], []]

export function fieldAnalyzers(index: TextIndex): (field: string) => Analyzer {
  const own = parseAnalyzer(index.defaultAnalyzer)
  const ofDefault = parseAnalyzer(index.defaultField.analyzer)(DEFAULT_FIELD)
  return field => (field === DEFAULT_FIELD ? ofDefault : own(field))
}

function knownFields({
  fields,
}: TextIndex): ReadonlyMap<string, ReadonlySet<TextFieldType>> | undefined {
  if (fields === 'all') return undefined
  const known = new Map<string, Set<TextFieldType>>()
  for (const { name, type } of fields) {
    const types = known.get(plainField(name)) ?? new Set()
    known.set(plainField(name), types.add(type))
  }
  return known
}

interface FieldTerms {
  length: number
  nextPosition: number
  readonly positions: Map<string, number[]>
}

class DocumentText {
  readonly #index: TextIndex
  readonly #known: ReadonlyMap<string, ReadonlySet<TextFieldType>> | undefined
  readonly #analyzers: (field: string) => Analyzer
  readonly #terms = new Map<string, FieldTerms>()
  readonly #values = new Set<string>()

  constructor(
    index: TextIndex,
    known: ReadonlyMap<string, ReadonlySet<TextFieldType>> | undefined,
    analyzers: (field: string) => Analyzer,
  ) {
    this.#index = index
    this.#known = known
    this.#analyzers = analyzers
  }

  addMembers(document: JsonValue): void {
    if (!isJsonObject(document)) return
    for (const [name, value] of Object.entries(document)) {
      if (this.#known !== undefined || !name.startsWith('_')) this.#add(escaped(name), value)
    }
  }

  /** The walk is as deep as the document, which the server has bounded. */
  #add(field: string, value: JsonValue): void {
    const isKnown = this.#known === undefined || this.#known.has(field)
    if (isJsonArray(value)) {
      if (isKnown) this.#addArray(field, value)
      for (const item of value) this.#add(field, item)
    } else if (isJsonObject(value)) {
      if (isKnown) this.#addValue(field, {})
      for (const [name, item] of Object.entries(value)) {
        this.#add(`${field}.${escaped(name)}`, item)
      }
    } else if (isKnown) {
      this.#addValue(field, value)
      if (typeof value === 'string' && this.#isText(field)) {
        this.#addText(field, value)
        if (this.#index.defaultField.enabled) this.#addText(DEFAULT_FIELD, value)
      }
    }
  }

  #isText(field: string): boolean {
    return this.#known === undefined || this.#known.get(field)?.has('string') === true
  }

  #addArray(field: string, value: readonly JsonValue[]): void {
    this.#addValue(field, [])
    if (this.#index.arrayLengths) this.#addValue(`${field}:length`, value.length)
  }

  #addValue(field: string, value: JsonValue): void {
    this.#values.add(JSON.stringify([field, value]))
  }

  #addText(field: string, text: string): void {
    const kept = this.#terms.get(field) ?? { length: 0, nextPosition: 0, positions: new Map() }
    this.#terms.set(field, kept)
    const terms = this.#analyzers(field)(text)
    for (const [at, term] of terms.entries()) {
      if (term === '' && terms.length > 1) continue
      const places = kept.positions.get(term)
      if (places === undefined) kept.positions.set(term, [kept.nextPosition + at])
      else places.push(kept.nextPosition + at)
      kept.length++
    }
    kept.nextPosition += terms.length + TEXT_GAP
  }

  termRows(): EmittedRow[] {
    const rows = [row('[]', '[0]')]
    for (const [field, { length, positions }] of this.#terms) {
      rows.push(row(JSON.stringify([field]), `[${length}]`))
      for (const [term, places] of positions) {
        rows.push(row(JSON.stringify([field, term]), `[${length},${places.join(',')}]`))
      }
    }
    return rows
  }

  valueRows(): EmittedRow[] {
    return [...this.#values].map(key => row(key, 'null'))
  }
}

/** A dot in a name is not a step of a path. */
const escaped = (name: string): string => name.replaceAll('.', '\\.')

const row = (key: string, value: string): EmittedRow => ({
  keyText: Buffer.from(key),
  valueText: Buffer.from(value),
})
