/**
 * The index of a design document of declarative queries, brought up to date as far as a query wants it, and looked at: it
 * is mostly as it should be, and then one look is all.
 */
import { isFailure } from '../../base/errors.ts'
import { after, type MaybePromise, rescued } from '../../base/maybe-promise.ts'
import type { Database } from '../database/database.ts'
import type { DatabaseHead } from '../database/database-head.ts'
import type { IndexState } from '../indexing/index-state.ts'
import type { OpenIndex } from '../indexing/open-indexes.ts'
import { type AskerSignal, bringUpIndex, isFresh } from './query-view.ts'
import type { ViewServices } from './view-services.ts'

export interface QueryIndexRequest {
  readonly open: OpenIndex
  /** False: as it is, however old. */
  readonly update: boolean
  readonly signal?: AskerSignal | undefined
}

interface Looked {
  readonly look: { readonly state: IndexState | undefined }
}

/** Undefined when it was not built yet and need not be. */
export const lookAtQueryIndex = <T extends Looked>(
  database: Database,
  services: ViewServices,
  request: QueryIndexRequest,
  look: () => MaybePromise<T>,
): MaybePromise<T | undefined> =>
  after(database.head(), head =>
    after(unlessMissing(look), looked => {
      const state = looked?.look.state
      if (isFresh(state, head)) return looked
      if (!request.update) return state?.phase === 'ready' ? looked : undefined
      return bringUp(database, services, request, head).then(look)
    }),
  )

const unlessMissing = <T>(look: () => MaybePromise<T>): MaybePromise<T | undefined> =>
  rescued<T | undefined>(look, thrown => {
    if (isFailure(thrown, 'store_missing')) return undefined
    throw thrown
  })

function bringUp(
  { name: databaseName, store }: Database,
  services: ViewServices,
  { open: { designId, signature }, signal }: QueryIndexRequest,
  { updateSeq: seq, purgeSeq }: DatabaseHead,
): Promise<void> {
  const request = { databaseName, databaseId: store.id, designId, signature, seq, purgeSeq }
  return bringUpIndex(services, request, typeof signal === 'function' ? signal() : signal)
}
