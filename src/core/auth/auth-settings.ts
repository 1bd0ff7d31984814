/**
 * Everything authentication and the users database can be told, as one immutable value.
 *
 * `buildAuthSettings` takes the options as the configuration gives them (texts, flags and numbers
 * already checked for kind) and reads the ones with a syntax of their own: handler list, digests,
 * password rules, public fields, claims. Make a new value when the configuration changes;
 * `authenticate.ts` keeps parsed keys per value.
 */
import { Failure } from '../../base/errors.ts'
import { HEADER_NAMES } from '../../base/product-names.ts'
import { isTuple, parseTermList, wordOf } from './erlang-term.ts'
import { DEFAULT_JWT, type JwtSettings, parseRequiredClaims, parseRolesPath } from './jwt-auth.ts'
import type { LockoutSettings } from './lockout.ts'
import { type IterationBounds, isPrf, type NewPasswordSettings, type Prf } from './password.ts'
import { type PasswordRule, parsePasswordRules } from './password-rules.ts'
import type { ProxySettings } from './proxy-auth.ts'
import type { CookieSettings, HashAlgorithm } from './session-cookie.ts'
import type { AuthenticationMethod } from './user.ts'

export interface AuthSettings {
  readonly handlers: readonly AuthenticationMethod[]
  readonly requireValidUser: boolean
  readonly nodeRequireValidUser: boolean
  readonly secret: string | undefined
  readonly hashAlgorithms: readonly HashAlgorithm[]
  readonly cookie: CookieSettings
  readonly newPasswords: NewPasswordSettings
  readonly iterationBounds: IterationBounds
  readonly upgradeHash: boolean
  readonly passwordRules: readonly PasswordRule[]
  readonly verifiedPasswordsMax: number
  readonly lockout: LockoutSettings
  readonly proxy: ProxySettings
  readonly jwt: JwtSettings
  readonly usersDbPublic: boolean
  readonly publicFields: readonly string[]
}

/** The options under the names of the settings table. */
export interface AuthOptions {
  readonly authenticationHandlers: string
  readonly requireValidUser: boolean
  readonly nodeRequireValidUser: boolean
  readonly authSecret: string
  readonly hashAlgorithms: string
  readonly sessionTimeoutS: number
  readonly persistentCookies: boolean
  readonly cookieDomain: string
  readonly cookieSameSite: CookieSettings['sameSite']
  readonly passwordScheme: 'pbkdf2' | 'simple'
  readonly passwordPrf: Prf
  readonly iterations: number
  readonly minIterations: number
  readonly maxIterations: number
  readonly upgradeHash: boolean
  readonly passwordRegexp: string
  readonly authCacheSize: number
  readonly lockoutMode: LockoutSettings['mode']
  readonly lockoutThreshold: number
  readonly lockoutWindowMs: number
  readonly proxyUseSecret: boolean
  /** Empty: both known names. */
  readonly proxyUserHeader: string
  readonly proxyRolesHeader: string
  readonly proxyTokenHeader: string
  readonly usersDbPublic: boolean
  readonly publicFields: string
  readonly jwtRequiredClaims: string
  /** Empty: the claim `_couchdb.roles`. */
  readonly jwtRolesClaimPath: string
  readonly jwtKeys: Readonly<Record<string, string>>
}

export const DEFAULT_AUTH_OPTIONS: AuthOptions = Object.freeze({
  authenticationHandlers:
    '{chttpd_auth, cookie_authentication_handler}, {chttpd_auth, default_authentication_handler}',
  requireValidUser: false,
  nodeRequireValidUser: false,
  authSecret: '',
  hashAlgorithms: 'sha256, sha',
  sessionTimeoutS: 600,
  persistentCookies: false,
  cookieDomain: '',
  cookieSameSite: '',
  passwordScheme: 'pbkdf2',
  passwordPrf: 'sha256',
  iterations: 600_000,
  minIterations: 1,
  maxIterations: 10_000_000,
  upgradeHash: true,
  passwordRegexp: '',
  authCacheSize: 1000,
  lockoutMode: 'enforce',
  lockoutThreshold: 5,
  lockoutWindowMs: 300_000,
  proxyUseSecret: false,
  proxyUserHeader: '',
  proxyRolesHeader: '',
  proxyTokenHeader: '',
  usersDbPublic: false,
  publicFields: '',
  jwtRequiredClaims: '',
  jwtRolesClaimPath: '',
  jwtKeys: {},
})

