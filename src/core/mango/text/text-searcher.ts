/**
 * Asks one text index: queries of `$text` and ranges of values become streams of documents.
 *
 * Scores are BM25: rare terms count more, repeated ones less and less, and long fields less than short ones. Patterns and
 * ranges score 1. They stand for the terms they cover, of which there may be so many and no more.
 */
import type { Collator } from '../../../base/collate/collator.ts'
import type { BlockIndex } from '../../indexing/block-index.ts'
import { afterKey, type RowOrder } from '../../indexing/row-order.ts'
import type { PlaceRange } from '../../indexing/scan-rows.ts'
import type { TextIndex } from '../index-definition.ts'
import type { JsonValue } from '../json-value.ts'
import type { Analyzer } from './analyzer.ts'
import {
  AllOf,
  AnyOf,
  type DocStream,
  ListStream,
  NO_DOCUMENTS,
  Refined,
  Scored,
} from './doc-stream.ts'
import { plainField } from './field-name.ts'
import { KeyStream, type Pace, type Weigh } from './key-stream.ts'
import { invalid, type TextQuery } from './parse-text-query.ts'
import { PhraseStream } from './phrase-stream.ts'
import { readTermSum, type TermSum } from './term-reducer.ts'
import { fieldAnalyzers } from './text-rows.ts'

export interface SearcherParts {
  readonly definition: TextIndex
  readonly index: BlockIndex
  /** Numbers of the two trees. */
  readonly terms: number
  readonly values: number
  readonly collator: Collator
  readonly pace: Pace
}

const TERMS_MAX = 1024
/** Documents of a range that are put in order in memory. */
const LISTED_MAX = 500_000
const SATURATION = 1.2
const LENGTH_WEIGHT = 0.75

export class TextSearcher {
  readonly #parts: SearcherParts
  readonly #analyzers: (field: string) => Analyzer

  constructor(parts: SearcherParts) {
    this.#parts = parts
    this.#analyzers = fieldAnalyzers(parts.definition)
  }

  /** All documents of the index. */
  everything(): DocStream {
    return this.#keyStream([])
  }

  async query(query: TextQuery): Promise<DocStream> {
    const stream = await this.#unboosted(query)
    return query.boost === 1 ? stream : new Scored(stream, score => score * query.boost)
  }

