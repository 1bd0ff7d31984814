/**
 * The two documents of a user: the account in the users database, and the settings document in the main database under
 * the same id. Either may carry the product's other prefix; what is made here has ours.
 */
import { isFailure } from '../../base/errors.ts'
import { USER_ID_PREFIXES } from '../../base/product-names.ts'
import { userIdsOf } from '../../core/auth/users-database.ts'
import type { Document } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'

export const newUserId = (name: string): string => `${USER_ID_PREFIXES[0]}${name}`

/** Where the settings document may be. */
export const userSettingsIds = (name: string): readonly string[] => userIdsOf(name)

export async function findAccount(
  users: DocumentDatabase,
  name: string,
): Promise<Document | undefined> {
  try {
    return await findFirst(users, userIdsOf(name))
  } catch (thrown) {
    // Admins of the configuration need no database of accounts.
    if (isFailure(thrown, 'database_missing')) return undefined
    throw thrown
  }
}

export const findUserSettings = (
  data: DocumentDatabase,
  name: string,
): Promise<Document | undefined> => findFirst(data, userSettingsIds(name))

async function findFirst(
  database: DocumentDatabase,
  ids: readonly string[],
): Promise<Document | undefined> {
  const found = await database.getMany(ids)
  return found.find(document => document !== undefined)
}
