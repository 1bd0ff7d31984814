/**
 * The index of a design document of declarative queries, brought up to date as far as a query wants it. Whoever gets it
 * reads it himself.
 */
import { Failure } from '../../base/errors.ts'
import type { Database } from '../database/database.ts'
import type { OpenIndex } from '../indexing/open-indexes.ts'
import { bringUpIndex, isFresh, stateOf } from './query-view.ts'
import type { ViewServices } from './view-services.ts'

export interface QueryIndexRequest {
  /** With its `_design/`. */
  readonly designId: string
  /** False: as it is, however old. */
  readonly update: boolean
  readonly signal?: AbortSignal | undefined
}

/**
 * Undefined when it was not built yet and need not be. Fails with `index_changed` when the design document is not the one
 * that the query was planned with.
 */
export async function openQueryIndex(
  database: Database,
  services: ViewServices,
  { designId, update, signal }: QueryIndexRequest,
): Promise<OpenIndex | undefined> {
  const design = await services.designs.find(database, designId)
  if (design === undefined) throw new Failure('index_changed')
  const open = services.indexes.of(database, design)
  const head = await database.head()
  const state = await stateOf(open)
  if (isFresh(state, head)) return open
  if (!update) return state?.phase === 'ready' ? open : undefined
  const request = {
    databaseName: database.name,
    databaseId: database.store.id,
    designId,
    signature: open.signature,
    seq: head.updateSeq,
    purgeSeq: head.purgeSeq,
  }
  await bringUpIndex(services, request, signal)
  return open
}
