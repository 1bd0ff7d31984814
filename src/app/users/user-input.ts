/**
 * What comes in about a new user: what must be there, in which form. The order of the checks and their texts are what
 * clients know. Pure; whether names are taken and places exist is looked up later.
 */
import { PASSWORD_LENGTH_MIN, passwordWeakness } from '../access/password-strength.ts'
import { isOfflineRoleSet } from '../access/permissions.ts'
import { normalizePhone } from '../contacts/phone-number.ts'
import { isObject, type JsonObject } from '../documents/document.ts'
import { invalid } from '../documents/refusal.ts'
import type { Settings } from '../settings/settings.ts'
import { checkOidcName } from './oidc-user.ts'
import { askedRoles } from './role-sets.ts'
import { isTokenLoginEnabled } from './token-login.ts'
import { missingFields, refusal } from './user-refusal.ts'

export interface UserInput {
  readonly username: string
  readonly roles: readonly string[]
  /** Undefined for those who log in in another way. */
  readonly password: string | undefined
  /** Logs in with a link. */
  readonly isToken: boolean
  /** Logs in with an identity provider, where he has this name. */
  readonly oidcName: string | undefined
  /** With token login in E.164. */
  readonly phone: unknown
  readonly place: unknown
  readonly contact: unknown
  readonly skipsPasswordChange: boolean
  /** Members of the settings document that are kept as they come. */
  readonly details: JsonObject
}

/** Falsy, or nothing but falsy things inside. */
export function isMissing(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(each => !each)
  if (isObject(value)) return Object.values(value).every(each => !each)
  return !value
}

export function checkUserInput(given: unknown, settings: Settings): UserInput {
  const input = isObject(given) ? given : {}
  const isToken = isTokenLogin(input, settings)
  requireFields(input, settings, isToken)
  const phone = isToken ? loginPhone(input.phone, settings) : input.phone
  const oidcName = checkOidcName(input, settings)
  const hasPassword = !isToken && oidcName === undefined
  if (hasPassword) checkPassword(input.password)
  checkUserName(input.username)
  return {
    username: input.username as string,
    roles: askedRoles(input) ?? [],
    password: hasPassword ? (input.password as string) : undefined,
    isToken,
    oidcName,
    phone,
    place: isMissing(input.place) ? undefined : input.place,
    contact: isMissing(input.contact) ? undefined : input.contact,
    skipsPasswordChange: input.password_change_required === false,
    details: detailsOf(input),
  }
}

const isTokenLogin = ({ token_login: wanted }: JsonObject, settings: Settings): boolean =>
  wanted === true && isTokenLoginEnabled(settings)

const DETAILS = ['fullname', 'email', 'known', 'external_id', 'language']

/** Those that were given, in a fixed order. */
export const detailsOf = (input: JsonObject): JsonObject =>
  Object.fromEntries(
    DETAILS.filter(name => input[name] !== undefined).map(name => [name, input[name]]),
  )

function requireFields(input: JsonObject, settings: Settings, isToken: boolean): void {
  const required = ['username', ...(isToken ? ['phone'] : input.oidc_username ? [] : ['password'])]
  const roles = isMissing(input.type) && isMissing(input.roles) ? undefined : askedRoles(input)
  if (roles !== undefined && isOfflineRoleSet(roles, settings)) required.push('place', 'contact')
  const missing = required.filter(name => isMissing(input[name]))
  if (roles === undefined) missing.push('type or roles')
  if (missing.length > 0) throw missingFields(missing)
}

export function loginPhone(phone: unknown, settings: Settings): string {
  const normal = typeof phone === 'string' ? normalizePhone(phone, settings) : undefined
  if (normal !== undefined) return normal
  throw refusal(
    'A valid phone number is required for SMS login.',
    'configuration.enable.token.login.phone',
  )
}

const PASSWORD_LENGTH_MAX = 1024

export function checkPassword(password: unknown): string {
  if (typeof password !== 'string') throw invalid('The password must be a string.')
  if (password.length > PASSWORD_LENGTH_MAX) throw invalid('The password is too long.')
  const weakness = passwordWeakness(password)
  if (weakness === 'short') {
    throw refusal(
      `The password must be at least ${PASSWORD_LENGTH_MIN} characters long.`,
      'password.length.minimum',
      { minimum: PASSWORD_LENGTH_MIN },
    )
  }
  if (weakness === 'weak') {
    throw refusal(
      'The password is too easy to guess. Include a range of types of characters to increase the score.',
      'password.weak',
    )
  }
  return password
}

/** Longer names make ids that no database takes. */
const NAME_LENGTH_MAX = 200

function checkUserName(name: unknown): void {
  const isRight =
    typeof name === 'string' && name.length <= NAME_LENGTH_MAX && /^[a-z0-9_-]+$/.test(name)
  // The users database has names with an underscore in front for itself.
  if (isRight && !name.startsWith('_')) return
  throw refusal(
    'Invalid user name. Valid characters are lower case letters, numbers, underscore (_), and hyphen (-).',
    'username.invalid',
  )
}
