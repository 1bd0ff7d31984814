/** Roles as somebody names them who asks what an offline user would replicate: one, or a JSON list. Pure. */
import { isOfflineRoleSet, ONLINE_ROLE } from '../access/permissions.ts'
import { invalid } from '../documents/refusal.ts'
import type { Settings } from '../settings/settings.ts'

/** Undefined when they are no roles of somebody who works offline. */
export function parseOfflineRoles(given: unknown, settings: Settings): string[] | undefined {
  if (typeof given !== 'string') throw notRoles()
  const roles = rolesIn(given)
  if (!roles.every(role => typeof role === 'string')) throw invalid('All roles should be strings')
  const isConfigured = roles.some(role => Object.hasOwn(settings.roles, role))
  const isOffline = isOfflineRoleSet(roles, settings) && !roles.includes(ONLINE_ROLE)
  return isConfigured && isOffline ? roles : undefined
}

function rolesIn(text: string): unknown[] {
  if (!/^\s*["[{]/.test(text)) return [text]
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw notRoles()
  }
  if (typeof parsed === 'string') return [parsed]
  if (Array.isArray(parsed) && parsed.length > 0) return parsed
  throw notRoles()
}

const notRoles = () => invalid('Role parameter must be either a string or a JSON encoded array')
