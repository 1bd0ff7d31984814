/**
 * Revisions of many documents at once, for bulk reads and replicators: as many as fit a batch come from one
 * state of the database, and the next batch is read when somebody wants it.
 */
import { isFailure } from '../../base/errors.ts'
import type { Database } from '../database/database.ts'
import type { Revision } from '../document/revision.ts'
import { type OpenedRevision, type OpenOptions, openRevisionsIn } from './read-document.ts'

export interface OpenRequest {
  readonly id: string
  readonly wanted: 'all' | readonly Revision[]
}

/** Undefined when all leaves of a document are asked for that never was. */
export type Opened = readonly OpenedRevision[] | undefined

const BATCH_COUNT_MAX = 500
const BATCH_BYTES_MAX = 1024 * 1024

/** One result per request, in order. */
export async function* openMany(
  database: Database,
  requests: readonly OpenRequest[],
  options: OpenOptions,
): AsyncGenerator<Opened[], void, undefined> {
  for (let at = 0; at < requests.length; ) {
    const batch = await database.store.read(function* (tx) {
      const opened: Opened[] = []
      let bytes = 0
      for (let index = at; index < requests.length && opened.length < BATCH_COUNT_MAX; index++) {
        const { id, wanted } = requests[index] as OpenRequest
        const found = yield* openRevisionsIn(tx, id, wanted, options)
        opened.push(found)
        for (const each of found ?? []) bytes += 'ok' in each ? each.ok.body.length : 0
        if (bytes >= BATCH_BYTES_MAX) break
      }
      return opened
    })
    at += batch.length
    yield batch
  }
}

interface OpensRevisions {
  openRevisions(
    id: string,
    wanted: 'all' | readonly Revision[],
    options: OpenOptions,
  ): Promise<Opened>
}

/**
 * For those who may see less: each document is opened by itself, and one that is not for them is as if it were
 * not there.
 */
export async function* openOneByOne(
  operations: OpensRevisions,
  requests: readonly OpenRequest[],
  options: OpenOptions,
): AsyncGenerator<Opened[], void, undefined> {
  for (const { id, wanted } of requests) {
    try {
      yield [await operations.openRevisions(id, wanted, options)]
    } catch (thrown) {
      if (!isFailure(thrown)) throw thrown
      yield [wanted === 'all' ? undefined : wanted.map(missing => ({ missing }))]
    }
  }
}