export function buildAuthSettings(given: Partial<AuthOptions> = {}): AuthSettings {
  const options = { ...DEFAULT_AUTH_OPTIONS, ...given }
  const { passwordScheme, passwordPrf: prf, iterations } = options
  return {
    handlers: parseHandlers(options.authenticationHandlers),
    requireValidUser: options.requireValidUser,
    nodeRequireValidUser: options.nodeRequireValidUser,
    secret: options.authSecret === '' ? undefined : options.authSecret,
    hashAlgorithms: parseHashAlgorithms(options.hashAlgorithms),
    cookie: cookieSettings(options),
    newPasswords:
      passwordScheme === 'simple' ? { scheme: 'simple' } : { scheme: 'pbkdf2', prf, iterations },
    iterationBounds: {
      minIterations: options.minIterations,
      maxIterations: options.maxIterations,
    },
    upgradeHash: options.upgradeHash,
    passwordRules: parsePasswordRules(options.passwordRegexp),
    verifiedPasswordsMax: options.authCacheSize,
    lockout: {
      mode: options.lockoutMode,
      threshold: options.lockoutThreshold,
      windowMs: options.lockoutWindowMs,
    },
    proxy: proxySettings(options),
    jwt: jwtSettings(options),
    usersDbPublic: options.usersDbPublic,
    publicFields: splitList(options.publicFields),
  }
}

const HANDLERS: Readonly<Record<string, AuthenticationMethod>> = {
  cookie_authentication_handler: 'cookie',
  default_authentication_handler: 'default',
  proxy_authentication_handler: 'proxy',
  // The spelling of CouchDB 1 is still found in configurations.
  proxy_authentification_handler: 'proxy',
  jwt_authentication_handler: 'jwt',
}
const HANDLER_MODULES = ['chttpd_auth', 'svc_httpd_auth', 'couch_httpd_auth', 'svc_auth']

/**
 * `{chttpd_auth, cookie_authentication_handler}, …` in order; the module may have any of its names.
 */
export function parseHandlers(text: string): readonly AuthenticationMethod[] {
  return parseTermList(text).map(term => {
    const [module, handler, ...more] = isTuple(term) ? term.tuple.map(wordOf) : []
    const known = handler !== undefined && Object.hasOwn(HANDLERS, handler) && HANDLERS[handler]
    if (!known || more.length > 0 || !HANDLER_MODULES.includes(module ?? '')) {
      throw new Failure('config_invalid', {
        reason: `authentication_handlers: unknown handler ${handler ?? JSON.stringify(term)}`,
      })
    }
    return known
  })
}

/** `sha256, sha`: the first signs, all are accepted. */
export function parseHashAlgorithms(text: string): readonly HashAlgorithm[] {
  const algorithms = splitList(text).map(name => (name === 'sha1' ? 'sha' : name))
  if (algorithms.length === 0 || !algorithms.every(isPrf)) {
    throw new Failure('config_invalid', {
      reason: 'hash_algorithms must list some of sha, sha224, sha256, sha384, sha512',
    })
  }
  return algorithms
}

const cookieSettings = (options: AuthOptions): CookieSettings => ({
  timeoutS: options.sessionTimeoutS,
  persistent: options.persistentCookies,
  domain: checkedDomain(options.cookieDomain),
  sameSite: options.cookieSameSite,
})

/** The domain is printed into a header, so it may hold nothing that could end its attribute. */
function checkedDomain(domain: string): string {
  if (/^[\w.:-]*$/.test(domain)) return domain
  throw new Failure('config_invalid', { reason: 'cookie_domain is not a domain name' })
}

const proxySettings = (options: AuthOptions): ProxySettings => ({
  useSecret: options.proxyUseSecret,
  userHeaders: headerNames(options.proxyUserHeader, HEADER_NAMES.authUserName),
  rolesHeaders: headerNames(options.proxyRolesHeader, HEADER_NAMES.authRoles),
  tokenHeaders: headerNames(options.proxyTokenHeader, HEADER_NAMES.authToken),
})

const headerNames = (configured: string, known: readonly string[]): readonly string[] =>
  configured === '' ? known : [configured.toLowerCase()]

const jwtSettings = (options: AuthOptions): JwtSettings => ({
  keys: options.jwtKeys,
  requiredClaims: parseRequiredClaims(options.jwtRequiredClaims),
  rolesPath:
    options.jwtRolesClaimPath === ''
      ? DEFAULT_JWT.rolesPath
      : parseRolesPath(options.jwtRolesClaimPath),
})

const splitList = (text: string): readonly string[] =>
  text
    .split(',')
    .map(part => part.trim())
    .filter(Boolean)
