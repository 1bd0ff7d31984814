/** What the functions of validation rules say about a value. Those that have to look for other documents are elsewhere. */
import { addSpan, momentOf } from '../../schedules/offset.ts'
import { RuleError } from './parse-rule.ts'

export interface RuleInput {
  readonly value: unknown
  readonly args: readonly string[]
  /** All values of the document, by name in lower case. */
  readonly values: ReadonlyMap<string, unknown>
  readonly nowMs: number
}

export type RuleFunction = (input: RuleInput) => boolean

export const textOf = (value: unknown): string =>
  value === undefined || value === null ? '' : String(value)

const numberOf = (value: unknown): number => {
  const text = textOf(value).trim()
  return text === '' ? Number.NaN : Number(text)
}

const lengthOf = ({ value }: RuleInput): number => textOf(value).length
const first = ({ args }: RuleInput): string => args[0] ?? ''
const limit = (input: RuleInput, at: number): number => numberOf(input.args[at])

export const RULE_FUNCTIONS: Readonly<Record<string, RuleFunction>> = {
  equals: input => textOf(input.value) === first(input),
  iequals: input => textOf(input.value).toLowerCase() === first(input).toLowerCase(),
  lenmin: input => lengthOf(input) >= limit(input, 0),
  lenmax: input => lengthOf(input) <= limit(input, 0),
  lenequals: input => lengthOf(input) === limit(input, 0),
  min: input => numberOf(input.value) >= limit(input, 0),
  max: input => numberOf(input.value) <= limit(input, 0),
  between: input => {
    const value = numberOf(input.value)
    return value >= limit(input, 0) && value <= limit(input, 1)
  },
  in: ({ value, args }) => args.includes(textOf(value)),
  required: ({ value }) => textOf(value) !== '',
  numeric: ({ value }) => /^-?\d+(\.\d+)?$/.test(textOf(value).trim()),
  integer: ({ value }) => /^-?\d+$/.test(textOf(value).trim()),
  alpha: ({ value }) => /^[a-z]+$/i.test(textOf(value)),
  alphanumeric: ({ value }) => /^[a-z0-9]+$/i.test(textOf(value)),
  email: ({ value }) => /^[^\s@]{1,64}@[^\s@.]+(\.[^\s@.]+)+$/.test(textOf(value).slice(0, 320)),
  equalsto: input => textOf(input.value) === textOf(input.values.get(first(input).toLowerCase())),
  isafter: input => isBeyond(input, (value, bound) => value > bound),
  isbefore: input => isBeyond(input, (value, bound) => value < bound),
  isisoweek: ({ args, values, nowMs }) => {
    const week = numberOf(values.get((args[0] ?? '').toLowerCase()))
    const yearName = args[1]
    const given = yearName === undefined ? undefined : values.get(yearName.toLowerCase())
    const year = yearName === undefined ? new Date(nowMs).getFullYear() : numberOf(given)
    return Number.isInteger(week) && week >= 1 && week <= isoWeeksIn(year)
  },
}

function isBeyond(input: RuleInput, compare: (value: number, bound: number) => boolean): boolean {
  const value = momentOf(input.value)
  const bound = addSpan(input.nowMs, first(input))
  if (bound === undefined) throw new RuleError(`has no span of time in '${first(input)}'`)
  return value !== undefined && compare(value, bound)
}

/** A year has 53 when it begins on a Thursday, or on a Wednesday and is a leap year. */
function isoWeeksIn(year: number): number {
  if (!Number.isInteger(year)) return 0
  const firstDay = new Date(Date.UTC(year, 0, 1)).getUTCDay()
  const isLeap = new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1
  return firstDay === 4 || (isLeap && firstDay === 3) ? 53 : 52
}
