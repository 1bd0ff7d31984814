/**
 * The part of an index that can hold matches: per column the lower and upper bounds of the
 * conditions, and from them the range of keys to scan.
 *
 * A range may be too wide, never too narrow: the matcher decides. `$gt` and `$lt` bounds are used
 * inclusively. Two cares keep it from being too narrow where the index sorts by ICU: `_id`
 * (compared bytewise) gives a bound only by `$eq`, and the prefix of `$beginsWith` is cut to an end
 * that no following mark can change (`и` + U+0306 sorts as `й`).
 */
import { compareRaw } from './compare-raw.ts'
import type { Compare, JsonValue } from './json-value.ts'
import { type Condition, conjunctTests, type FieldTest, type Selector } from './selector.ts'

/** Bounds of one column; an absent one is open. */
export interface ColumnRange {
  readonly low?: JsonValue
  readonly high?: JsonValue
}

/**
 * Keys `k` with `low <= k` and `k <= [...high, <above everything>]`, element by element: a prefix
 * bounds all longer keys. Both empty is the whole index.
 */
export interface KeyRange {
  readonly low: readonly JsonValue[]
  readonly high: readonly JsonValue[]
}

/** Ids from `low` to `high`, both included; an absent one is open. */
export interface IdRange {
  readonly low?: string
  readonly high?: string
}

/** undefined: no key can match. */
export function keyRange(
  selector: Selector,
  columns: readonly string[],
  compare: Compare,
): KeyRange | undefined {
  const tests = conjunctTests(selector)
  const low: JsonValue[] = []
  const high: JsonValue[] = []
  let lowOpen = false
  let highOpen = false
  for (const column of columns) {
    const range = columnRange(boundsOf(tests, column, compare), compare)
    if (!range) return undefined
    if (range.low === undefined) lowOpen = true
    else if (!lowOpen) low.push(range.low)
    if (range.high === undefined) highOpen = true
    else if (!highOpen) high.push(range.high)
  }
  return { low, high }
}

/**
 * Ids are strings, which stand above all other types in this order: a bound that is none is open
 * below, or leaves nothing.
 */
export function idRange(selector: Selector): IdRange | undefined {
  const tests = conjunctTests(selector).filter(test => test.field === '_id')
  const bounds = tests.flatMap(test => idBounds(test.condition))
  const range = columnRange(bounds, compareRaw)
  if (!range || (range.high !== undefined && typeof range.high !== 'string')) return undefined
  return {
    ...(typeof range.low === 'string' && { low: range.low }),
    ...(range.high !== undefined && { high: range.high }),
  }
}

interface Bound {
  readonly side: 'low' | 'high'
  readonly value: JsonValue
  readonly strict: boolean
}

function columnRange(bounds: readonly Bound[], compare: Compare): ColumnRange | undefined {
  const low = tightest(bounds, 'low', (a, b) => compare(b, a))
  const high = tightest(bounds, 'high', compare)
  if (low && high) {
    const order = compare(low.value, high.value)
    if (order > 0 || (order === 0 && (low.strict || high.strict))) return undefined
  }
  return { ...(low && { low: low.value }), ...(high && { high: high.value }) }
}

/** The first in the order given; of equal ones a strict one. */
function tightest(
  bounds: readonly Bound[],
  side: 'low' | 'high',
  compare: Compare,
): Bound | undefined {
  let best: Bound | undefined
  for (const bound of bounds) {
    if (bound.side !== side) continue
    const order = best ? compare(bound.value, best.value) : -1
    if (order < 0 || (order === 0 && bound.strict)) best = bound
  }
  return best
}

function boundsOf(tests: readonly FieldTest[], column: string, compare: Compare): Bound[] {
  return tests.flatMap(({ field, condition }) => {
    if (field !== column) return []
    if (condition.kind === 'begins' && column !== '_id')
      return prefixBounds(condition.prefix, compare)
    if (column === '_id' && !(condition.kind === 'compare' && condition.op === '$eq')) return []
    return comparisonBounds(condition)
  })
}

/** The upper end of a prefix in code point order is the highest character there is. */
const idBounds = (condition: Condition): Bound[] =>
  condition.kind === 'begins'
    ? between(condition.prefix, `${condition.prefix}\u{10ffff}`)
    : comparisonBounds(condition)

function comparisonBounds(condition: Condition): Bound[] {
  if (condition.kind !== 'compare') return []
  const { op, value } = condition
  if (op === '$ne') return []
  if (op === '$eq') return between(value, value)
  const side = op === '$gt' || op === '$gte' ? 'low' : 'high'
  return [{ side, value, strict: op === '$gt' || op === '$lt' }]
}

const between = (low: JsonValue, high: JsonValue): Bound[] => [
  { side: 'low', value: low, strict: false },
  { side: 'high', value: high, strict: false },
]

function prefixBounds(prefix: string, compare: Compare): Bound[] {
  const stable = stablePrefix(prefix, compare)
  return between(stable, `${stable}\uffff`)
}

/**
 * Marks that join the character before them into one with a weight of its own somewhere in the
 * root collation.
 */
const JOINING_MARKS = joiningMarks()
/** Thai, Lao, New Tai Lue and Tai Viet vowels swap places with the consonant that follows. */
const SWAPPING_VOWEL =
  /[\u0e40-\u0e44\u0ec0-\u0ec4\u19b5-\u19b7\u19ba\uaab5\uaab6\uaab9\uaabb\uaabc]$/u

/** The longest beginning of the prefix whose place in the order does not depend on what follows. */
function stablePrefix(prefix: string, compare: Compare): string {
  let rest = prefix
  for (let last = rest.match(/.$/su)?.[0]; last; last = rest.match(/.$/su)?.[0]) {
    if (isStable(last, compare)) return rest
    rest = rest.slice(0, -last.length)
  }
  return rest
}

function isStable(char: string, compare: Compare): boolean {
  if (/[\x20-\x7e]/.test(char)) return true
  if (SWAPPING_VOWEL.test(char) || /\p{M}|\p{C}/u.test(char)) return false
  return JOINING_MARKS.every(
    mark => compare(char, char + mark) <= 0 && compare(char + mark, `${char}\uffff`) < 0,
  )
}

function joiningMarks(): readonly string[] {
  const ranges = [
    [0x300, 0x36f],
    [0x483, 0x487],
    [0x653, 0x655],
    [0x93c, 0x93c],
    [0x9bc, 0x9be],
    [0x9d7, 0x9d7],
    [0xb3c, 0xb3e],
    [0xb56, 0xb57],
    [0xbbe, 0xbbe],
    [0xbd7, 0xbd7],
    [0xc56, 0xc56],
    [0xcc2, 0xcc2],
    [0xcd5, 0xcd6],
    [0xd3e, 0xd3e],
    [0xd57, 0xd57],
    [0xdca, 0xddf],
    [0xf71, 0xf80],
    [0xfb5, 0xfb7],
    [0x102e, 0x102e],
    [0x1161, 0x11ff],
    [0x1b35, 0x1b35],
    [0x3099, 0x309a],
  ] as const
  return ranges.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, at) => String.fromCodePoint(first + at)),
  )
}
