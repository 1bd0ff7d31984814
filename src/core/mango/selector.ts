/**
 * The normalised form of a selector, and the questions that planning asks of it.
 *
 * `parse-selector.ts` makes it, `match.ts` runs it. Conditions sit on full paths; negations were
 * pushed down to the conditions, except inside `$elemMatch`, `$allMatch` and `$keyMapMatch`, where
 * CouchDB keeps them (an element without the field does satisfy `{"$not": {"k": 1}}` there).
 */
import type { JsonObject, JsonValue } from './json-value.ts'
import type { Pattern } from './pattern/pattern.ts'

export type Comparison = '$lt' | '$lte' | '$eq' | '$ne' | '$gte' | '$gt'

export type Condition =
  | { readonly kind: 'compare'; readonly op: Comparison; readonly value: JsonValue }
  | {
      readonly kind: 'list'
      readonly op: '$in' | '$nin' | '$all'
      readonly values: readonly JsonValue[]
    }
  | { readonly kind: 'exists'; readonly wanted: boolean }
  | { readonly kind: 'type'; readonly name: string }
  | { readonly kind: 'mod'; readonly divisor: number; readonly remainder: number }
  | { readonly kind: 'regex'; readonly pattern: Pattern }
  | { readonly kind: 'begins'; readonly prefix: string }
  | { readonly kind: 'size'; readonly length: number }
  | {
      readonly kind: 'inside'
      readonly op: '$elemMatch' | '$allMatch' | '$keyMapMatch'
      readonly selector: Selector
    }
  | { readonly kind: 'not'; readonly condition: Condition }

export interface FieldTest {
  readonly kind: 'field'
  /**
   * As written, joined with dots; empty for the value itself (inside `$elemMatch` and the like).
   */
  readonly field: string
  readonly path: readonly string[]
  readonly condition: Condition
}

export type Selector =
  | { readonly kind: 'everything' }
  | {
      readonly kind: 'and' | 'or' | 'nor'
      readonly parts: readonly Selector[]
    }
  | { readonly kind: 'not'; readonly selector: Selector }
  | FieldTest
  | { readonly kind: 'text'; readonly query: string | number | boolean }

export const EVERYTHING: Selector = { kind: 'everything' }

/** As `_explain` shows it. */
export function selectorJson(selector: Selector): JsonObject {
  switch (selector.kind) {
    case 'everything':
      return {}
    case 'not':
      return { $not: selectorJson(selector.selector) }
    case 'field':
      return { [selector.field]: conditionJson(selector.condition) }
    case 'text':
      return { $default: { $text: selector.query } }
    default:
      return { [`$${selector.kind}`]: selector.parts.map(selectorJson) }
  }
}

function conditionJson(condition: Condition): JsonObject {
  switch (condition.kind) {
    case 'compare':
      return { [condition.op]: condition.value }
    case 'list':
      return { [condition.op]: condition.values }
    case 'exists':
      return { $exists: condition.wanted }
    case 'type':
      return { $type: condition.name }
    case 'mod':
      return { $mod: [condition.divisor, condition.remainder] }
    case 'regex':
      return { $regex: condition.pattern.source }
    case 'begins':
      return { $beginsWith: condition.prefix }
    case 'size':
      return { $size: condition.length }
    case 'inside':
      return { [condition.op]: selectorJson(condition.selector) }
    case 'not':
      return { $not: conditionJson(condition.condition) }
  }
}

/** Names of all fields that are tested, each once, in order of first use. */
export function selectorFields(selector: Selector): readonly string[] {
  const names = new Set<string>()
  const visit = (part: Selector): void => {
    if (part.kind === 'field') names.add(part.field)
    else if (part.kind === 'not') visit(part.selector)
    else if ('parts' in part) part.parts.forEach(visit)
  }
  visit(selector)
  return [...names]
}

/** The field tests that every match passes: seen through `$and`, not through anything else. */
export function conjunctTests(selector: Selector): readonly FieldTest[] {
  if (selector.kind === 'field') return [selector]
  return selector.kind === 'and' ? selector.parts.flatMap(conjunctTests) : []
}

/** Fields that exist in every document that matches. */
export function requiredFields(selector: Selector): ReadonlySet<string> {
  switch (selector.kind) {
    case 'field':
      return new Set(isAbsence(selector.condition) ? [] : [selector.field])
    case 'and':
      return new Set(selector.parts.flatMap(part => [...requiredFields(part)]))
    case 'or': {
      const [first, ...others] = selector.parts.map(requiredFields)
      return new Set([...(first ?? [])].filter(name => others.every(other => other.has(name))))
    }
    default:
      return new Set()
  }
}

const isAbsence = (condition: Condition) => condition.kind === 'exists' && !condition.wanted

export const isTextSearch = (selector: Selector): boolean =>
  selector.kind === 'text' || ('parts' in selector && selector.parts.some(isTextSearch))

/**
 * `{"$or": []}` and the like as the whole selector: nothing is asked for, so nothing is looked
 * up.
 */
export const asksForNothing = (selector: Selector): boolean =>
  'parts' in selector && selector.parts.length === 0

/** Whether the field has one value in all matches. */
export const isConstantField = (selector: Selector, field: string): boolean =>
  conjunctTests(selector).some(
    test =>
      test.field === field && test.condition.kind === 'compare' && test.condition.op === '$eq',
  )

/** Fields with a condition that a range of a JSON index can serve, sorted. */
export function indexableFields(selector: Selector): readonly string[] {
  const names = conjunctTests(selector).filter(test => isIndexable(test.condition))
  return [...new Set(names.map(test => test.field))].sort()
}

const isIndexable = (condition: Condition): boolean =>
  (condition.kind === 'compare' && condition.op !== '$ne') ||
  condition.kind === 'begins' ||
  condition.kind === 'exists'
