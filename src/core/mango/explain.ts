/**
 * The reply of `_explain`: the plan, the candidates with why they were not taken, and hints about
 * the selector.
 *
 * Nothing is run. A sort that no index serves is no error here: the index is null.
 */
import { byName, type Choice, chooseIndex, type Unsuitable } from './choose-index.ts'
import { columnNames, type IndexDefinition, indexJson } from './index-definition.ts'
import type { JsonObject, JsonValue } from './json-value.ts'
import { type FindOptions, optionsJson } from './options.ts'
import { covers, type Plan, type PlanSettings, planWith } from './plan.ts'
import { indexableFields, selectorFields, selectorJson } from './selector.ts'
import { textFields } from './text-index.ts'

/** How "above everything" is written in ranges. */
const MAX = '<MAX>'

export function explainFind(
  databaseName: string,
  options: FindOptions,
  indexes: readonly IndexDefinition[],
  settings: PlanSettings & { readonly textSearch: boolean },
): JsonObject {
  const choice = chooseIndex(indexes, options)
  const plan = choice.winner && planWith(choice, choice.winner, options, settings)
  return {
    dbname: databaseName,
    index: choice.winner ? indexJson(choice.winner) : null,
    partitioned: settings.partitioned ?? false,
    selector: selectorJson(options.selector),
    opts: optionsJson(options),
    limit: options.limit,
    skip: options.skip,
    fields: options.fields,
    index_candidates: candidates(choice, options),
    selector_hints: selectorHints(options, settings.textSearch),
    ...(plan &&
      plan.kind !== 'text' && { mrargs: scanJson(plan, options), covering: plan.covering }),
  }
}

function scanJson(plan: Plan & { kind: 'keys' | 'ids' }, options: FindOptions): JsonObject {
  const low: JsonValue = plan.kind === 'keys' ? plan.range.low : (plan.range.low ?? null)
  const high: JsonValue =
    plan.kind === 'keys' ? [...plan.range.high, MAX] : (plan.range.high ?? MAX)
  return {
    include_docs: !plan.covering,
    view_type: 'map',
    reduce: false,
    partition: options.partition === '' ? null : options.partition,
    start_key: plan.reverse ? high : low,
    end_key: plan.reverse ? low : high,
    direction: plan.reverse ? 'rev' : 'fwd',
    stable: options.stable || options.stale,
    update: options.update && !options.stale,
    conflicts: options.conflicts ? true : 'undefined',
  }
}

interface Candidate {
  readonly index: IndexDefinition
  readonly usable: boolean
  readonly reason: string
  readonly ranking: number
}

function candidates(choice: Choice, options: FindOptions): readonly JsonObject[] {
  return listCandidates(choice)
    .toSorted((a, b) => byName(b.index, a.index))
    .map(({ index, usable, reason, ranking }) => ({
      index: indexJson(index),
      analysis: {
        usable,
        reasons: [{ name: reason }],
        ranking,
        covering: index.type === 'json' ? covers(index, options.fields) : null,
      },
    }))
}

/** Each group ranks after the one before it, where that one is not empty. */
function listCandidates(choice: Choice): readonly Candidate[] {
  const { unfavored, excluded, unusable, outOfScope, partial } = choice
  const first = Math.max(1, choice.ranked.length)
  const afterUnfavored = first + Number(unfavored.length > 0)
  const afterExcluded = afterUnfavored + Number(excluded.length > 0)
  const afterUnusable = afterExcluded + Number(unusable.length > 0)
  const afterScope = afterUnusable + Number(outOfScope.length > 0)
  const group = (list: readonly IndexDefinition[], usable: boolean, reason: string, at: number) =>
    list.map(index => ({ index, usable, reason, ranking: at }))
  const wrong = unusable.map(
    ({ index, reason }: { index: IndexDefinition; reason: Unsuitable }) => ({
      index,
      usable: false,
      reason,
      ranking: afterExcluded,
    }),
  )
  return [
    ...losers(choice),
    ...group(choice.rivals, true, 'alphabetically_comes_after', first),
    ...group(unfavored, true, 'unfavored_type', first),
    ...group(excluded, true, 'excluded_by_user', afterUnfavored),
    ...wrong,
    ...group(outOfScope, false, 'scope_mismatch', afterUnusable),
    ...group(partial, false, 'is_partial', afterScope),
  ]
}

function losers(choice: Choice): readonly Candidate[] {
  const width = choice.ranked[0]?.index.fields.length ?? 0
  return choice.ranked.slice(1).map(({ index, distance }, at) => ({
    index,
    usable: true,
    reason:
      distance > 0
        ? 'less_overlap'
        : columnNames(index).length > width
          ? 'too_many_fields'
          : 'alphabetically_comes_after',
    ranking: at + 1,
  }))
}

function selectorHints(options: FindOptions, textSearch: boolean): readonly JsonObject[] {
  const all = selectorFields(options.selector)
  const hint = (type: string, indexable: readonly string[]): JsonObject => ({
    type,
    indexable_fields: indexable,
    unindexable_fields: all.filter(name => !indexable.includes(name)),
  })
  const json = hint('json', indexableFields(options.selector))
  if (!textSearch) return [json]
  const names = textFields(options.selector).map(name => name.replace(/:.*$/s, ''))
  return [json, hint('text', [...new Set(names)].sort())]
}
