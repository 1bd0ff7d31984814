/**
 * What a request will ask of its database, asked for while the catalog is still asked which database that is: on an engine
 * whose answers take a trip, all of it goes in one. It is asked of the database that had the name last; whoever asks
 * throws the answers away when the name is found to lead to another one. Nothing here outlives its request.
 */
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { parseSecurity, type Security } from '../auth/security-object.ts'
import type { Database } from '../database/database.ts'
import { loadDocument } from '../database/load-documents.ts'
import type { StoredDocument } from '../database/stored-document.ts'

export interface DocumentAhead {
  readonly id: string
  readonly record: Promise<StoredDocument | undefined>
}

export interface Ahead {
  readonly security?: Promise<Security>
  readonly document?: DocumentAhead
}

export function lookAhead(
  database: Database,
  wanted: { readonly security: boolean; readonly documentId: string | undefined },
): Ahead {
  const { documentId: id } = wanted
  return {
    ...(wanted.security && { security: quiet(database.security(parseSecurity)) }),
    ...(id !== undefined && { document: { id, record: quiet(loadDocument(database, id)) } }),
  }
}

/** What fails may never be looked at. */
function quiet<T>(answer: MaybePromise<T>): Promise<T> {
  const promise = Promise.resolve(answer)
  promise.catch(() => {})
  return promise
}
