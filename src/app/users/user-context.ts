/** What operations on users work with, beside the main database. */
import type { ApplicationContext } from '../application-context.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'

export interface UserContext extends ApplicationContext {
  /** Accounts. */
  readonly users: DocumentDatabase
  /** The address of this server as its clients see it. */
  readonly baseUrl: string
}

export interface IdAndRev {
  readonly id: string
  readonly rev: string
}
