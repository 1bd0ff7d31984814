/**
 * Who may change a user: those who manage users everything, within what they may do to places and people; users
 * themselves a few things of their own. Pure.
 */
import { Failure } from '../../base/errors.ts'
import type { User } from '../../core/auth/user.ts'
import { hasPermission } from '../access/permissions.ts'
import type { JsonObject } from '../documents/document.ts'
import type { Settings } from '../settings/settings.ts'

/** What people may change about themselves. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'fullname',
  'email',
  'phone',
  'known',
  'password',
  'token_login',
  'language',
])

export interface UpdateRequest {
  readonly requester: User
  readonly target: string
  readonly given: JsonObject
  readonly settings: Settings
}

export function mayManage({ requester, given, settings }: UpdateRequest): boolean {
  const holds = (...any: string[]): boolean =>
    any.some(permission => hasPermission(requester, settings, permission))
  if (!holds('can_update_users')) return false
  if (given.place !== undefined && !holds('can_update_places', 'can_edit')) return false
  return given.contact === undefined || holds('can_update_people', 'can_edit')
}

/** Fails for those who may not; tells whether it is the user himself who changes, with no more right than that. */
export function updateCheck(request: UpdateRequest): 'manager' | 'self' {
  if (mayManage(request)) return 'manager'
  const { requester, target, given } = request
  if (requester.name !== target) {
    throw forbidden('You do not have permissions to modify this person')
  }
  if (given.password !== undefined && requester.authenticated !== 'default') {
    throw forbidden('You must authenticate with Basic Auth to modify your password')
  }
  if (!Object.keys(given).every(name => OWN_FIELDS.has(name))) throw new Failure('unauthorized')
  return 'self'
}

const forbidden = (reason: string): Failure => new Failure('forbidden', { reason })
