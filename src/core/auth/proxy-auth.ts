/**
 * Proxy authentication: a proxy in front has authenticated the user and says so in headers. Active
 * only when its handler is listed, because without a secret anybody who reaches the server can
 * claim anything.
 *
 * With `proxy_use_secret` a token must come along: lower-case hex HMAC of the user name, keyed with
 * the secret; SHA-1 (the specification) or any configured digest. A missing or wrong token, or no
 * secret at all on our side, means that nobody was authenticated. (CouchDB lets everybody through
 * when the secret is missing. We do not.)
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { digestName, type HashAlgorithm } from './session-cookie.ts'
import type { User } from './user.ts'

export interface ProxySettings {
  readonly useSecret: boolean
  /** Lower-case names, the first that is sent counts. */
  readonly userHeaders: readonly string[]
  readonly rolesHeaders: readonly string[]
  readonly tokenHeaders: readonly string[]
}

export type HeaderReader = (name: string) => string | undefined

export function readProxyUser(
  header: HeaderReader,
  settings: ProxySettings,
  token: { readonly secret: string | undefined; readonly algorithms: readonly HashAlgorithm[] },
): User | undefined {
  const name = firstOf(settings.userHeaders, header)
  if (name === undefined) return undefined
  if (settings.useSecret) {
    const given = firstOf(settings.tokenHeaders, header)
    if (given === undefined || !isProxyToken(given, name, token)) return undefined
  }
  const roles = firstOf(settings.rolesHeaders, header)?.split(',').filter(Boolean) ?? []
  return { name, roles, authenticated: 'proxy' }
}

function isProxyToken(
  given: string,
  name: string,
  { secret, algorithms }: { secret: string | undefined; algorithms: readonly HashAlgorithm[] },
): boolean {
  if (secret === undefined) return false
  const bytes = Buffer.from(given)
  return [...new Set<HashAlgorithm>([...algorithms, 'sha'])].some(algorithm => {
    const expected = Buffer.from(
      createHmac(digestName(algorithm), secret).update(name).digest('hex'),
    )
    return expected.length === bytes.length && timingSafeEqual(expected, bytes)
  })
}

function firstOf(names: readonly string[], header: HeaderReader): string | undefined {
  for (const name of names) {
    const value = header(name)
    if (value) return value
  }
  return undefined
}
