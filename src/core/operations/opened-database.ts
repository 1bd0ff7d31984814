/** A database opened for a user who was found to be a member: what every single operation works with. */
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Security } from '../auth/security-object.ts'
import type { User } from '../auth/user.ts'
import type { Database } from '../database/database.ts'
import type { DocumentView, ReadOptions } from './read-document.ts'

export interface OpenedDatabase {
  readonly database: Database
  readonly user: User
  readonly security: Security
}

/** What reading operations ask of one another: documents as this user sees them. */
export interface ReadableDatabase extends OpenedDatabase {
  /** This user does not see all of every document: each has to be read through `readDocument`. */
  readonly narrowsDocuments: boolean
  /** Fails for those who may not see all documents. */
  requireListing(): void
  readDocument(id: string, options?: ReadOptions): MaybePromise<DocumentView>
}
