/** The settings of authentication as the configuration has them; made anew when the configuration changes. */
import { isFailure } from '../../base/errors.ts'
import { type AuthSettings, buildAuthSettings } from '../auth/auth-settings.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { SETTINGS } from '../configuration/settings.ts'
import { DIALECTS } from '../dialect/dialect.ts'

export function authSettingsOf(configuration: Configuration): () => AuthSettings {
  let current: AuthSettings | undefined
  configuration.onChange(() => {
    current = undefined
  })
  return () => {
    current ??= readSettings(configuration)
    return current
  }
}

/** Says in one line what authentication cannot work with in a configuration, if anything. */
export function authProblem(configuration: Configuration): string | undefined {
  try {
    readSettings(configuration)
    return undefined
  } catch (thrown) {
    if (isFailure(thrown)) return String(thrown.detail.reason ?? thrown.message)
    throw thrown
  }
}

function readSettings(configuration: Configuration): AuthSettings {
  const get = configuration.get.bind(configuration)
  const persistent = get(SETTINGS.persistentCookies)
  const dialect = DIALECTS[get(SETTINGS.dialect)]
  return buildAuthSettings({
    authenticationHandlers: get(SETTINGS.authenticationHandlers),
    requireValidUser: get(SETTINGS.requireValidUser),
    nodeRequireValidUser: get(SETTINGS.nodeRequireValidUser),
    authSecret: get(SETTINGS.authSecret),
    hashAlgorithms: get(SETTINGS.hashAlgorithms),
    sessionTimeoutS: get(SETTINGS.sessionTimeoutS),
    persistentCookies: persistent === '' ? dialect.persistentCookies : persistent === 'true',
    cookieDomain: get(SETTINGS.cookieDomain),
    cookieSameSite: get(SETTINGS.cookieSameSite),
    passwordScheme: get(SETTINGS.passwordScheme),
    passwordPrf: get(SETTINGS.passwordPrf),
    iterations: get(SETTINGS.iterations),
    minIterations: get(SETTINGS.minIterations),
    maxIterations: get(SETTINGS.maxIterations),
    upgradeHash: get(SETTINGS.upgradeHash),
    passwordRegexp: get(SETTINGS.passwordRegexp),
    authCacheSize: get(SETTINGS.authCacheSize),
    lockoutMode: get(SETTINGS.lockoutMode),
    lockoutThreshold: get(SETTINGS.lockoutThreshold),
    lockoutWindowMs: get(SETTINGS.lockoutWindowMs),
    proxyUseSecret: get(SETTINGS.proxyUseSecret),
    proxyUserHeader: get(SETTINGS.proxyUserHeader),
    proxyRolesHeader: get(SETTINGS.proxyRolesHeader),
    proxyTokenHeader: get(SETTINGS.proxyTokenHeader),
    usersDbPublic: get(SETTINGS.usersDbPublic),
    publicFields: get(SETTINGS.publicFields),
    jwtRequiredClaims: configuration.text('jwt_auth', 'required_claims') ?? '',
    jwtRolesClaimPath: configuration.text('jwt_auth', 'roles_claim_path') ?? '',
    jwtKeys: configuration.section('jwt_keys'),
  })
}
