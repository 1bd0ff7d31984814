/**
 * Parameters that all feeds have in common: which kind, how long to wait, how many rows. Names count in any case, the
 * last of a repeated one wins, values that make no sense are refused.
 */
import { Failure } from '../../base/errors.ts'
import type { Query } from '../kit/url.ts'

/** By name in lower case. */
export type FeedParameters = ReadonlyMap<string, string>

export const feedParameters = (query: Query): FeedParameters =>
  new Map(query.all().map(([name, value]) => [name.toLowerCase(), value]))

/** As CouchDB counts it: what is left of it decides which rows tell their sequence. */
export const LIMIT_DEFAULT = 1_000_000_000_000_000

export const HEARTBEAT_DEFAULT_MS = 60_000

export const badRequest = (reason: string): Failure => new Failure('request_invalid', { reason })

/** Milliseconds; undefined when no heartbeat is wanted. */
export function parseHeartbeat(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (text === 'true') return HEARTBEAT_DEFAULT_MS
  if (!/^[+-]?\d{1,15}$/.test(text)) {
    throw badRequest(
      'Invalid heartbeat value. Expecting a positive integer value (in milliseconds).',
    )
  }
  const value = Number(text)
  if (value > 0) return value
  throw badRequest('The heartbeat value should be a positive integer (in milliseconds).')
}

/** A whole number that is not negative; undefined where there is none. */
export function parseCount(text: string | undefined, refusal: string): number | undefined {
  if (text === undefined) return undefined
  if (/^\+?\d{1,15}$/.test(text)) return Number(text)
  throw badRequest(refusal)
}
