/** View-style parameters over a plain sorted list of names: `_all_dbs` and `_dbs_info`. */
import { Failure } from '../../base/errors.ts'
import type { Query } from '../kit/url.ts'

export interface NameRange {
  readonly start: string | undefined
  readonly end: string | undefined
  readonly keys: readonly string[] | undefined
  readonly descending: boolean
  readonly inclusiveEnd: boolean
  readonly skip: number
  readonly limit: number
}

export function parseNameRange(query: Query): NameRange {
  const key = json(query, 'key')
  const keys = json(query, 'keys')
  return {
    start: text(key ?? json(query, 'startkey') ?? json(query, 'start_key')),
    end: text(key ?? json(query, 'endkey') ?? json(query, 'end_key')),
    keys: Array.isArray(keys) ? keys.filter(each => typeof each === 'string') : undefined,
    descending: flag(query, 'descending', false),
    inclusiveEnd: flag(query, 'inclusive_end', true),
    skip: count(query, 'skip') ?? 0,
    limit: count(query, 'limit') ?? Number.POSITIVE_INFINITY,
  }
}

/** @param names in byte order */
export function selectNames(names: readonly string[], range: NameRange): string[] {
  const present = range.keys === undefined ? names : range.keys.filter(key => names.includes(key))
  const ordered = range.descending ? present.toReversed() : present
  const sign = range.descending ? -1 : 1
  const inside = ordered.filter(name => {
    if (range.start !== undefined && compare(name, range.start) * sign < 0) return false
    if (range.end === undefined) return true
    const order = compare(name, range.end) * sign
    return range.inclusiveEnd ? order <= 0 : order < 0
  })
  return inside.slice(range.skip, range.skip + range.limit)
}

const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

function json(query: Query, name: string): unknown {
  const given = query.last(name)
  if (given === undefined) return undefined
  try {
    return JSON.parse(given) as unknown
  } catch (thrown) {
    throw new Failure('request_invalid', { reason: 'invalid UTF-8 JSON' }, thrown)
  }
}

/** Names are texts: any other bound sorts before or after all of them. */
const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

function flag(query: Query, name: string, fallback: boolean): boolean {
  const given = query.last(name)
  if (given === undefined) return fallback
  const lower = given.toLowerCase()
  if (lower === 'true' || lower === 'false') return lower === 'true'
  throw new Failure('query_invalid', {
    reason: `Invalid boolean parameter: ${JSON.stringify(given)}`,
  })
}

function count(query: Query, name: string): number | undefined {
  const given = query.last(name)
  if (given === undefined) return undefined
  if (/^\d{1,15}$/.test(given)) return Number(given)
  const kind = /^-\d+$/.test(given) ? 'positive integer' : 'integer'
  throw new Failure('query_invalid', {
    reason: `Invalid value for ${kind}: ${JSON.stringify(given)}`,
  })
}
