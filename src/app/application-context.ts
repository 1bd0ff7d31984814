/**
 * What the application's operations work with: the main database, one settings snapshot for the whole request, the
 * clock. Who asks is decided before they are called (`access/`).
 */
import type { Document } from './documents/document.ts'
import type { DocumentDatabase, WriteOutcome } from './documents/document-database.ts'
import type { Settings } from './settings/settings.ts'

export interface ApplicationContext {
  readonly data: DocumentDatabase
  readonly settings: Settings
  readonly clock: () => number
  /** Stores records that come in as messages, with what follows from them at once; without it they are just stored. */
  readonly storeRecords?: (records: readonly Document[]) => Promise<WriteOutcome[]>
}
