/**
 * The partition that a path names, in the queries made below it: handlers of whole databases serve partitions too. What
 * the query string or the body say about the partition must not contradict the path.
 */
import { Failure } from '../../base/errors.ts'
import type { JsonObject } from '../../core/mango/json-value.ts'
import type { Exchange } from './exchange.ts'
import type { ParsedViewQuery } from './parse-view-query.ts'

/** Undefined for paths of the whole database. */
export const pathPartition = ({ params }: Exchange): string | undefined =>
  params.has('partition') ? params.get('partition') : undefined

/** A query of a view or of documents. */
export function scoped(exchange: Exchange, query: ParsedViewQuery): ParsedViewQuery {
  const partition = pathPartition(exchange)
  if (partition === undefined) return query
  refuseOther(query.partition ?? partition, partition)
  return { ...query, partition }
}

/** The body of a declarative query; its partition may stand in the query string as well. */
export function scopedFind(exchange: Exchange, request: JsonObject): JsonObject {
  const partition = pathPartition(exchange) ?? exchange.request.query.get('partition')
  if (partition === undefined) return request
  if (Object.hasOwn(request, 'partition')) refuseOther(request.partition, partition)
  return { ...request, partition }
}

export function refuseOther(given: unknown, partition: string, where = ''): void {
  if (given === partition) return
  const reason = `Conflicting value for \`partition\`${where}`
  throw new Failure('request_invalid', { reason })
}
