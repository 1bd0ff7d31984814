/**
 * Logging in through the application, and setting a new password where one is asked for. The session itself is the
 * database's own; what is added is where people go next, and that an account may have to change its password first.
 */
import { isFailure } from '../../base/errors.ts'
import type { RequestCredentials } from '../../core/auth/authenticate.ts'
import type { NameAndPassword } from '../../core/auth/basic-auth.ts'
import type { User } from '../../core/auth/user.ts'
import { userIdsOf } from '../../core/auth/users-database.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import type { Document } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import type { Settings } from '../settings/settings.ts'
import { PASSWORD_LENGTH_MIN, passwordWeakness } from './password-strength.ts'
import { hasPermission, isOnline } from './permissions.ts'

export interface LoggedIn {
  readonly user: User
  /** Set-Cookie text of the session. */
  readonly setCookie: string
  readonly mustChangePassword: boolean
}

export interface LogInParts {
  readonly server: ServerOperations
  /** Accounts. */
  readonly users: DocumentDatabase
}

/** Fails with `unauthorized`, or `forbidden` for those who failed too often. */
export async function logIn(
  { server, users }: LogInParts,
  given: NameAndPassword,
  request: RequestCredentials,
): Promise<LoggedIn> {
  const { user, setCookie, upgrade } = await server.authenticator.logIn(
    given,
    request,
    server.authSettings,
  )
  if (upgrade !== undefined) server.upgradePassword(upgrade)
  const account = await findAccountDocument(users, given.name)
  return { user, setCookie, mustChangePassword: account?.password_change_required === true }
}

/** Where somebody goes who named no place: to the administration, or to the application. */
export const homeOf = (user: User, settings: Settings): string =>
  isOnline(user) && hasPermission(user, settings, 'can_configure') ? '/admin/' : '/'

export type PasswordRefusal =
  | { readonly error: 'password-short'; readonly params: { readonly minimum: number } }
  | {
      readonly error: 'password-weak' | 'password-same' | 'current-password-incorrect'
    }

/** What is wrong with a new password, by itself and beside the old one. */
export function passwordRefusal(current: string, next: string): PasswordRefusal | undefined {
  const weakness = passwordWeakness(next)
  if (weakness === 'short') {
    return { error: 'password-short', params: { minimum: PASSWORD_LENGTH_MIN } }
  }
  if (weakness === 'weak') return { error: 'password-weak' }
  return current === next ? { error: 'password-same' } : undefined
}

/** Writes the new password; undefined where the name is no account of the users database. */
export async function setPassword(
  users: DocumentDatabase,
  name: string,
  password: string,
): Promise<Document | undefined> {
  const account = await findAccountDocument(users, name)
  if (account === undefined) return undefined
  const changed = { ...account, password, password_change_required: false }
  await users.put(changed)
  return changed
}

async function findAccountDocument(
  users: DocumentDatabase,
  name: string,
): Promise<Document | undefined> {
  try {
    const found = await users.getMany(userIdsOf(name))
    return found.find(document => document !== undefined)
  } catch (thrown) {
    // Admins of the configuration need no database of accounts.
    if (isFailure(thrown, 'database_missing')) return undefined
    throw thrown
  }
}
