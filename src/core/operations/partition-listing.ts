/**
 * Lists of one partition as ranges of ids: its ids begin with its name and a colon, so they lie together. Bounds that
 * reach beyond the partition are drawn in; named ids of other partitions are not found.
 */
import { Failure } from '../../base/errors.ts'
import type { Database } from '../database/database.ts'
import { partitionOf } from '../document/document-id.ts'
import type { ListingRange } from './list-documents.ts'

type Partitionable = Pick<Database, 'properties'>

/** Fails with `query_invalid`. */
export function narrowedToPartition(
  database: Partitionable,
  range: ListingRange,
  limitOf: () => number,
): ListingRange {
  const { partition, limit } = range
  if (partition === undefined) return range
  requireSupport(database)
  const limitMax = limitOf()
  if (limit !== undefined && limit > limitMax) {
    const reason = `Limit is too large, must not exceed ${limitMax}`
    throw new Failure('query_invalid', { reason })
  }
  return { ...withinPartition(range, partition), limit: limit ?? limitMax }
}

/** A bound at the end of the partition is no id of it, so whether ends are included matters only for those given. */
function withinPartition(range: ListingRange, partition: string): ListingRange {
  const first = `${partition}:`
  const end = `${partition};`
  const { start, end: last, descending } = range
  if (descending === true) {
    const isBelow = start === null || (start !== undefined && isBefore(start, first))
    return {
      ...range,
      start: isBelow ? null : start === undefined || !isBefore(start, end) ? end : start,
      ...(typeof last === 'string' && !isBefore(last, first)
        ? {}
        : { end: first, inclusiveEnd: true }),
    }
  }
  const isAbove = typeof last === 'string' && !isBefore(last, first)
  return {
    ...range,
    start: typeof start === 'string' && !isBefore(start, first) ? start : first,
    ...(last === undefined || (isAbove && !isBefore(last, end))
      ? { end, inclusiveEnd: false }
      : isAbove
        ? {}
        : { end: null }),
  }
}

/** As ids are ordered: by their bytes. */
const isBefore = (one: string, other: string): boolean =>
  Buffer.compare(Buffer.from(one), Buffer.from(other)) < 0

/** Fails with `query_invalid`. */
export function idsOfPartition(
  database: Partitionable,
  ids: readonly (string | undefined)[],
  partition: string | undefined,
): readonly (string | undefined)[] {
  if (partition === undefined) return ids
  requireSupport(database)
  return ids.map(id => (id !== undefined && partitionOf(id) === partition ? id : undefined))
}

function requireSupport({ properties }: Partitionable): void {
  if (properties.partitioned) return
  const reason = '`partition` parameter is not supported on this db'
  throw new Failure('query_invalid', { reason })
}
