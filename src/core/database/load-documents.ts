/** Reading documents by id, and bodies of their revisions. */
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import type { ReadTx, Steps } from '../../engine/engine.ts'
import type { Database } from './database.ts'
import { documentKey, bodyKey as keyOfBody } from './keyspace.ts'
import {
  decodeBody,
  decodeDocument,
  type StoredBody,
  type StoredDocument,
} from './stored-document.ts'

export const loadDocument = (
  database: Database,
  id: string,
): MaybePromise<StoredDocument | undefined> =>
  after(database.store.get(documentKey(id)), bytes =>
    bytes === undefined ? undefined : decodeDocument(bytes, id),
  )

/** One result per id, in order, all from one state of the database. */
export async function loadDocuments(
  database: Database,
  ids: readonly string[],
): Promise<(StoredDocument | undefined)[]> {
  const keys = ids.map(documentKey)
  return database.store.read(function* (tx) {
    const values = yield* tx.getMany(keys)
    return values.map((bytes, index) =>
      bytes === undefined ? undefined : decodeDocument(bytes, ids[index] as string),
    )
  })
}

/** The body of one revision: the winner's is in the record, others lie apart. Undefined when it was compacted away. */
export function* bodyOfRevision(
  tx: ReadTx,
  document: StoredDocument,
  bodyKey: number,
): Steps<StoredBody | undefined> {
  if (bodyKey === document.bodyKey) return document
  if (bodyKey === 0) return undefined
  const bytes = yield* tx.get(keyOfBody(bodyKey))
  return bytes === undefined ? undefined : decodeBody(bytes)
}
