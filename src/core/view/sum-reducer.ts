/**
 * `_sum`: adds numbers, arrays of numbers (element by element; a number counts as an array of one)
 * and objects (member by member, at any depth, members sorted by name). What cannot be added
 * becomes a value that says so, and stays what the range sums up to, as in CouchDB.
 */
import type { ReduceJob } from '../indexing/reducer.ts'
import { addNumbers, type ExactNumber, parseNumber, printNumber } from './exact-number.ts'
import type { ViewReducer } from './view-reducer.ts'

export const sumReducer = (isLimited: boolean): ViewReducer => ({
  name: '_sum',
  reduce: jobs => jobs.map(job => Buffer.from(sumText(job, isLimited))),
  present: reduction => ({ valueText: reduction }),
})

type Sum = ExactNumber | readonly ExactNumber[] | ReadonlyMap<string, Sum>

/** An error value that is passed on as it is. */
class SumError extends Error {
  readonly text: string

  constructor(text: string) {
    super('cannot be summed')
    this.text = text
  }
}

function sumText(job: ReduceJob, isLimited: boolean): string {
  let sum: Sum = 0
  let inputBytes = 0
  try {
    for (const text of valuesOf(job)) {
      inputBytes += text.length
      const number = parseNumber(text)
      if (number !== undefined && !(sum instanceof Map) && !Array.isArray(sum)) {
        sum = addNumbers(sum as ExactNumber, number)
      } else sum = add(sum, number ?? parseSum(text), text)
    }
  } catch (error) {
    if (error instanceof SumError) return error.text
    throw error
  }
  const text = printSum(sum)
  const isTooLong = isLimited && text.length > OVERFLOW_BYTES && text.length * 2 > inputBytes
  return isTooLong ? overflowText(inputBytes, text.length) : text
}

export function* valuesOf(job: ReduceJob): Generator<Buffer> {
  if ('reductions' in job) {
    yield* job.reductions
    return
  }
  const { block, from, to } = job.rows
  for (let row = from; row < to; row++) yield block.valueText(row)
}

function add(sum: Sum, value: Sum, text: Buffer): Sum {
  if (value instanceof Map) {
    if (value.get('error') === BUILTIN_ERROR) throw new SumError(text.toString())
    if (sum instanceof Map) return addObjects(sum, value, text)
    if (sum === 0) return value
    throw unsummable(text)
  }
  if (sum instanceof Map) throw unsummable(text)
  if (typeof value !== 'object' && typeof sum !== 'object') return addNumbers(sum, value)
  return addArrays(asArray(sum as SumOfNumbers), asArray(value as SumOfNumbers))
}

type SumOfNumbers = ExactNumber | readonly ExactNumber[]
const asArray = (sum: SumOfNumbers): readonly ExactNumber[] =>
  typeof sum === 'object' ? sum : [sum]

function addArrays(one: readonly ExactNumber[], two: readonly ExactNumber[]): ExactNumber[] {
  const length = Math.max(one.length, two.length)
  return Array.from({ length }, (_, i) => addNumbers(one[i] ?? 0, two[i] ?? 0))
}

function addObjects(
  one: ReadonlyMap<string, Sum>,
  two: ReadonlyMap<string, Sum>,
  text: Buffer,
): Map<string, Sum> {
  const names = [...new Set([...one.keys(), ...two.keys()])].sort(compareUtf8)
  return new Map(
    names.map(name => {
      const left = one.get(name)
      const right = two.get(name)
      if (left === undefined || right === undefined) return [name, (left ?? right) as Sum]
      return [name, add(left, right, text)]
    }),
  )
}

/** Erlang compares names by their bytes. */
const compareUtf8 = (one: string, two: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(two))

function parseSum(text: Buffer): Sum {
  const plain = text.toString('latin1')
  // Integers may be too long for JSON.parse; inside objects they are left to it.
  if (NUMBERS.test(plain)) {
    const items = plain.slice(1, -1).split(',')
    return items.map(item => parseNumber(Buffer.from(item)) as ExactNumber)
  }
  return checked(JSON.parse(text.toString()), text, true)
}

function checked(value: unknown, text: Buffer, isTop: boolean): Sum {
  if (typeof value === 'number') return value
  if (Array.isArray(value)) {
    for (const one of value) if (typeof one !== 'number') throw unsummable(text)
    return value as number[]
  }
  if (value !== null && typeof value === 'object') {
    const { error } = value as { error?: unknown }
    if (isTop && error === BUILTIN_ERROR) throw new SumError(text.toString())
    return new Map(Object.entries(value).map(([name, one]) => [name, checked(one, text, false)]))
  }
  throw unsummable(text)
}

function printSum(sum: Sum): string {
  if (sum instanceof Map) {
    const members = [...sum].map(([name, one]) => `${JSON.stringify(name)}:${printSum(one)}`)
    return `{${members.join(',')}}`
  }
  if (typeof sum === 'object')
    return `[${(sum as readonly ExactNumber[]).map(printNumber).join(',')}]`
  return printNumber(sum)
}

const unsummable = (cause: Buffer): SumError =>
  new SumError(
    `{"error":"${BUILTIN_ERROR}","reason":${JSON.stringify(UNSUMMABLE)},"caused_by":${cause}}`,
  )

const overflowText = (input: number, output: number): string =>
  JSON.stringify({ error: BUILTIN_ERROR, reason: overflowReason(input, output) })

export const overflowReason = (input: number, output: number): string =>
  `Reduce output must shrink more rapidly: input size: ${input} output size: ${output}`

/** An array of numbers, as it is printed. */
const NUMBERS = /^\[[-+.0-9eE]+(?:,[-+.0-9eE]+)*\]$/
const BUILTIN_ERROR = 'builtin_reduce_error'
const UNSUMMABLE =
  'The _sum function requires that map values be numbers, arrays of numbers, or objects. ' +
  'Objects cannot be mixed with other data structures. Objects can be arbitrarily nested, ' +
  'provided that the values for all fields are themselves numbers, arrays of numbers, or objects.'
/** CouchDB's own figure. */
const OVERFLOW_BYTES = 4906
