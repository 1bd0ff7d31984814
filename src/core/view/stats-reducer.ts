/**
 * `_stats`: sum, count, minimum, maximum and sum of squares of numbers; of arrays, element by element; objects with
 * these five members count as what they sum up. Any other value fails the whole index, as in CouchDB.
 */
import { Failure } from '../../base/errors.ts'
import type { ReduceJob } from '../indexing/reducer.ts'
import { addNumbers, type ExactNumber, parseNumber, printNumber } from './exact-number.ts'
import { valuesOf } from './sum-reducer.ts'
import type { ViewReducer } from './view-reducer.ts'

export const statsReducer: ViewReducer = {
  name: '_stats',
  reduce: jobs => jobs.map(job => Buffer.from(statsText(job))),
  present: reduction => ({ valueText: reduction }),
}

interface Stats {
  readonly sum: ExactNumber
  readonly count: ExactNumber
  readonly min: ExactNumber
  readonly max: ExactNumber
  readonly sumsqr: ExactNumber
}

function statsText(job: ReduceJob): string {
  if ('rows' in job) {
    const quick = statsOfNumbers(job)
    if (quick !== undefined) return printStats(quick)
  }
  let all: Stats | Stats[] | undefined
  for (const text of valuesOf(job)) {
    const one = 'rows' in job ? parseStats(text) : parseReduction(text)
    all = all === undefined ? one : join(all, one, text)
  }
  return Array.isArray(all) ? `[${all.map(printStats).join(',')}]` : printStats(all as Stats)
}

/** The usual case: plain numbers, whose sums stay in the safe range. */
function statsOfNumbers(job: ReduceJob): Stats | undefined {
  let [sum, count, sumsqr] = [0, 0, 0]
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const text of valuesOf(job)) {
    const value = parseNumber(text)
    if (typeof value !== 'number') return undefined
    count++
    sum += value
    sumsqr += value * value
    if (value < min) min = value
    if (value > max) max = value
  }
  const isSafe = Math.abs(sum) <= Number.MAX_SAFE_INTEGER && sumsqr <= Number.MAX_SAFE_INTEGER
  return isSafe ? { sum, count, min, max, sumsqr } : undefined
}

function parseStats(text: Buffer): Stats | Stats[] {
  const number = parseNumber(text)
  if (number !== undefined) return statsOf(number)
  const value: unknown = JSON.parse(text.toString())
  if (!Array.isArray(value)) return asStats(value, text)
  return value.map(one => (typeof one === 'number' ? statsOf(one) : asStats(one, text)))
}

/** Our own text, whose integers may be too long for JSON.parse. */
function parseReduction(text: Buffer): Stats | Stats[] {
  const found = [...text.toString('latin1').matchAll(OWN_TEXT)].map(match => {
    const [sum, count, min, max, sumsqr] = match.slice(1).map(one => parseNumber(Buffer.from(one)))
    return { sum, count, min, max, sumsqr } as Stats
  })
  return text[0] === OPEN_BRACKET ? found : (found[0] as Stats)
}

const statsOf = (value: ExactNumber): Stats => {
  return { sum: value, count: 1, min: value, max: value, sumsqr: square(value) }
}

function square(value: ExactNumber): ExactNumber {
  if (typeof value === 'bigint') return value * value
  const product = value * value
  const isExact = Number.isSafeInteger(product) || !Number.isSafeInteger(value)
  return isExact ? product : BigInt(value) * BigInt(value)
}

function asStats(value: unknown, text: Buffer): Stats {
  const stats = value as { readonly [name in keyof Stats]?: unknown } | null
  for (const name of NAMES) if (typeof stats?.[name] !== 'number') throw notNumeric(text)
  return stats as Stats
}

function join(one: Stats | Stats[], two: Stats | Stats[], text: Buffer): Stats | Stats[] {
  if (!Array.isArray(one) && !Array.isArray(two)) return joinStats(one, two)
  if (!Array.isArray(one) || !Array.isArray(two) || one.length !== two.length)
    throw notNumeric(text)
  return one.map((stats, i) => joinStats(stats, two[i] as Stats))
}

const joinStats = (one: Stats, two: Stats): Stats => ({
  sum: addNumbers(one.sum, two.sum),
  count: addNumbers(one.count, two.count),
  min: isLess(two.min, one.min) ? two.min : one.min,
  max: isLess(one.max, two.max) ? two.max : one.max,
  sumsqr: addNumbers(one.sumsqr, two.sumsqr),
})

/** Math.min takes no bigint. */
const isLess = (one: ExactNumber, two: ExactNumber): boolean => one < two

const printStats = (stats: Stats): string =>
  `{${NAMES.map(name => `"${name}":${printNumber(stats[name])}`).join(',')}}`

const notNumeric = (text: Buffer): Failure =>
  new Failure('function_failed', {
    error: 'invalid_value',
    reason: `non-numeric _stats input: ${text}`,
  })

const OPEN_BRACKET = 0x5b
const OWN_TEXT = /\{"sum":([^,]+),"count":([^,]+),"min":([^,]+),"max":([^,]+),"sumsqr":([^}]+)\}/g
const NAMES = ['sum', 'count', 'min', 'max', 'sumsqr'] as const
