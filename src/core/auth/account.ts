/**
 * What authentication needs to know about accounts, and the port it asks.
 *
 * An account is an admin of the configuration or a user document. When a name is both, the admin's
 * password counts and the roles are merged. The port's owner decides how long it keeps documents in
 * memory; it must show a change at the latest on the request after the change was acknowledged.
 */
import { parseAdminPassword, readStoredPassword, type StoredPassword } from './password.ts'
import { SERVER_ADMIN_ROLE } from './user.ts'

export interface AccountSource {
  hasAdmins(): boolean
  /** The value of the admins section. */
  admin(name: string): string | undefined
  /** Undefined when there is none, or a deleted one. */
  userDocument(name: string): Promise<UserDocument | undefined>
}

export interface UserDocument {
  readonly roles: readonly string[]
  /** Undefined: nobody can log in with a password. */
  readonly password: StoredPassword | undefined
  /**
   * Conflicting revisions, or live documents under both id prefixes: it is not clear which one is
   * meant.
   */
  readonly hasConflicts: boolean
}

export interface Account {
  readonly name: string
  readonly roles: readonly string[]
  readonly password: StoredPassword | undefined
  readonly hasConflicts: boolean
  /** Only a user document's hash can be renewed at login. */
  readonly isUserDocument: boolean
}

export function readUserDocument(
  body: Readonly<Record<string, unknown>>,
  hasConflicts: boolean,
): UserDocument {
  const roles = Array.isArray(body.roles) ? body.roles : []
  return {
    roles: roles.filter(role => typeof role === 'string'),
    password: readStoredPassword(body),
    hasConflicts,
  }
}

export async function findAccount(
  source: AccountSource,
  name: string,
): Promise<Account | undefined> {
  const adminText = source.admin(name)
  const password = adminText === undefined ? undefined : parseAdminPassword(adminText)
  const document = await source.userDocument(name)
  if (password) {
    const roles = [SERVER_ADMIN_ROLE, ...(document?.roles ?? [])]
    return { name, roles, password, hasConflicts: false, isUserDocument: false }
  }
  return document && { name, ...document, isUserDocument: true }
}
