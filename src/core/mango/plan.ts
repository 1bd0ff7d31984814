/**
 * How a `_find` is answered: the index, the part of it to read, the direction, whether documents
 * must be read, and the warnings.
 *
 * The caller scans the range, runs the matcher of the selector over what it finds (documents, or
 * with `covering` what `documentFromKey` makes of a key), skips and limits. A plan never leaves out
 * a match; it may bring in others.
 */
import { type Choice, chooseIndex, isNamed } from './choose-index.ts'
import {
  columnNames,
  type IndexDefinition,
  type JsonIndex,
  type SpecialIndex,
  type TextIndex,
} from './index-definition.ts'
import type { Compare } from './json-value.ts'
import { type IdRange, idRange, type KeyRange, keyRange } from './key-range.ts'
import { mangoFailure } from './mango-failure.ts'
import type { FindOptions, UseIndex } from './options.ts'
import { asksForNothing, selectorFields } from './selector.ts'

interface PlanBase {
  /** No document can match: nothing is read, and the reply has neither bookmark nor warning. */
  readonly isEmpty: boolean
  readonly reverse: boolean
  /** The keys hold all that the query needs, so that documents are not read. */
  readonly covering: boolean
  /** Warnings known before the scan; `scanWarning` may add one after it. */
  readonly warnings: readonly string[]
}

export type Plan =
  | (PlanBase & { readonly kind: 'keys'; readonly index: JsonIndex; readonly range: KeyRange })
  | (PlanBase & { readonly kind: 'ids'; readonly index: SpecialIndex; readonly range: IdRange })
  | (PlanBase & { readonly kind: 'text'; readonly index: TextIndex })

export interface PlanSettings {
  readonly compare: Compare
  /** Of the database: changes the words of an error. */
  readonly partitioned?: boolean
}

/** Throws Failure('mango_invalid'): no_usable_index, invalid_index, multiple_text_indexes. */
export function planFind(
  options: FindOptions,
  indexes: readonly IndexDefinition[],
  settings: PlanSettings,
): Plan {
  const choice = chooseIndex(indexes, options)
  refuseFallback(choice, options)
  if (!choice.winner) throw noUsableIndex(options, settings)
  if (choice.rivals.length > 0) {
    throw mangoFailure('multiple_text_indexes', MUST_NAME_INDEX)
  }
  return planWith(choice, choice.winner, options, settings)
}

/** The plan for an index that was chosen already (`_explain` shows plans without running them). */
export function planWith(
  choice: Choice,
  index: IndexDefinition,
  options: FindOptions,
  settings: PlanSettings,
): Plan {
  const base = {
    isEmpty: asksForNothing(options.selector),
    // Keys are stored ascending whatever the index says, so only the query's sort counts.
    reverse: options.sort[0]?.direction === 'desc',
    covering: index.type === 'json' && isCovering(index, options),
    warnings: planWarnings(index, options.useIndex),
  }
  if (index.type === 'text') return { kind: 'text', index, ...base }
  if (index.type === 'special') {
    const range = idRange(options.selector)
    return { kind: 'ids', index, ...emptied(base, range), range: range ?? {} }
  }
  const prefix = choice.ranked.find(each => each.index === index)?.prefix ?? []
  const range = keyRange(options.selector, prefix, settings.compare)
  return { kind: 'keys', index, ...emptied(base, range), range: range ?? { low: [], high: [] } }
}

const emptied = (base: PlanBase, range: object | undefined): PlanBase =>
  base.isEmpty || !range ? { ...base, isEmpty: true, warnings: [] } : base

const MUST_NAME_INDEX = 'You must specify an index with the `use_index` parameter.'

/** Conflicts are not in the index. */
export function isCovering(index: JsonIndex, options: FindOptions): boolean {
  if (options.fields.length === 0 || options.conflicts) return false
  return covers(index, [...options.fields, ...selectorFields(options.selector)])
}

/** Whether the columns and the id are all that is asked for. */
export function covers(index: JsonIndex, fields: readonly string[]): boolean {
  const columns = columnNames(index)
  return fields.length > 0 && fields.every(field => field === '_id' || columns.includes(field))
}

function refuseFallback(choice: Choice, options: FindOptions): void {
  const { winner } = choice
  const [ddoc, name] = options.useIndex
  if (options.allowFallback) return
  if (ddoc === undefined) {
    if (winner?.type === 'special') throw mangoFailure('invalid_index', MUST_NAME_INDEX)
    return
  }
  if (winner && isNamed(winner, options.useIndex)) return
  const shown = name === undefined ? `_design/${ddoc}` : `_design/${ddoc}, ${name}`
  throw mangoFailure(
    'invalid_index',
    `${shown} specified by \`use_index\` could not be found or it is not suitable.`,
  )
}

function noUsableIndex(options: FindOptions, settings: PlanSettings) {
  const scope = options.partition !== '' ? 'partitioned ' : 'global '
  const kind = settings.partitioned === true ? scope : ''
  return mangoFailure(
    'no_usable_index',
    `No ${kind}index exists for this sort, try indexing by the sort fields.`,
  )
}

function planWarnings(index: IndexDefinition, useIndex: UseIndex): readonly string[] {
  const warnings: string[] = []
  const [ddoc, name] = useIndex
  if (ddoc !== undefined && !isNamed(index, useIndex)) {
    warnings.push(
      name === undefined
        ? `_design/${ddoc} was not used because it does not contain a valid index for this query.`
        : `_design/${ddoc}, ${name} was not used because it is not a valid index for this query.`,
    )
  }
  if (index.type === 'special') {
    warnings.push('No matching index found, create an index to optimize query time.')
  }
  return warnings
}

/**
 * After the scan: too many documents were read for what came out. A threshold of 0 or less turns
 * it off.
 */
export function scanWarning(
  examined: number,
  returned: number,
  threshold: number,
): readonly string[] {
  const ratio = returned === 0 ? examined : examined / returned
  if (threshold <= 0 || ratio <= threshold) return []
  return [
    'The number of documents examined is high in proportion to the number of results returned. ' +
      'Consider adding a more specific index to improve this.',
  ]
}
