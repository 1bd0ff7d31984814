/**
 * The application's settings as code reads them: an immutable snapshot of the settings document, of which only the
 * members that the application itself asks for have a name here. Whatever else people keep in it is kept.
 */
import { isObject, type JsonObject } from '../documents/document.ts'

export interface ContactTypeSetting {
  readonly id: string
  /** Types of places that it may be in; none: it is at the top. */
  readonly parents?: readonly string[]
  readonly person?: boolean
}

export interface Settings {
  /** The settings object as it is stored. */
  readonly all: JsonObject
  readonly roles: Readonly<Record<string, { readonly offline?: boolean }>>
  /** Permission -> roles that hold it. */
  readonly permissions: Readonly<Record<string, readonly string[]>>
  readonly contactTypes: readonly ContactTypeSetting[]
  readonly defaultCountryCode: string
  readonly phoneValidation: 'full' | 'partial' | 'none'
}

/** Malformed members read as if they were not there: people edit settings by hand. */
export function settingsOf(all: JsonObject): Settings {
  const validation = all.phone_validation
  return Object.freeze({
    all: deepFreeze(all),
    roles: isObject(all.roles) ? (all.roles as Settings['roles']) : {},
    permissions: permissionsIn(all.permissions),
    contactTypes: contactTypesIn(all.contact_types),
    defaultCountryCode: countryCodeIn(all.default_country_code),
    phoneValidation: validation === 'partial' || validation === 'none' ? validation : 'full',
  })
}

function permissionsIn(value: unknown): Settings['permissions'] {
  if (!isObject(value)) return {}
  const entries = Object.entries(value).filter(([, roles]) => Array.isArray(roles))
  return Object.freeze(Object.fromEntries(entries)) as Settings['permissions']
}

function contactTypesIn(value: unknown): ContactTypeSetting[] {
  if (!Array.isArray(value)) return []
  return value.flatMap(item => {
    if (!isObject(item) || typeof item.id !== 'string') return []
    const parents = Array.isArray(item.parents)
      ? item.parents.filter(parent => typeof parent === 'string')
      : []
    return [{ id: item.id, parents, person: item.person === true }]
  })
}

function countryCodeIn(value: unknown): string {
  const digits = String(value ?? '').replace(/\D/g, '')
  return digits === '' ? '1' : digits
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
  return value
}