  #unboosted(query: TextQuery): Promise<DocStream> | DocStream {
    switch (query.kind) {
      case 'everything':
        return new Scored(this.everything(), () => 1)
      case 'term':
        return this.#phrase(plainField(query.field), query.text, 0)
      case 'phrase':
        return this.#phrase(plainField(query.field), query.text, query.slop)
      case 'pattern':
        return this.#pattern(plainField(query.field), query.parts)
      case 'range':
        return this.#range(query)
      case 'clauses':
        return this.#clauses(query)
    }
  }

  async #clauses({ clauses }: TextQuery & { kind: 'clauses' }): Promise<DocStream> {
    const streams = { must: [] as DocStream[], should: [] as DocStream[], never: [] as DocStream[] }
    for (const { occurs, query } of clauses) streams[occurs].push(await this.query(query))
    const { must, should, never } = streams
    if (must.length > 0) return new Refined(new AllOf(must), never, should)
    // Nothing but refusals asks for nothing, as in Lucene.
    return should.length === 0 ? NO_DOCUMENTS : new Refined(new AnyOf(should), never, [])
  }

  /** A term may be several words for the analyzer: then they stand together. */
  async #phrase(field: string, text: string, slop: number): Promise<DocStream> {
    const words = this.#analyzers(field)(text)
      .map((term, offset) => ({ term, offset }))
      .filter(({ term }) => term !== '' || text === '')
    const [first] = words
    if (first === undefined) return NO_DOCUMENTS
    const ofField = await this.#sum([field])
    const sums: TermSum[] = []
    for (const { term } of words) sums.push(await this.#sum([field, term]))
    const weigh = bm25(
      ofField,
      sums.reduce((weight, sum) => weight + rarity(sum, ofField), 0),
    )
    if (words.length === 1) {
      return this.#keyStream([field, first.term], value => weigh(value[0] ?? 0, value.length - 1))
    }
    const terms = words
      .map(({ term, offset }, at) => ({ term, offset, count: sums[at]?.count ?? 0 }))
      // The rarest one leads: the others are only looked at where it is.
      .sort((a, b) => a.count - b.count)
      .map(({ term, offset }) => ({ stream: this.#keyStream([field, term]), offset }))
    return new PhraseStream(terms, slop, weigh)
  }

  async #pattern(field: string, parts: readonly (string | null | undefined)[]): Promise<DocStream> {
    const isFolded = this.#analyzers(field)('A')[0] === 'a'
    const texts = parts.map(part =>
      typeof part === 'string' && isFolded ? part.normalize('NFKC').toLowerCase() : part,
    )
    const [prefix, ...rest] = typeof texts[0] === 'string' ? (texts as [string]) : ['', ...texts]
    if (prefix === '' && rest.length === 1 && rest[0] === null) {
      return new Scored(this.#keyStream([field]), () => 1)
    }
    const isOnlyPrefix = rest.length === 1 && rest[0] === null
    const matches = wildcard([prefix, ...rest])
    const terms = await this.#expand(
      field,
      this.#prefixRange(field, prefix),
      term => isOnlyPrefix || matches(term),
    )
    return this.#anyTerm(field, terms)
  }

  #anyTerm(field: string, terms: readonly string[]): DocStream {
    return new Scored(new AnyOf(terms.map(term => this.#keyStream([field, term]))), () => 1)
  }

  /** Numbers are looked for among the values, everything else among the terms. */
  async #range(query: TextQuery & { kind: 'range' }): Promise<DocStream> {
    const field = plainField(query.field)
    const { low, high, lowIncluded, highIncluded } = query
    const isNumeric = [low, high].every(bound => bound === undefined || isNumber(bound))
    if (!isNumeric) return this.#termRange(field, query)
    if (low === undefined && high === undefined) {
      return new Scored(await this.#listed(this.#valueRange([field], [field])), () => 1)
    }
    const range = this.#valueRange(
      [field, Number(low ?? -Number.MAX_VALUE)],
      [field, Number(high ?? Number.MAX_VALUE)],
    )
    const isOutside = (value: JsonValue) =>
      typeof value !== 'number' ||
      (!lowIncluded && value === Number(low)) ||
      (!highIncluded && value === Number(high))
    return new Scored(await this.#listed(range, isOutside), () => 1)
  }

  async #termRange(
    field: string,
    { low, high, lowIncluded, highIncluded }: TextQuery & { kind: 'range' },
  ): Promise<DocStream> {
    const [from] = low === undefined ? [] : this.#analyzers(field)(low)
    const [to] = high === undefined ? [] : this.#analyzers(field)(high)
    const lower =
      from === undefined ? this.#prefixRange(field, '').lower : this.#termKey([field, from])
    const upper =
      to === undefined ? this.#prefixRange(field, '').upper : afterKey(this.#termKey([field, to]))
    const terms = await this.#expand(
      field,
      { lower, upper },
      term => (term !== from || lowIncluded) && (term !== to || highIncluded),
    )
    return this.#anyTerm(field, terms)
  }

  /** Documents with exactly this value (as views compare). */
  equal(field: string, value: JsonValue): DocStream {
    const { index, values: tree, pace, collator } = this.#parts
    return new KeyStream({ index, tree, pace }, collator.sortKeyOfValue([field, value]))
  }

  /** Documents with a value in a range, both ends included; undefined when there are too many to put in order. */
  async between(
    field: string,
    low: JsonValue | undefined,
    high: JsonValue | undefined,
    countMax: number,
  ): Promise<DocStream | undefined> {
    const range = this.#valueRange(
      low === undefined ? [field] : [field, low],
      high === undefined ? [field] : [field, high],
    )
    const { index, values } = this.#parts
    const count = Number((await index.reduceRange(values, 0, range))?.toString('latin1') ?? 0)
    return count > countMax ? undefined : this.#listed(range)
  }

  /** Keys from `low` up to all that begin with `high`. */
  #valueRange(low: readonly JsonValue[], high: readonly JsonValue[]): PlaceRange {
    const { collator } = this.#parts
    return {
      lower: collator.sortKeyOfValue(low),
      upper: afterKey(collator.openArrayKey(high.map(value => collator.sortKeyOfValue(value)))),
    }
  }

  async #listed(range: PlaceRange, isOutside?: (value: JsonValue) => boolean): Promise<DocStream> {
    const { index, values, pace } = this.#parts
    const ids = new Set<string>()
    const options = { ranges: [range], reverse: false, skip: 0, limit: Number.MAX_SAFE_INTEGER }
    for await (const slices of (await index.openScan(values, options)).batches) {
      const paused = pace()
      if (paused !== undefined) await paused
      for (const { block, from, to } of slices) {
        for (let row = from; row < to; row++) {
          if (isOutside?.((JSON.parse(block.keyText(row).toString()) as JsonValue[])[1] ?? null))
            continue
          ids.add(
            Buffer.from(JSON.parse(block.idText(row).toString()) as string).toString('latin1'),
          )
        }
      }
      if (ids.size > LISTED_MAX) throw invalid(`A range has more than ${LISTED_MAX} documents`)
    }
    return new ListStream([...ids].sort(byBytes))
  }

  /** The terms of a range that pass. */
  async #expand(
    field: string,
    range: PlaceRange,
    accepts: (term: string) => boolean,
  ): Promise<readonly string[]> {
    const { index, terms: tree, pace } = this.#parts
    const order = index.order(tree)
    const found: string[] = []
    const options = {
      ranges: [range],
      reverse: false,
      skip: 0,
      limit: Number.MAX_SAFE_INTEGER,
      groupOf: (keyText: Buffer) => groupOf(order, keyText),
    }
    for await (const groups of index.reduceGroups(tree, 0, options)) {
      const paused = pace()
      if (paused !== undefined) await paused
      for (const { keyText } of groups) {
        const [, term] = JSON.parse(keyText.toString()) as [string, string]
        if (accepts(term)) found.push(term)
      }
      if (found.length > TERMS_MAX) {
        throw invalid(`A pattern or range stands for more than ${TERMS_MAX} terms of ${field}`)
      }
    }
    return found
  }

  #keyStream(key: readonly string[], weigh?: Weigh): KeyStream {
    const { index, terms: tree, pace } = this.#parts
    return new KeyStream({ index, tree, pace }, this.#termKey(key), weigh)
  }

  async #sum(key: readonly string[]): Promise<TermSum> {
    const { index, terms } = this.#parts
    const lower = this.#termKey(key)
    return readTermSum(await index.reduceRange(terms, 0, { lower, upper: afterKey(lower) }))
  }

  #termKey(key: readonly string[]): Buffer {
    return this.#parts.collator.sortKeyOfValue(key, 'raw')
  }

  /**
   * All terms of a field that begin so. The key of `[field, prefix]` ends with two bytes for the text and one for the
   * array; without them it is the beginning of all these keys.
   */
  #prefixRange(field: string, prefix: string): { lower: Buffer; upper: Buffer } {
    const key = this.#termKey([field, prefix])
    const lower = key.subarray(0, key.length - 3)
    return { lower, upper: Buffer.concat([lower, Uint8Array.of(0xff)]) }
  }
}

