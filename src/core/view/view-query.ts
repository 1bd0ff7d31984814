/**
 * A query of a view, typed, and the checks that need no more than the view's definition. Wire names
 * and the reading of text are the HTTP layer's; here values have their types already.
 * `planViewQuery` turns a query into ranges of places, with CouchDB's rules, in CouchDB's order of
 * complaints.
 */
import { Failure } from '../../base/errors.ts'
import { afterKey, afterPlace, type KeyOrder } from '../indexing/row-order.ts'
import type { PlaceRange } from '../indexing/scan-rows.ts'

export interface ViewQuery {
  /** Keys are JSON texts. `key` is the same as both ends of the range. */
  readonly startKey?: Buffer | undefined
  readonly endKey?: Buffer | undefined
  readonly keys?: readonly Buffer[] | undefined
  readonly startKeyDocId?: string | undefined
  readonly endKeyDocId?: string | undefined
  readonly limit?: number | undefined
  readonly skip?: number | undefined
  readonly descending?: boolean | undefined
  readonly inclusiveEnd?: boolean | undefined
  readonly reduce?: boolean | undefined
  readonly group?: boolean | undefined
  readonly groupLevel?: number | undefined
  readonly includeDocs?: boolean | undefined
  readonly conflicts?: boolean | undefined
}

export interface QueriedView {
  /** Of all rows, or of those of the partition that is asked. */
  readonly order: KeyOrder
  readonly hasReduce: boolean
  /** The largest limit there may be, and the one of queries without. */
  readonly limitMax?: number | undefined
}

export interface ViewPlan {
  readonly isReduced: boolean
  /** 0: all rows together. */
  readonly group: number | 'exact'
  readonly ranges: readonly PlaceRange[]
  readonly order: KeyOrder
  readonly reverse: boolean
  readonly skip: number
  readonly limit: number
}

export function planViewQuery(given: ViewQuery, view: QueriedView): ViewPlan {
  const query = withSingleKey(given)
  const isReduced = view.hasReduce && query.reduce !== false
  const group = groupLevel(query)
  checkQuery(query, { view, isReduced, group })
  checkRange(query, view.order)
  const reverse = query.descending === true
  const limit = query.limit ?? view.limitMax ?? Number.MAX_SAFE_INTEGER
  return {
    isReduced,
    group,
    ranges: rangesOf(query, view.order),
    order: view.order,
    reverse,
    skip: query.skip ?? 0,
    limit,
  }
}

/** A list of one key is that key. */
function withSingleKey(query: ViewQuery): ViewQuery {
  const { keys, startKey, endKey } = query
  const only = keys?.[0]
  if (keys?.length !== 1 || only === undefined) return query
  return { ...query, keys: undefined, startKey: startKey ?? only, endKey: endKey ?? only }
}

function groupLevel({ group, groupLevel: level }: ViewQuery): number | 'exact' {
  if (group === false && level !== undefined && level > 0) {
    throw invalid("Can't specify group=false and group_level>0 at the same time")
  }
  if (level !== undefined) return level
  return group === true ? 'exact' : 0
}

interface CheckedView {
  readonly view: QueriedView
  readonly isReduced: boolean
  readonly group: number | 'exact'
}

function checkQuery(query: ViewQuery, { view, isReduced, group }: CheckedView): void {
  const { keys, limit } = query
  if (!view.hasReduce && query.reduce === true)
    throw invalid('Reduce is invalid for map-only views.')
  if (isReduced && keys !== undefined && group !== 'exact') {
    throw invalid('Multi-key fetches for reduce views must use `group=true`')
  }
  const hasRange = query.startKey !== undefined || query.endKey !== undefined
  if (keys !== undefined && keys.length > 0 && hasRange) {
    throw invalid('`keys` is incompatible with `key`, `start_key` and `end_key`')
  }
  if (group !== 'exact' && group < 0) throw invalid('`group_level` must be >= 0')
  if (!isReduced && group !== 0) throw invalid('Invalid use of grouping on a map view.')
  if (isReduced && query.includeDocs === true) throw invalid('`include_docs` is invalid for reduce')
  if (isReduced && query.conflicts !== undefined) {
    throw invalid('`conflicts` is invalid for reduce views.')
  }
  if (view.limitMax !== undefined && limit !== undefined && limit > view.limitMax) {
    throw invalid(`Limit is too large, must not exceed ${view.limitMax}`)
  }
}

function checkRange({ startKey, endKey, descending }: ViewQuery, order: KeyOrder): void {
  if (startKey === undefined || endKey === undefined) return
  if (startKey === endKey) return
  const compared = Buffer.compare(order.sortKey(startKey), order.sortKey(endKey))
  if (descending === true ? compared >= 0 : compared <= 0) return
  throw invalid(
    'No rows can match your key range, reverse your start_key and end_key or set ' +
      `descending=${descending !== true}`,
  )
}

const invalid = (reason: string): Failure => new Failure('query_invalid', { reason })

function rangesOf(query: ViewQuery, order: KeyOrder): PlaceRange[] {
  const { keys } = query
  if (keys === undefined) return [rangeOf(query, order)]
  const ranges = keys.map(key => rangeOf({ ...query, startKey: key, endKey: key }, order))
  return query.descending === true ? ranges.reverse() : ranges
}

/**
 * Document ids count only together with a key. An empty one is as good as none, where the scan
 * starts.
 */
function rangeOf(query: ViewQuery, order: KeyOrder): PlaceRange {
  const start = bound(
    order,
    query.startKey,
    query.startKeyDocId === '' ? undefined : query.startKeyDocId,
  )
  // Asking for one key is the usual case.
  const isOne = start !== undefined && query.startKey === query.endKey
  const isSameBound = isOne && !query.startKeyDocId && query.endKeyDocId === undefined
  const end = isSameBound ? start : bound(order, query.endKey, query.endKeyDocId)
  const isInclusive = query.inclusiveEnd !== false
  const { lower, upper } = order.bounds
  if (query.descending === true) {
    return {
      lower: (isInclusive ? end?.before : end?.after) ?? lower,
      upper: start?.after ?? upper,
    }
  }
  return { lower: start?.before ?? lower, upper: (isInclusive ? end?.after : end?.before) ?? upper }
}

/** The places right before and right after a key, or a row of a key. */
function bound(
  order: KeyOrder,
  keyText: Buffer | undefined,
  docId: string | undefined,
): { before: Buffer; after: Buffer } | undefined {
  if (keyText === undefined) return undefined
  const sortKey = order.sortKey(keyText)
  if (docId === undefined) return { before: sortKey, after: afterKey(sortKey) }
  const place = Buffer.concat([sortKey, Buffer.from(docId)])
  return { before: place, after: afterPlace(place) }
}
