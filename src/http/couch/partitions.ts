/**
 * Partitions of a partitioned database: what there is to know about one, and the gate to the places below it, whose
 * handlers are those of the whole database (`partition-scope.ts` tells them which partition).
 */
import { Failure } from '../../base/errors.ts'
import { validatePartition } from '../../core/document/document-id.ts'
import type { Reply } from '../kit/reply.ts'
import type { Exchange, Handler } from './exchange.ts'
import { pathPartition, refuseOther } from './partition-scope.ts'

export async function getPartition(exchange: Exchange): Promise<Reply> {
  const { database, params } = exchange
  const info = await database.partitionInfo(params.get('partition'))
  return exchange.value(200, {
    db_name: database.name,
    sizes: { active: info.storedBytes, external: info.externalBytes },
    partition: info.partition,
    doc_count: info.liveCount,
    doc_del_count: info.deletedCount,
  })
}

/** A path that names no partition. */
export function refusePartitions(): never {
  throw new Failure('request_invalid', { reason: 'invalid_partition_req' })
}

/** There is nothing else below a partition. */
export function missingInPartition(exchange: Exchange): never {
  requireScope(exchange)
  throw new Failure('route_missing')
}

/** The same handlers, for a partition that there may be. */
export const inPartition = (methods: Readonly<Record<string, Handler>>): Record<string, Handler> =>
  Object.fromEntries(
    Object.entries(methods).map(([method, handler]) => [
      method,
      (exchange: Exchange) => {
        requireScope(exchange)
        return handler(exchange)
      },
    ]),
  )

function requireScope(exchange: Exchange): void {
  const partition = pathPartition(exchange) ?? ''
  exchange.database.requirePartitions()
  validatePartition(partition)
  const given = exchange.request.query.get('partition') ?? partition
  refuseOther(given, partition, ' in query string')
}
