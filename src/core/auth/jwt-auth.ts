/**
 * `Authorization: Bearer <JSON Web Token>`: the token names the user (`sub`) and the roles, its
 * signature proves it.
 *
 * Keys come from the section `jwt_keys`: `hmac:<kid>` (base64), `rsa:<kid>` and `ec:<kid>` (PEM
 * public keys, newlines may be written `\n`); a token without `kid` uses `_default`. The token's
 * algorithm chooses the kind of key, so a public key can never be used as an HMAC secret, and
 * `none` does not exist. `exp` and `nbf` are checked whenever they are there; `required_claims`
 * says what must be there. Texts are CouchDB's.
 */
import {
  createHmac,
  createPublicKey,
  type KeyObject,
  timingSafeEqual,
  verify as verifySignature,
} from 'node:crypto'
import { Failure } from '../../base/errors.ts'
import { isTuple, parseTermList, wordOf } from './erlang-term.ts'
import type { User } from './user.ts'

export interface JwtSettings {
  /** The section `jwt_keys` as it is. */
  readonly keys: Readonly<Record<string, string>>
  readonly requiredClaims: readonly RequiredClaim[]
  /** Where the roles are, e.g. `['metadata', 'roles']`. */
  readonly rolesPath: readonly string[]
}

export interface RequiredClaim {
  readonly name: ClaimName
  /** Only for `iss`. */
  readonly value?: string
}

const CLAIM_NAMES = ['alg', 'exp', 'iat', 'iss', 'kid', 'nbf', 'typ'] as const
type ClaimName = (typeof CLAIM_NAMES)[number]

export const DEFAULT_JWT: JwtSettings = {
  keys: {},
  requiredClaims: [],
  rolesPath: ['_couchdb.roles'],
}

/** `exp, {iss, "issuer"}` */
export function parseRequiredClaims(text: string): readonly RequiredClaim[] {
  return parseTermList(text).map(term => {
    const [key, value] = isTuple(term) ? term.tuple : [term]
    const name = CLAIM_NAMES.find(known => known === wordOf(key))
    if (name === undefined) {
      throw new Failure('config_invalid', { reason: 'required_claims names an unknown claim' })
    }
    return typeof value === 'string' ? { name, value } : { name }
  })
}

/** `metadata.roles`; a dot that belongs to a name is written `\.` */
export const parseRolesPath = (text: string): readonly string[] =>
  text.split(/(?<!\\)\./).map(part => part.replaceAll('\\.', '.'))

export function readBearer(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : /^bearer +(\S+)\s*$/i.exec(authorization)?.[1]
}

type Claims = Readonly<Record<string, unknown>>

interface Algorithm {
  readonly kind: 'hmac' | 'rsa' | 'ec'
  readonly digest: string
  readonly curve?: string
}

const ALGORITHMS: ReadonlyMap<unknown, Algorithm> = new Map<string, Algorithm>([
  ['HS256', { kind: 'hmac', digest: 'sha256' }],
  ['HS384', { kind: 'hmac', digest: 'sha384' }],
  ['HS512', { kind: 'hmac', digest: 'sha512' }],
  ['RS256', { kind: 'rsa', digest: 'sha256' }],
  ['RS384', { kind: 'rsa', digest: 'sha384' }],
  ['RS512', { kind: 'rsa', digest: 'sha512' }],
  ['ES256', { kind: 'ec', digest: 'sha256', curve: 'prime256v1' }],
  ['ES384', { kind: 'ec', digest: 'sha384', curve: 'secp384r1' }],
  ['ES512', { kind: 'ec', digest: 'sha512', curve: 'secp521r1' }],
])

/** Keeps parsed keys; make a new one when the settings change. */
export class JwtVerifier {
  readonly #settings: JwtSettings
  readonly #keys = new Map<string, Buffer | KeyObject>()

  constructor(settings: JwtSettings) {
    this.#settings = settings
  }

  verify(token: string, nowS: number): User {
    const parts = token.split('.')
    const [header64, payload64, signature64] = parts
    if (parts.length !== 3 || !header64 || !payload64 || signature64 === undefined) {
      refuse('Malformed token')
    }
    const header = decodePart(header64)
    const algorithm = this.#checkHeader(header)
    const claims = decodePart(payload64)
    this.#checkClaims(claims, nowS)
    const key = this.#key(algorithm.kind, header.kid)
    checkSignature(`${header64}.${payload64}`, signature64, algorithm, key)
    return this.#user(claims)
  }

