/**
 * Admins of the configuration have no documents until they first log in here: then they get an account without a
 * password, which is theirs to know by the configuration alone, and a settings document as everybody has one.
 */
import { isFailure } from '../../base/errors.ts'
import type { Document } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { findAccount, findUserSettings, newUserId } from './account-documents.ts'

const ROLES = ['admin']

export interface AdminAccountParts {
  readonly data: DocumentDatabase
  /** Accounts. */
  readonly users: DocumentDatabase
}

/** Does nothing where both are there. */
export async function ensureAdminAccount(
  { data, users }: AdminAccountParts,
  name: string,
): Promise<void> {
  const document = { _id: newUserId(name), name, roles: ROLES }
  if ((await findAccount(users, name)) === undefined)
    await add(users, { ...document, type: 'user' })
  if ((await findUserSettings(data, name)) === undefined) {
    await add(data, { ...document, type: 'user-settings' })
  }
}

async function add(database: DocumentDatabase, document: Document): Promise<void> {
  try {
    await database.put(document)
  } catch (thrown) {
    // Another login at the same moment.
    if (!isFailure(thrown, 'document_conflict')) throw thrown
  }
}
