/**
 * What somebody may do in the application: a pure decision over his roles and the settings.
 *
 * Admins of the server may do everything. Everybody else holds a permission when one of his roles is listed for it. A
 * permission that the settings do not name is held by nobody.
 */
import { SERVER_ADMIN_ROLE, type User } from '../../core/auth/user.ts'
import type { Settings } from '../settings/settings.ts'

/** The mark of those who work online; settings are not asked. */
export const ONLINE_ROLE = 'mm-online'

export const isAdmin = ({ roles }: Pick<User, 'roles'>): boolean =>
  roles.includes(SERVER_ADMIN_ROLE)

export const isOnline = (user: Pick<User, 'roles'>): boolean =>
  isAdmin(user) || user.roles.includes(ONLINE_ROLE)

export function hasPermission(
  user: Pick<User, 'roles'>,
  { permissions }: Settings,
  permission: string,
): boolean {
  if (isAdmin(user)) return true
  const holders = Object.hasOwn(permissions, permission) ? permissions[permission] : undefined
  return holders?.some(role => user.roles.includes(role)) ?? false
}

/** A set of roles for which an account works offline: none of them is known, or one is marked so. */
export function isOfflineRoleSet(roles: readonly string[], settings: Settings): boolean {
  if (roles.includes(SERVER_ADMIN_ROLE)) return false
  const known = roles.filter(role => Object.hasOwn(settings.roles, role))
  return known.length === 0 || known.some(role => settings.roles[role]?.offline === true)
}
