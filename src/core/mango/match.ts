/**
 * Compiles a normalised selector once into a function over parsed documents.
 *
 * A condition on a field that is not there is false, negated ones too; only `{"$exists": false}` is
 * true. Values compare in view order (handed in), `_id` bytewise. `$text` is left to the text
 * index: without one it is true. Time is bounded: see `pattern/pattern.ts`; a matcher may throw
 * Failure('timeout').
 */
import { compareRaw } from './compare-raw.ts'
import { MISSING, readField, UNREACHABLE } from './field-path.ts'
import {
  type Compare,
  isInteger,
  isJsonArray,
  isJsonObject,
  type JsonValue,
  jsonType,
  sameJson,
} from './json-value.ts'
import type { StepBudget } from './pattern/run-program.ts'
import type { Condition, FieldTest, Selector } from './selector.ts'

export type Matcher = (document: JsonValue) => boolean

/**
 * Steps of `$regex` over all documents that one matcher sees: about a minute of work, then
 * Failure('timeout').
 */
export const REGEX_STEPS_MAX = 1_000_000_000

export interface MatchSettings {
  readonly compare: Compare
  /**
   * Steps for `$regex` over all documents; shared with other matchers of the request when given.
   */
  readonly steps?: StepBudget
  /** Whether a `$text` is true of the document at hand, where a text index says so. */
  readonly isText?: (selector: TextTest) => boolean
}

export type TextTest = Selector & { readonly kind: 'text' }

export function compileMatcher(selector: Selector, settings: MatchSettings): Matcher {
  const steps = settings.steps ?? { stepsLeft: REGEX_STEPS_MAX }
  const { compare, isText = () => true } = settings
  return compileSelector(selector, { compare, steps, isText })
}

type Context = Required<MatchSettings>

function compileSelector(selector: Selector, context: Context): Matcher {
  switch (selector.kind) {
    case 'everything':
      return () => true
    case 'text':
      return () => context.isText(selector)
    case 'field':
      return compileField(selector, context)
    case 'not': {
      const inner = compileSelector(selector.selector, context)
      return value => !inner(value)
    }
    case 'and':
      return allOf(selector.parts.map(part => compileSelector(part, context)))
    case 'or': {
      const parts = selector.parts.map(part => compileSelector(part, context))
      return parts.length === 0 ? () => true : value => parts.some(part => part(value))
    }
    case 'nor': {
      const parts = selector.parts.map(part => compileSelector(part, context))
      return value => !parts.some(part => part(value))
    }
  }
}

/** Two parts are the usual number: worth a function without a loop. */
function allOf(parts: readonly Matcher[]): Matcher {
  const [first, second] = parts
  if (!first) return () => true
  if (!second) return first
  if (parts.length === 2) return value => first(value) && second(value)
  return value => parts.every(part => part(value))
}

function compileField(test: FieldTest, context: Context): Matcher {
  const compare = test.field === '_id' ? compareRaw : context.compare
  const matches = compileCondition(test.condition, { ...context, compare })
  const whenMissing = test.condition.kind === 'exists' && !test.condition.wanted
  const [name, ...rest] = test.path
  if (name === undefined) return matches
  if (rest.length > 0) {
    return document => {
      const found = readField(document, test.path)
      if (found === MISSING) return whenMissing
      return found !== UNREACHABLE && matches(found as JsonValue)
    }
  }
  return document => {
    if (!isJsonObject(document)) {
      const found = readField(document, test.path)
      return found !== MISSING && found !== UNREACHABLE && matches(found as JsonValue)
    }
    const value = document[name]
    if (value === undefined || !Object.hasOwn(document, name)) return whenMissing
    return matches(value)
  }
}

function compileCondition(condition: Condition, context: Context): Matcher {
  switch (condition.kind) {
    case 'compare':
      return compileComparison(condition, context.compare)
    case 'list':
      return compileList(condition, context.compare)
    case 'exists':
      return () => condition.wanted
    case 'type':
      return value => jsonType(value) === condition.name
    case 'mod':
      return value => isInteger(value) && value % condition.divisor === condition.remainder
    case 'regex':
      return value => typeof value === 'string' && condition.pattern.test(value, context.steps)
    case 'begins':
      return value => typeof value === 'string' && value.startsWith(condition.prefix)
    case 'size':
      return value => isJsonArray(value) && value.length === condition.length
    case 'inside':
      return compileInside(condition.op, compileSelector(condition.selector, context))
    case 'not': {
      const inner = compileCondition(condition.condition, context)
      return value => !inner(value)
    }
  }
}

function compileComparison(condition: Condition & { kind: 'compare' }, compare: Compare): Matcher {
  const { op, value: wanted } = condition
  const order = numbersFirst(compare)
  switch (op) {
    case '$eq':
      return equalTo(wanted, compare)
    case '$ne': {
      const equal = equalTo(wanted, compare)
      return value => !equal(value)
    }
    case '$lt':
      return value => order(value, wanted) < 0
    case '$lte':
      return value => order(value, wanted) <= 0
    case '$gte':
      return value => order(value, wanted) >= 0
    case '$gt':
      return value => order(value, wanted) > 0
  }
}

/** Numbers against numbers are most comparisons and need no collator. */
const numbersFirst =
  (compare: Compare): Compare =>
  (a, b) =>
    typeof a === 'number' && typeof b === 'number' ? a - b : compare(a, b)

const PLAIN_ASCII = /^[\x20-\x7e]*$/

/**
 * Equality in view order without the collator where the answer is plain: other types differ,
 * numbers and constants compare as themselves, and printable ASCII has no two texts that sort
 * alike.
 */
function equalTo(wanted: JsonValue, compare: Compare): Matcher {
  if (typeof wanted === 'string') {
    const plain = PLAIN_ASCII.test(wanted)
    return value =>
      value === wanted ||
      (typeof value === 'string' &&
        !(plain && PLAIN_ASCII.test(value)) &&
        compare(value, wanted) === 0)
  }
  if (typeof wanted === 'object' && wanted !== null) return value => compare(value, wanted) === 0
  return value => value === wanted
}

function compileList(condition: Condition & { kind: 'list' }, compare: Compare): Matcher {
  const { op, values } = condition
  if (op === '$all') return compileAll(values)
  const tests = values.map(value => equalTo(value, compare))
  const isOne = (value: JsonValue) => tests.some(test => test(value))
  const isIn: Matcher = value => (isJsonArray(value) ? value.some(isOne) : isOne(value))
  return op === '$in' ? isIn : value => !isIn(value)
}

/** A single array argument may also be the whole value. */
function compileAll(values: readonly JsonValue[]): Matcher {
  if (values.length === 0) return () => false
  const [first] = values
  const whole = values.length === 1 && isJsonArray(first) ? first : undefined
  return list =>
    isJsonArray(list) &&
    (values.every(value => list.some(item => sameJson(item, value))) ||
      (whole !== undefined && sameJson(whole, list)))
}

function compileInside(op: '$elemMatch' | '$allMatch' | '$keyMapMatch', inner: Matcher): Matcher {
  switch (op) {
    case '$elemMatch':
      return value => isJsonArray(value) && value.some(inner)
    case '$allMatch':
      return value => isJsonArray(value) && value.length > 0 && value.every(inner)
    case '$keyMapMatch':
      return value => isJsonObject(value) && Object.keys(value).some(inner)
  }
}
