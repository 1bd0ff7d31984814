/** Who may come to an endpoint, as data; and the check of one rule for one user. */
import { Failure } from '../../base/errors.ts'
import type { User } from '../../core/auth/user.ts'
import type { Settings } from '../settings/settings.ts'
import { hasPermission, isAdmin, isOnline } from './permissions.ts'

export interface AccessRule {
  /** Also those who are not logged in. */
  readonly everybody?: boolean
  /** Answers without settings too: while the application is not installed. */
  readonly needsNothing?: boolean
  /** Only those who work online: refused as for a missing permission, or with the words of the firewall. */
  readonly online?: 'permission' | 'firewall'
  /** Only admins; others are told so, or asked to log in as somebody else. */
  readonly admin?: 'required' | 'prompted'
  /** Permissions that are all needed. */
  readonly all?: readonly string[]
  /** Permissions of which one is enough. */
  readonly any?: readonly string[]
}

export function accessCheck(rule: AccessRule, user: User, settings: Settings): void {
  if (rule.everybody === true) return
  if (user.name === null && !isAdmin(user)) throw new Failure('unauthorized')
  if (rule.online === 'firewall' && !isOnline(user)) throw firewall()
  if (rule.online === 'permission' && !isOnline(user)) throw insufficient()
  if (rule.admin !== undefined && !isAdmin(user)) {
    throw rule.admin === 'prompted'
      ? new Failure('unauthorized')
      : new Failure('forbidden', { reason: 'User is not an admin' })
  }
  const holds = (permission: string): boolean => hasPermission(user, settings, permission)
  if (rule.all?.every(holds) === false) throw insufficient()
  if (rule.any?.some(holds) === false) throw insufficient()
}

export const insufficient = (): Failure =>
  new Failure('forbidden', { reason: 'Insufficient privileges' })

export const firewall = (): Failure =>
  new Failure('forbidden', {
    reason: 'forbidden',
    details: 'Offline users are not allowed access to this endpoint',
    alwaysJson: true,
  })
