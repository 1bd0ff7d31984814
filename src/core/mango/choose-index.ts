/**
 * Which index answers a query: sorts all indexes of a database into those that may not, cannot,
 * need not and could serve it, and takes the best.
 *
 * The groups are kept, because `_explain` tells them all. Pure: the definitions are handed in.
 */
import { columnNames, type IndexDefinition, type JsonIndex } from './index-definition.ts'
import type { FindOptions, UseIndex } from './options.ts'
import {
  indexableFields,
  isConstantField,
  isTextSearch,
  requiredFields,
  type Selector,
} from './selector.ts'
import { textIndexKnows } from './text-index.ts'

export type Unsuitable =
  | 'field_mismatch'
  | 'sort_order_mismatch'
  | 'needs_text_search'
  | 'empty_selector'

export interface Choice {
  readonly winner: IndexDefinition | undefined
  /**
   * JSON indexes that could serve, best first, the winner among them; empty when the winner is
   * none.
   */
  readonly ranked: readonly RankedIndex[]
  readonly partial: readonly IndexDefinition[]
  readonly outOfScope: readonly IndexDefinition[]
  readonly unusable: readonly { readonly index: IndexDefinition; readonly reason: Unsuitable }[]
  /** Usable, but not those that the query names. */
  readonly excluded: readonly IndexDefinition[]
  /** Usable, but of a type that comes after the winner's. */
  readonly unfavored: readonly IndexDefinition[]
  /** Usable text indexes that rival the winner. */
  readonly rivals: readonly IndexDefinition[]
}

export interface RankedIndex {
  readonly index: JsonIndex
  /** Leading columns that the selector bounds. */
  readonly prefix: readonly string[]
  /** Indexable fields of the selector that the prefix leaves out. */
  readonly distance: number
}

const TYPE_ORDER = ['json', 'text', 'special'] as const

export function chooseIndex(indexes: readonly IndexDefinition[], options: FindOptions): Choice {
  const { selector, useIndex } = options
  const [named, partial] = split(indexes, index => !isPartial(index) || isNamed(index, useIndex))
  const [inScope, outOfScope] = split(named, index => isInScope(index, options.partition))
  const judged = inScope.map(index => ({ index, reason: unsuitability(index, options) }))
  const usable = judged.filter(({ reason }) => !reason).map(({ index }) => index)
  const unusable = judged.flatMap(({ index, reason }) => (reason ? [{ index, reason }] : []))
  const [wanted, others] = split(usable, index => isNamed(index, useIndex))
  const [candidates, excluded] = wanted.length > 0 ? [wanted, others] : [usable, []]
  const type = TYPE_ORDER.find(each => candidates.some(index => index.type === each))
  const [ofType, unfavored] = split(candidates, index => index.type === type)
  const ranked = rank(
    ofType.filter(index => index.type === 'json'),
    selector,
  )
  const winner = ranked[0]?.index ?? ofType.toSorted(byName)[0]
  const rivals = type === 'text' ? ofType.filter(index => index !== winner) : []
  return { winner, ranked, partial, outOfScope, unusable, excluded, unfavored, rivals }
}

export function isNamed(index: IndexDefinition, useIndex: UseIndex): boolean {
  const [ddoc, name] = useIndex
  if (ddoc === undefined || index.ddoc !== `_design/${ddoc}`) return false
  return name === undefined || index.name === name
}

const isPartial = (index: IndexDefinition) =>
  index.type !== 'special' && index.partial !== undefined

/**
 * A query of one partition needs a partitioned index, a global one a global index; all documents
 * serve both.
 */
const isInScope = (index: IndexDefinition, partition: string) =>
  index.type === 'special' || index.partitioned === (partition !== '')

/** Why the index cannot serve the query; undefined when it can. */
function unsuitability(index: IndexDefinition, options: FindOptions): Unsuitable | undefined {
  const { selector } = options
  const sort = options.sort.map(field => field.name)
  switch (index.type) {
    case 'special':
      if (sort.length === 0) return undefined
      if (!indexableFields(selector).includes('_id')) return 'field_mismatch'
      return canSort(['_id'], sort, selector) ? undefined : 'sort_order_mismatch'
    case 'text':
      if (selector.kind === 'everything') return 'empty_selector'
      if (!textIndexKnows(index, selector)) return 'field_mismatch'
      return canTextSort(columnNames(index), index.fields === 'all', sort)
        ? undefined
        : 'sort_order_mismatch'
    case 'json':
      return jsonUnsuitability(columnNames(index), sort, selector)
  }
}

/**
 * Every column must be there in all matches: asked for by the selector, sorted by, or part of
 * every document.
 */
function jsonUnsuitability(
  columns: readonly string[],
  sort: readonly string[],
  selector: Selector,
): Unsuitable | undefined {
  const present = requiredFields(selector)
  const isThere = (column: string) =>
    present.has(column) || sort.includes(column) || column === '_id' || column === '_rev'
  if (!columns.every(isThere)) return 'field_mismatch'
  if (!canSort(columns, sort, selector)) return 'sort_order_mismatch'
  return isTextSearch(selector) ? 'needs_text_search' : undefined
}

/**
 * The sort fields are the leading columns, once those that have one value in all matches are
 * skipped.
 */
function canSort(columns: readonly string[], sort: readonly string[], selector: Selector): boolean {
  if (sort.length === 0) return true
  let first = 0
  while (first < columns.length && columns[first] !== sort[0]) {
    if (!isConstantField(selector, columns[first] as string)) return false
    first++
  }
  return sort.every((field, at) => columns[first + at] === field)
}

const canTextSort = (columns: readonly string[], all: boolean, sort: readonly string[]) =>
  all || sort.every(field => columns.includes(field.replace(/:(?:string|number)$/, '')))

/** Fewest fields left out, then fewest columns, then by name. */
function rank(indexes: readonly IndexDefinition[], selector: Selector): readonly RankedIndex[] {
  const fields = indexableFields(selector)
  const ranked = indexes.flatMap(index => {
    if (index.type !== 'json') return []
    const columns = columnNames(index)
    const end = columns.findIndex(column => !fields.includes(column))
    const prefix = end < 0 ? columns : columns.slice(0, end)
    return [{ index, prefix, distance: fields.length - prefix.length }]
  })
  return ranked.toSorted(
    (a, b) =>
      a.distance - b.distance ||
      a.index.fields.length - b.index.fields.length ||
      byName(a.index, b.index),
  )
}

/** By design document and name; all documents come first. */
export function byName(a: IndexDefinition, b: IndexDefinition): number {
  if (a.ddoc === null || b.ddoc === null) return Number(b.ddoc === null) - Number(a.ddoc === null)
  if (a.ddoc !== b.ddoc) return a.ddoc < b.ddoc ? -1 : 1
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1
}

function split<T>(items: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  const yes: T[] = []
  const no: T[] = []
  for (const item of items) (test(item) ? yes : no).push(item)
  return [yes, no]
}
