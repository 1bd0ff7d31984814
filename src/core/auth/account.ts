/**
 * What authentication needs to know about accounts, and the port it asks.
 *
 * An account is an admin of the configuration or a user document. When a name is both, the admin's
 * password counts and the roles are merged. The port's owner decides how long it keeps documents in
 * memory; it must show a change at the latest on the request after the change was acknowledged.
 */
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import { parseAdminPassword, readStoredPassword, type StoredPassword } from './password.ts'
import { SERVER_ADMIN_ROLE } from './user.ts'

export interface AccountSource {
  hasAdmins(): boolean
  /** The value of the admins section. */
  admin(name: string): string | undefined
  /** Undefined when there is none, or a deleted one. */
  userDocument(name: string): MaybePromise<UserDocument | undefined>
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

export function findAccount(
  source: AccountSource,
  name: string,
  parseAdmin = parseAdminPassword,
): MaybePromise<Account | undefined> {
  const adminText = source.admin(name)
  const password = adminText === undefined ? undefined : parseAdmin(adminText)
  return after(source.userDocument(name), document => accountOf(name, password, document))
}

function accountOf(
  name: string,
  adminPassword: StoredPassword | undefined,
  document: UserDocument | undefined,
): Account | undefined {
  if (adminPassword) {
    const roles = [SERVER_ADMIN_ROLE, ...(document?.roles ?? [])]
    return { name, roles, password: adminPassword, hasConflicts: false, isUserDocument: false }
  }
  return document && { name, ...document, isUserDocument: true }
}
