/**
 * What the application's operations work with: the main database, one settings snapshot for the whole request, the
 * clock. Who asks is decided before they are called (`access/`).
 */
import { Failure } from '../base/errors.ts'
import type { DocumentDatabase } from './documents/document-database.ts'
import type { Settings } from './settings/settings.ts'

export interface ApplicationContext {
  readonly data: DocumentDatabase
  readonly settings: Settings
  readonly clock: () => number
}

/** The input breaks a rule; the text is what the client reads. */
export const invalid = (reason: string): Failure => new Failure('request_invalid', { reason })

/** There is no such thing; the text is what the client reads. */
export const notFound = (reason: string): Failure => new Failure('document_missing', { reason })
