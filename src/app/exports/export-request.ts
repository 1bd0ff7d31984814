/**
 * What an export was asked for, in the words of clients. Values of a query are texts and lists may have become objects
 * with numbers for names, so everything is read leniently; what makes no sense is refused with a text that says so.
 */
import { isObject, isText, type JsonObject } from '../documents/document.ts'
import { invalid } from '../documents/refusal.ts'
import { parseTimestamp } from '../documents/timestamp.ts'

export interface ExportOptions {
  /** Dates as people read them instead of milliseconds. */
  readonly isHumanReadable: boolean
  /** Documents that are read and sent at once. */
  readonly batchCount: number
}

export interface ExportRequest {
  readonly filters: JsonObject
  readonly options: ExportOptions
}

const BATCH_COUNT_DEFAULT = 250
const BATCH_COUNT_MAX = 1000

/** Fails with `request_invalid`. */
export function parseExportRequest(filters: unknown, options: unknown): ExportRequest {
  const { humanReadable, limit } = requireObject(options, 'options')
  return {
    filters: requireObject(filters, 'filters'),
    options: {
      isHumanReadable: humanReadable === true || humanReadable === 'true',
      batchCount: parseBatchCount(limit),
    },
  }
}

export function requireObject(value: unknown, name: string): JsonObject {
  if (value === undefined || value === null || value === '') return {}
  if (isObject(value)) return value
  throw invalid(`\`${name}\` must be an object`)
}

function parseBatchCount(given: unknown): number {
  if (given === undefined || given === null) return BATCH_COUNT_DEFAULT
  const count = Number(given)
  if (Number.isInteger(count) && count > 0) return Math.min(count, BATCH_COUNT_MAX)
  throw invalid(`Invalid \`options.limit\`: ${JSON.stringify(given)}`)
}

/** A list, also one whose places are names; one value alone is a list of one. */
export function listIn(value: unknown): readonly unknown[] {
  if (value === undefined || value === null || value === '') return []
  if (Array.isArray(value)) return value
  return isObject(value) ? Object.values(value) : [value]
}

/**
 * What is selected of something, as texts; undefined where nothing is, or everything.
 *
 * @param name of the member in which an object that was selected has the text
 */
export function selectedIn(value: unknown, name: string): ReadonlySet<string> | undefined {
  if (!isObject(value)) return undefined
  const selected = listIn(value.selected).flatMap(item => {
    const text = isObject(item) ? item[name] : item
    return isText(text) ? [text] : []
  })
  const isAll = value.options !== undefined && listIn(value.options).length === selected.length
  return selected.length === 0 || isAll ? undefined : new Set(selected)
}

export interface DateRange {
  readonly fromMs: number
  readonly toMs: number
}

/** Both ends belong to it. */
export function dateRangeIn(value: unknown, nowMs: number): DateRange | undefined {
  const { from, to } = requireObject(value, 'filters.date')
  if (!isGiven(from) && !isGiven(to)) return undefined
  return {
    fromMs: isGiven(from) ? momentIn(from, 'from') : 0,
    toMs: isGiven(to) ? momentIn(to, 'to') : nowMs,
  }
}

export const isGiven = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== ''

export function momentIn(value: unknown, name: string): number {
  const ms = parseTimestamp(value)
  if (ms === undefined) throw invalid(`Invalid date "${name}": ${JSON.stringify(value)}`)
  return ms
}
