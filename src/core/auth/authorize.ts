/**
 * What a user may do: pure decisions over a user and a database's security object.
 *
 * Each `…Check` returns for those who may and throws `unauthorized` or `forbidden` with CouchDB's
 * text for those who may not: somebody unknown is told to log in (401), somebody known is told no
 * (403), except where CouchDB always says 401.
 */
import { Failure } from '../../base/errors.ts'
import { isOpen, type NamesAndRoles, type Security } from './security-object.ts'
import { isServerAdmin, METRICS_ROLE, type User } from './user.ts'

export const isDatabaseAdmin = (user: User, { admins }: Security): boolean =>
  isServerAdmin(user) || isListed(user, admins)

export const isMember = (user: User, security: Security): boolean =>
  isOpen(security) || isDatabaseAdmin(user, security) || isListed(user, security.members)

/** Reading the database, and writing everything but design documents. */
export function memberCheck(user: User, security: Security): void {
  if (isMember(user, security)) return
  if (user.name === null) unauthorized('You are not authorized to access this db.')
  forbidden('You are not allowed to access this db.')
}

/** Design documents, the security object, the revision limit. */
export function adminCheck(user: User, security: Security): void {
  if (isDatabaseAdmin(user, security)) return
  const reason = 'You are not a db or server admin.'
  if (user.name === null) unauthorized(reason)
  forbidden(reason)
}

/** Compaction and clean-up: CouchDB refuses these with 401 whoever asks. */
export function maintenanceCheck(user: User, security: Security): void {
  if (!isDatabaseAdmin(user, security)) unauthorized('You are not a server or db admin.')
}

export function serverAdminCheck(user: User): void {
  if (!isServerAdmin(user)) unauthorized('You are not a server admin.')
}

export function metricsCheck(user: User): void {
  if (isServerAdmin(user) || user.roles.includes(METRICS_ROLE)) return
  unauthorized('You are not a server admin or read-only metrics user')
}

/** Anybody with a name; an admin party passes, it has the admin's role. */
export function authenticatedCheck(user: User): void {
  if (user.name === null && !isServerAdmin(user)) {
    unauthorized('You are not an authenticated user')
  }
}

/**
 * `users_db_security_editable`: only then may the security object of the users database be changed.
 */
export function usersSecurityCheck(editable: boolean): void {
  if (!editable) forbidden("You can't edit the security object of the user database.")
}

function isListed(user: User, { names, roles }: NamesAndRoles): boolean {
  if (user.name !== null && names.includes(user.name)) return true
  return user.roles.some(role => roles.includes(role))
}

function unauthorized(reason: string): never {
  throw new Failure('unauthorized', { reason })
}

function forbidden(reason: string): never {
  throw new Failure('forbidden', { reason })
}
