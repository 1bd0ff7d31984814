/**
 * From a selector to the documents of a text index that may match it: a superset, because the matcher has the last
 * word. Parts of a selector that the index cannot bound, or only by more documents than are worth it, bound nothing.
 */
import type { TextIndex } from '../index-definition.ts'
import { type Compare, isJsonArray, isJsonObject, type JsonValue } from '../json-value.ts'
import { keyRange } from '../key-range.ts'
import type { TextTest } from '../match.ts'
import type { Condition, FieldTest, Selector } from '../selector.ts'
import { AllOf, AnyOf, type DocStream, NO_DOCUMENTS } from './doc-stream.ts'
import { plainField } from './field-name.ts'
import { parseTextQuery } from './parse-text-query.ts'
import { DEFAULT_FIELD } from './text-rows.ts'
import type { TextSearcher } from './text-searcher.ts'

export interface BoundingParts {
  readonly searcher: TextSearcher
  readonly definition: TextIndex
  readonly compare: Compare
  /**
   * The stream of each `$text`. They can be asked further by others: at a document that the whole stands at, each one
   * stands too if it has it.
   */
  readonly texts: ReadonlyMap<TextTest, DocStream>
}

/** A range with more documents bounds nothing: reading all in order is as quick. */
const RANGE_COUNT_MAX = 50_000

/** Undefined: all documents of the index may match. */
export async function boundingStream(
  parts: BoundingParts,
  selector: Selector,
  /** In front of all field names, for what is asked of elements. */
  prefix = '',
): Promise<DocStream | undefined> {
  switch (selector.kind) {
    case 'text':
      return parts.texts.get(selector)
    case 'field':
      return fieldStream(parts, selector, prefix)
    case 'and': {
      const streams = await boundAll(parts, selector.parts, prefix)
      const bound = streams.filter(stream => stream !== undefined)
      return bound.length === 0 ? undefined : bound.length === 1 ? bound[0] : new AllOf(bound)
    }
    case 'or': {
      const streams = await boundAll(parts, selector.parts, prefix)
      const bound = streams.filter(stream => stream !== undefined)
      return bound.length === 0 || bound.length < streams.length ? undefined : new AnyOf(bound)
    }
    default:
      return undefined
  }
}

export const textStream = (searcher: TextSearcher, { query }: TextTest): Promise<DocStream> =>
  searcher.query(parseTextQuery(String(query), DEFAULT_FIELD))

async function boundAll(
  parts: BoundingParts,
  selectors: readonly Selector[],
  prefix: string,
): Promise<(DocStream | undefined)[]> {
  const streams: (DocStream | undefined)[] = []
  for (const selector of selectors) streams.push(await boundingStream(parts, selector, prefix))
  return streams
}

function fieldStream(
  parts: BoundingParts,
  test: FieldTest,
  prefix: string,
): Promise<DocStream | undefined> | DocStream | undefined {
  // A number may be an index into an array, whose elements all have the same name here.
  if (test.path.some(name => /^[+-]?\d+$/.test(name) || name.includes('\\'))) return undefined
  const own = test.path.map(name => name.replaceAll('.', '\\.')).join('.')
  const field = prefix === '' || own === '' ? prefix + own : `${prefix}.${own}`
  if (field === '' || !isIndexed(parts.definition, field)) return undefined
  return conditionStream(parts, { ...test, field }, test.condition)
}

function isIndexed({ fields }: TextIndex, field: string): boolean {
  if (fields === 'all') return !field.startsWith('_')
  return fields.some(({ name }) => plainField(name) === field)
}

function conditionStream(
  parts: BoundingParts,
  test: FieldTest,
  condition: Condition,
): Promise<DocStream | undefined> | DocStream | undefined {
  const { searcher, definition } = parts
  const { field } = test
  switch (condition.kind) {
    case 'compare':
    case 'begins':
      return rangeStream(parts, test)
    case 'list':
      return listStream(searcher, field, condition)
    case 'exists':
      return condition.wanted
        ? searcher.between(field, undefined, undefined, RANGE_COUNT_MAX)
        : undefined
    case 'type':
      return typeStream(searcher, field, condition.name)
    case 'size':
      return definition.arrayLengths
        ? searcher.equal(`${field}:length`, condition.length)
        : searcher.equal(field, [])
    case 'inside':
      if (condition.op !== '$elemMatch') return undefined
      return elementStream(parts, field, condition.selector)
    default:
      return undefined
  }
}

/** Elements of elements of arrays have the same name, too: still no match is missed. */
async function elementStream(
  parts: BoundingParts,
  field: string,
  selector: Selector,
): Promise<DocStream | undefined> {
  return (await boundingStream(parts, selector, field)) ?? parts.searcher.equal(field, [])
}

async function rangeStream(
  { searcher, compare }: BoundingParts,
  test: FieldTest,
): Promise<DocStream | undefined> {
  const { condition } = test
  if (condition.kind === 'compare') {
    if (condition.op === '$ne') return undefined
    if (condition.op === '$eq') return searcher.equal(test.field, markerOf(condition.value))
  }
  const range = keyRange(test, [test.field], compare)
  if (range === undefined) return NO_DOCUMENTS
  const [low] = range.low
  const [high] = range.high
  return searcher.between(
    test.field,
    low === undefined ? low : markerOf(low),
    high,
    RANGE_COUNT_MAX,
  )
}

/** Arrays and objects are in the index as such, not with their content. */
function markerOf(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return []
  return isJsonObject(value) ? {} : value
}

function listStream(
  searcher: TextSearcher,
  field: string,
  { op, values }: Condition & { readonly kind: 'list' },
): DocStream | undefined {
  if (op === '$nin') return undefined
  const streams = values.map(value => searcher.equal(field, markerOf(value)))
  if (op === '$in') return new AnyOf(streams)
  // A single array may be the whole value instead of an element of it.
  return values.length === 0 ? NO_DOCUMENTS : searcher.equal(field, [])
}

function typeStream(searcher: TextSearcher, field: string, name: string): DocStream | undefined {
  if (name === 'null') return searcher.equal(field, null)
  if (name === 'array') return searcher.equal(field, [])
  if (name === 'object') return searcher.equal(field, {})
  if (name === 'boolean')
    return new AnyOf([searcher.equal(field, false), searcher.equal(field, true)])
  return undefined
}
