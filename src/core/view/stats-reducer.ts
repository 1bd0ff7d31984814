/**
 * `_stats`: sum, count, minimum, maximum and sum of squares of numbers; of arrays, element by
 * element; objects with these five members count as what they sum up. Any other value fails the
 * whole index, as in CouchDB.
 *
 * Format of a reduction: a byte (0: of numbers, 1: of arrays) and five doubles for each element;
 * or, when integers have outgrown doubles, the byte plus 2 and the numbers as text with commas
 * between.
 */
import { Failure } from '../../base/errors.ts'
import type { ReduceJob } from '../indexing/reducer.ts'
import type { RowSlice } from '../indexing/row-block.ts'
import { addNumbers, type ExactNumber, parseNumber, printNumber } from './exact-number.ts'
import { valuesOf } from './sum-reducer.ts'
import type { ViewReducer } from './view-reducer.ts'

export const statsReducer: ViewReducer = {
  name: '_stats',
  reduce: jobs => jobs.map(job => encode(statsOfJob(job))),
  present: reduction => ({ valueText: Buffer.from(print(decode(reduction))) }),
}

/** sum, count, min, max, sumsqr. */
type Stats = readonly [ExactNumber, ExactNumber, ExactNumber, ExactNumber, ExactNumber]

interface AllStats {
  readonly isArray: boolean
  readonly elements: readonly Stats[]
}

function statsOfJob(job: ReduceJob): AllStats {
  const quick = 'rows' in job ? statsOfNumbers(job.rows) : statsOfStats(job.reductions)
  if (quick !== undefined) return { isArray: false, elements: [quick] }
  let all: AllStats | undefined
  for (const bytes of valuesOf(job)) {
    const one = 'rows' in job ? parseValue(bytes) : decode(bytes)
    all = all === undefined ? one : join(all, one, bytes)
  }
  return all as AllStats
}

/** The usual case: plain numbers, whose sums stay in the safe range. */
function statsOfNumbers({ block, from, to }: RowSlice): Stats | undefined {
  let [sum, sumsqr] = [0, 0]
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let row = from; row < to; row++) {
    const value = parseNumber(block.valueText(row))
    if (typeof value !== 'number') return undefined
    sum += value
    sumsqr += value * value
    if (value < min) min = value
    if (value > max) max = value
  }
  return isSafe(sum, sumsqr) ? [sum, to - from, min, max, sumsqr] : undefined
}

/** The same of what such numbers were summed up to. */
function statsOfStats(reductions: readonly Buffer[]): Stats | undefined {
  let [sum, count, sumsqr] = [0, 0, 0]
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const bytes of reductions) {
    if (bytes[0] !== 0 || bytes.length !== STATS_BYTES) return undefined
    sum += bytes.readDoubleLE(1)
    count += bytes.readDoubleLE(9)
    min = Math.min(min, bytes.readDoubleLE(17))
    max = Math.max(max, bytes.readDoubleLE(25))
    sumsqr += bytes.readDoubleLE(33)
  }
  return isSafe(sum, sumsqr) ? [sum, count, min, max, sumsqr] : undefined
}

const STATS_BYTES = 41

const isSafe = (sum: number, sumsqr: number): boolean =>
  Math.abs(sum) <= Number.MAX_SAFE_INTEGER && sumsqr <= Number.MAX_SAFE_INTEGER

function parseValue(text: Buffer): AllStats {
  const number = parseNumber(text)
  if (number !== undefined) return { isArray: false, elements: [statsOf(number)] }
  const value: unknown = JSON.parse(text.toString())
  if (!Array.isArray(value)) return { isArray: false, elements: [givenStats(value, text)] }
  const elements = value.map(one =>
    typeof one === 'number' ? statsOf(one) : givenStats(one, text),
  )
  return { isArray: true, elements }
}

const statsOf = (value: ExactNumber): Stats => [value, 1, value, value, square(value)]

function square(value: ExactNumber): ExactNumber {
  if (typeof value === 'bigint') return value * value
  const product = value * value
  const isExact = Number.isSafeInteger(product) || !Number.isSafeInteger(value)
  return isExact ? product : BigInt(value) * BigInt(value)
}

/** Sums that a map function emitted ready-made. */
function givenStats(value: unknown, text: Buffer): Stats {
  const given = value as { readonly [name: string]: unknown } | null
  const numbers = NAMES.map(name => given?.[name])
  if (!numbers.every(one => typeof one === 'number')) throw notNumeric(text)
  return numbers as unknown as Stats
}

function join(one: AllStats, two: AllStats, text: Buffer): AllStats {
  if (one.isArray !== two.isArray || one.elements.length !== two.elements.length)
    throw notNumeric(text)
  const elements = one.elements.map((stats, i) => joinStats(stats, two.elements[i] as Stats))
  return { isArray: one.isArray, elements }
}

const joinStats = (one: Stats, two: Stats): Stats => [
  addNumbers(one[0], two[0]),
  addNumbers(one[1], two[1]),
  isLess(two[2], one[2]) ? two[2] : one[2],
  isLess(one[3], two[3]) ? two[3] : one[3],
  addNumbers(one[4], two[4]),
]

/** Math.min takes no bigint. */
const isLess = (one: ExactNumber, two: ExactNumber): boolean => one < two

function encode({ isArray, elements }: AllStats): Buffer {
  const numbers = elements.flat()
  const kind = isArray ? 1 : 0
  if (numbers.some(one => typeof one === 'bigint')) {
    return Buffer.concat([Uint8Array.of(kind + 2), Buffer.from(numbers.map(printNumber).join(','))])
  }
  const bytes = Buffer.allocUnsafe(1 + numbers.length * 8)
  bytes[0] = kind
  numbers.forEach((one, i) => {
    bytes.writeDoubleLE(one as number, 1 + i * 8)
  })
  return bytes
}

function decode(bytes: Buffer): AllStats {
  const kind = bytes[0] as number
  const numbers: ExactNumber[] = []
  if (kind < 2) for (let at = 1; at < bytes.length; at += 8) numbers.push(bytes.readDoubleLE(at))
  else {
    const texts = bytes.toString('latin1', 1).split(',')
    for (const text of texts) numbers.push(parseNumber(Buffer.from(text)) as ExactNumber)
  }
  const elements: Stats[] = []
  for (let i = 0; i < numbers.length; i += 5)
    elements.push(numbers.slice(i, i + 5) as unknown as Stats)
  return { isArray: kind % 2 === 1, elements }
}

function print({ isArray, elements }: AllStats): string {
  const texts = elements.map(stats => {
    const members = NAMES.map((name, i) => `"${name}":${printNumber(stats[i] as ExactNumber)}`)
    return `{${members.join(',')}}`
  })
  return isArray ? `[${texts.join(',')}]` : (texts[0] as string)
}

const notNumeric = (text: Buffer): Failure =>
  new Failure('function_failed', {
    error: 'invalid_value',
    reason: `non-numeric _stats input: ${text}`,
  })

const NAMES = ['sum', 'count', 'min', 'max', 'sumsqr'] as const
