/** The roles of an account: from what was asked for, with the mark of those who work online. Pure. */
import { isOfflineRoleSet, ONLINE_ROLE } from '../access/permissions.ts'
import type { JsonObject } from '../documents/document.ts'
import { invalid } from '../documents/refusal.ts'
import type { Settings } from '../settings/settings.ts'

/** Types of users of long ago, and the roles that come with them. */
const ROLES_OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  'national-manager': ['kujua_user', 'data_entry', 'national_admin'],
  'district-manager': ['kujua_user', 'data_entry', 'district_admin'],
  'facility-manager': ['kujua_user', 'data_entry'],
  'data-entry': ['data_entry'],
  analytics: ['kujua_analytics'],
  gateway: ['kujua_gateway'],
}

/** `type` wins over `roles`; undefined when neither is given. */
export function askedRoles({ type, roles }: JsonObject): readonly string[] | undefined {
  if (typeof type === 'string' && type !== '') {
    const more = Object.hasOwn(ROLES_OF_TYPE, type) ? ROLES_OF_TYPE[type] : undefined
    return [type, ...(more ?? [])]
  }
  if (roles === undefined || roles === null) return undefined
  if (!Array.isArray(roles) || !roles.every(role => typeof role === 'string')) {
    throw invalid('Roles must be an array of strings.')
  }
  // Those of the server itself are never given to accounts.
  if (roles.some(role => role.startsWith('_'))) throw invalid('System roles cannot be given.')
  return [...new Set(roles)]
}

/** As they are stored. */
export function storedRoles(roles: readonly string[], settings: Settings): readonly string[] {
  if (isOfflineRoleSet(roles, settings)) return roles.filter(role => role !== ONLINE_ROLE)
  return roles.includes(ONLINE_ROLE) ? roles : [...roles, ONLINE_ROLE]
}