const isNumber = (text: string): boolean => text.trim() !== '' && Number.isFinite(Number(text))
const byBytes = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function groupOf(order: RowOrder, keyText: Buffer) {
  const lower = order.sortKey(keyText)
  return { keyText, lower, upper: afterKey(lower) }
}

/** How much finding a term says: much for one that few documents have. */
const rarity = (term: TermSum, field: TermSum): number =>
  Math.log(1 + (Math.max(field.count, term.count) - term.count + 0.5) / (term.count + 0.5))

const bm25 = (field: TermSum, weight: number) => {
  const average = field.count === 0 ? 1 : Math.max(1, field.sum / field.count)
  return (length: number, frequency: number): number => {
    const norm = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / average)
    return (weight * frequency * (SATURATION + 1)) / (frequency + norm)
  }
}

/** Whether a text is the parts one after the other: null is any text, undefined any character. No backtracking piles up. */
function wildcard(parts: readonly (string | null | undefined)[]): (text: string) => boolean {
  const units: (string | null | undefined)[] = parts.flatMap(part =>
    typeof part === 'string' ? [...part] : [part],
  )
  return text => {
    const chars = [...text]
    let at = 0
    let unit = 0
    let star = -1
    let mark = 0
    while (at < chars.length) {
      const wanted = units[unit]
      if (unit < units.length && wanted === null) {
        star = unit++
        mark = at
      } else if (unit < units.length && (wanted === undefined || wanted === chars[at])) {
        unit++
        at++
      } else if (star >= 0) {
        unit = star + 1
        at = ++mark
      } else return false
    }
    while (unit < units.length && units[unit] === null) unit++
    return unit === units.length
  }
}