  #checkHeader(header: Claims): Algorithm {
    if (this.#requires('typ')) {
      if (header.typ === undefined) refuse('Missing typ header parameter')
      if (header.typ !== 'JWT') refuse('Invalid typ header parameter')
    }
    if (header.alg === undefined) refuse('Missing alg header parameter')
    const algorithm = ALGORITHMS.get(header.alg)
    if (!algorithm) refuse('Invalid alg header parameter')
    if (this.#requires('kid') && header.kid === undefined) refuse('Missing kid claim')
    return algorithm
  }

  #checkClaims(claims: Claims, nowS: number): void {
    const issuer = this.#settings.requiredClaims.find(each => each.name === 'iss')
    if (issuer) {
      if (claims.iss === undefined) refuse('Missing iss claim')
      if (issuer.value !== undefined && claims.iss !== issuer.value) refuse('Invalid iss claim')
    }
    for (const name of ['iat', 'nbf', 'exp'] as const) {
      const value = claims[name]
      if (value === undefined) {
        if (this.#requires(name)) refuse(`Missing ${name} claim`)
      } else if (typeof value !== 'number') refuse(`Invalid ${name} claim`)
      else if (name === 'nbf' && value > nowS) unauthorized('nbf not in past')
      else if (name === 'exp' && value <= nowS) unauthorized('exp not in future')
    }
  }

  #requires(name: ClaimName): boolean {
    return this.#settings.requiredClaims.some(each => each.name === name)
  }

  #key(kind: Algorithm['kind'], kid: unknown): Buffer | KeyObject {
    if (kid !== undefined && typeof kid !== 'string') refuse('Unknown kid')
    const id = `${kind}:${kid ?? '_default'}`
    const known = this.#keys.get(id)
    if (known) return known
    const text = Object.hasOwn(this.#settings.keys, id) ? this.#settings.keys[id] : undefined
    if (text === undefined) refuse('Unknown kid')
    const key = readKey(kind, text)
    this.#keys.set(id, key)
    return key
  }

  #user(claims: Claims): User {
    const name = claims.sub
    if (typeof name !== 'string' || name === '') unauthorized('Token missing sub claim.')
    let roles: unknown = claims
    for (const step of this.#settings.rolesPath) roles = memberOf(roles, step)
    return { name, roles: readRoles(roles), authenticated: 'jwt' }
  }
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Claims)[name]
}

/** A list of texts, or one text with commas. */
function readRoles(roles: unknown): readonly string[] {
  if (typeof roles === 'string') {
    return roles
      .split(',')
      .map(role => role.trim())
      .filter(Boolean)
  }
  if (!Array.isArray(roles)) return []
  return roles.filter(role => typeof role === 'string')
}

function decodePart(part: string): Claims {
  let value: unknown
  try {
    if (!/^[\w-]*={0,2}$/.test(part)) refuse('Malformed token')
    value = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  } catch (problem) {
    throw new Failure('request_invalid', { reason: 'Malformed token' }, problem)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) refuse('Not an object')
  return value as Claims
}

function readKey(kind: Algorithm['kind'], text: string): Buffer | KeyObject {
  if (kind === 'hmac') {
    const key = Buffer.from(text, 'base64')
    // An empty key would let everybody sign.
    if (key.length === 0 || !/^[\w+/-]+={0,2}$/.test(text.trim())) refuse('Not a valid key')
    return key
  }
  let key: KeyObject
  try {
    key = createPublicKey(text.replaceAll('\\n', '\n'))
  } catch (problem) {
    throw new Failure('request_invalid', { reason: 'Not a valid key' }, problem)
  }
  if (key.asymmetricKeyType !== kind) {
    refuse(kind === 'rsa' ? 'not an RSA public key' : 'not an EC public key')
  }
  return key
}

function checkSignature(
  message: string,
  signature64: string,
  { kind, digest, curve }: Algorithm,
  key: Buffer | KeyObject,
): void {
  const signature = Buffer.from(signature64, 'base64url')
  if (Buffer.isBuffer(key)) {
    const expected = createHmac(digest, key).update(message).digest()
    const same = expected.length === signature.length && timingSafeEqual(expected, signature)
    if (!same) refuse('Bad HMAC')
    return
  }
  if (kind === 'ec' && key.asymmetricKeyDetails?.namedCurve !== curve) refuse('Bad signature')
  const options = kind === 'ec' ? ({ key, dsaEncoding: 'ieee-p1363' } as const) : key
  if (!verifySignature(digest, Buffer.from(message), options, signature)) refuse('Bad signature')
}

function refuse(reason: string): never {
  throw new Failure('request_invalid', { reason })
}

function unauthorized(reason: string): never {
  throw new Failure('unauthorized', { reason })
}
