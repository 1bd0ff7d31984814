/**
 * The session cookie. Its value is the unpadded base64url of these bytes:
 *
 *     name ":" HEXTIME ":" mac
 *
 * HEXTIME is the upper-case hex of Unix seconds, mac the raw HMAC over `name:HEXTIME`.
 *
 * The HMAC's key is the server's secret followed by the user's salt, so a new password (which
 * brings a new salt) ends all sessions of that user. Nothing is kept on the server. The first
 * configured digest signs, any configured one is accepted, so digests can be changed without
 * logging everybody out.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { Failure } from '../../base/errors.ts'

export type HashAlgorithm = 'sha' | 'sha224' | 'sha256' | 'sha384' | 'sha512'

export const SESSION_COOKIE = 'AuthSession'

export interface SessionClaim {
  readonly name: string
  readonly issuedS: number
  /** `name:HEXTIME` as it came, and its mac. */
  readonly signed: Buffer
  readonly mac: Buffer
}

export interface SessionKey {
  readonly secret: string
  readonly salt: string
}

export interface CookieSettings {
  readonly timeoutS: number
  readonly persistent: boolean
  readonly domain: string
  readonly sameSite: '' | 'strict' | 'lax' | 'none'
}

export function encodeSession(
  name: string,
  issuedS: number,
  key: SessionKey,
  algorithm: HashAlgorithm,
): string {
  const signed = Buffer.from(`${name}:${Math.floor(issuedS).toString(16).toUpperCase()}`)
  const mac = macOf(signed, key, algorithm)
  return Buffer.concat([signed, Buffer.from(':'), mac]).toString('base64url')
}

/** What a cookie claims, not yet verified. Fails for a value that no server of this kind made. */
export function decodeSession(value: string): SessionClaim {
  if (!/^[\w-]+={0,2}$/.test(value)) malformed()
  const bytes = Buffer.from(value, 'base64url')
  const first = bytes.indexOf(':')
  const second = bytes.indexOf(':', first + 1)
  if (first < 0 || second < 0) malformed()
  const time = bytes.toString('latin1', first + 1, second)
  if (!/^[0-9A-Fa-f]{1,12}$/.test(time)) malformed()
  return {
    name: bytes.toString('utf8', 0, first),
    issuedS: Number.parseInt(time, 16),
    signed: bytes.subarray(0, second),
    mac: bytes.subarray(second + 1),
  }
}

/**
 * `renew`: more than a tenth of the lifetime has passed, so the answer should carry a fresh cookie.
 */
export function verifySession(
  claim: SessionClaim,
  key: SessionKey,
  options: { algorithms: readonly HashAlgorithm[]; timeoutS: number; nowS: number },
): { readonly valid: boolean; readonly renew: boolean } {
  const { algorithms, timeoutS, nowS } = options
  const leftS = claim.issuedS + timeoutS - nowS
  const valid = leftS > 0 && algorithms.some(each => isMac(claim, key, each))
  return { valid, renew: valid && leftS < timeoutS * 0.9 }
}

/** The cookie's value in a Cookie header; undefined when there is none or an empty one. */
export function findSessionCookie(header: string | undefined): string | undefined {
  if (header === undefined || !header.includes(SESSION_COOKIE)) return undefined
  for (const part of header.split(';')) {
    const at = part.indexOf('=')
    if (at < 0 || part.slice(0, at).trim() !== SESSION_COOKIE) continue
    const value = part.slice(at + 1).trim()
    const bare = /^"(.*)"$/.exec(value)?.[1] ?? value
    return bare === '' ? undefined : bare
  }
  return undefined
}

export function printSetCookie(
  token: string,
  settings: CookieSettings,
  context: { readonly nowS: number; readonly isTls: boolean },
): string {
  const { timeoutS, persistent } = settings
  const expires = new Date((Math.floor(context.nowS) + timeoutS) * 1000)
  const life = persistent ? `; Expires=${printDate(expires)}; Max-Age=${timeoutS}` : ''
  return `${SESSION_COOKIE}=${token}; Version=1${life}${attributes(settings, context.isTls)}`
}

/** Makes a browser forget the cookie. */
export const printEmptiedCookie = (settings: CookieSettings, isTls: boolean): string =>
  `${SESSION_COOKIE}=; Version=1${attributes(settings, isTls)}`

const SAME_SITE = { strict: 'Strict', lax: 'Lax', none: 'None' }

function attributes({ domain, sameSite }: CookieSettings, isTls: boolean): string {
  const secure = isTls ? '; Secure' : ''
  const site = sameSite === '' ? '' : `; SameSite=${SAME_SITE[sameSite]}`
  return `${secure}${domain === '' ? '' : `; Domain=${domain}`}; Path=/; HttpOnly${site}`
}

/** `Sun, 15-Nov-2026 00:38:49 GMT`: the old cookie form with dashes, as CouchDB sends it. */
const printDate = (date: Date): string =>
  date.toUTCString().replace(/ (\d\d) (\w{3}) (\d{4}) /, ' $1-$2-$3 ')

/** OpenSSL's name of a digest. */
export const digestName = (algorithm: HashAlgorithm): string =>
  algorithm === 'sha' ? 'sha1' : algorithm

const macOf = (signed: Buffer, { secret, salt }: SessionKey, algorithm: HashAlgorithm): Buffer =>
  createHmac(digestName(algorithm), secret + salt)
    .update(signed)
    .digest()

function isMac(claim: SessionClaim, key: SessionKey, algorithm: HashAlgorithm): boolean {
  const expected = macOf(claim.signed, key, algorithm)
  return expected.length === claim.mac.length && timingSafeEqual(expected, claim.mac)
}

function malformed(): never {
  throw new Failure('request_invalid', {
    reason: 'Malformed AuthSession cookie. Please clear your cookies.',
  })
}
