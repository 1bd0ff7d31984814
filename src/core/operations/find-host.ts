/** A database as its user sees it, as far as declarative queries look. */
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Database } from '../database/database.ts'
import type { DocumentView } from './read-document.ts'

export interface FindHost {
  readonly name: string
  readonly database: Database
  /** True when the user sees parts of documents only: each is then read through `readDocument`. */
  readonly narrowsDocuments: boolean
  /** Fails with `document_missing`. */
  readDocument(id: string, options?: { readonly conflicts?: boolean }): MaybePromise<DocumentView>
}
