import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { describe, it } from 'node:test'
import {
  DEFAULT_JWT,
  type JwtSettings,
  JwtVerifier,
  parseRequiredClaims,
  parseRolesPath,
  readBearer,
} from '../../../../src/core/auth/jwt-auth.ts'
import { throwsFailure } from './expect-failure.ts'

const nowS = 1_800_000_000
const secret = Buffer.from('a shared secret of some length')
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })
const pem = (pair: typeof rsa) => pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()

const settings: JwtSettings = {
  ...DEFAULT_JWT,
  keys: {
    'hmac:_default': secret.toString('base64'),
    'hmac:other': Buffer.from('other').toString('base64'),
    'rsa:r': pem(rsa).replaceAll('\n', '\\n'),
    'ec:p256': pem(p256),
    'ec:p384': pem(p384),
    'ec:wrong': pem(rsa),
    'rsa:junk': 'junk',
    'hmac:empty': '',
  },
}

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const message = (header: unknown, claims: unknown) => `${part(header)}.${part(claims)}`

function hmacToken(header: object, claims: object, key = secret, digest = 'sha256'): string {
  const text = message({ alg: 'HS256', ...header }, claims)
  return `${text}.${createHmac(digest, key).update(text).digest('base64url')}`
}

function signedToken(header: object, claims: object, key: typeof rsa, digest: string): string {
  const text = message(header, claims)
  const options = { key: key.privateKey, dsaEncoding: 'ieee-p1363' } as const
  return `${text}.${sign(digest, Buffer.from(text), options).toString('base64url')}`
}

const verify = (token: string, given: Partial<JwtSettings> = {}) =>
  new JwtVerifier({ ...settings, ...given }).verify(token, nowS)

describe('signatures', () => {
  it('accepts each algorithm', () => {
    const claims = { sub: 'bob' }
    const tokens = [
      hmacToken({}, claims),
      hmacToken({ alg: 'HS384' }, claims, secret, 'sha384'),
      hmacToken({ alg: 'HS512', kid: 'other' }, claims, Buffer.from('other'), 'sha512'),
      signedToken({ alg: 'RS256', kid: 'r' }, claims, rsa, 'sha256'),
      signedToken({ alg: 'RS384', kid: 'r' }, claims, rsa, 'sha384'),
      signedToken({ alg: 'RS512', kid: 'r' }, claims, rsa, 'sha512'),
      signedToken({ alg: 'ES256', kid: 'p256' }, claims, p256, 'sha256'),
      signedToken({ alg: 'ES384', kid: 'p384' }, claims, p384, 'sha384'),
    ]
    for (const token of tokens) {
      assert.deepEqual(verify(token), { name: 'bob', roles: [], authenticated: 'jwt' })
    }
  })

  it('refuses wrong signatures, keys and algorithms', () => {
    const claims = { sub: 'bob' }
    const good = hmacToken({}, claims)
    const [head, , tail] = good.split('.')
    const bad: [string, string][] = [
      [hmacToken({}, claims, Buffer.from('x')), 'Bad HMAC'],
      [`${head}.${part({ sub: 'admin' })}.${tail}`, 'Bad HMAC'],
      [`${head}.${part(claims)}.`, 'Bad HMAC'],
      [signedToken({ alg: 'RS256', kid: 'r' }, claims, p256, 'sha256'), 'Bad signature'],
      // A curve that does not belong to the algorithm.
      [signedToken({ alg: 'ES256', kid: 'p384' }, claims, p384, 'sha256'), 'Bad signature'],
      [hmacToken({ alg: 'none' }, claims), 'Invalid alg header parameter'],
      [`${message({ alg: 'none' }, claims)}.`, 'Invalid alg header parameter'],
      [`${message({}, claims)}.x`, 'Missing alg header parameter'],
      [hmacToken({ kid: 'nope' }, claims), 'Unknown kid'],
      [hmacToken({ kid: 5 }, claims), 'Unknown kid'],
      [hmacToken({ kid: 'empty' }, claims, Buffer.alloc(0)), 'Not a valid key'],
      [signedToken({ alg: 'RS256', kid: 'junk' }, claims, rsa, 'sha256'), 'Not a valid key'],
      [signedToken({ alg: 'ES256', kid: 'wrong' }, claims, rsa, 'sha256'), 'not an EC public key'],
      ['a.b', 'Malformed token'],
      ['a.b.c', 'Malformed token'],
      ['a.b.c.d', 'Malformed token'],
      [`${part([])}.${part({})}.x`, 'Not an object'],
    ]
    for (const [token, reason] of bad) throwsFailure(() => verify(token), 'request_invalid', reason)
  })

  it('never takes a public key for an HMAC secret', () => {
    const forged = hmacToken({ kid: 'r' }, { sub: 'admin' }, Buffer.from(pem(rsa)))
    throwsFailure(() => verify(forged), 'request_invalid', 'Unknown kid')
  })
})

describe('claims', () => {
  it('checks times whenever they are there', () => {
    verify(hmacToken({}, { sub: 'b', exp: nowS + 1, nbf: nowS - 1, iat: nowS }))
    throwsFailure(
      () => verify(hmacToken({}, { sub: 'b', exp: nowS })),
      'unauthorized',
      'exp not in future',
    )
    throwsFailure(
      () => verify(hmacToken({}, { sub: 'b', nbf: nowS + 1 })),
      'unauthorized',
      'nbf not in past',
    )
    throwsFailure(
      () => verify(hmacToken({}, { sub: 'b', exp: 'later' })),
      'request_invalid',
      'Invalid exp claim',
    )
  })

  it('demands what is required', () => {
    const requiredClaims = parseRequiredClaims('exp, {iss, "me"}, typ, kid')
    const demand = (header: object, claims: object, reason: string) =>
      throwsFailure(
        () => verify(hmacToken(header, claims), { requiredClaims }),
        'request_invalid',
        reason,
      )
    const full = { typ: 'JWT', kid: '_default' }
    const claims = { sub: 'b', iss: 'me', exp: nowS + 9 }
    verify(hmacToken(full, claims), { requiredClaims })
    demand({ kid: '_default' }, claims, 'Missing typ header parameter')
    demand({ ...full, typ: 'X' }, claims, 'Invalid typ header parameter')
    demand({ typ: 'JWT' }, claims, 'Missing kid claim')
    demand(full, { ...claims, iss: undefined }, 'Missing iss claim')
    demand(full, { ...claims, iss: 'you' }, 'Invalid iss claim')
    demand(full, { ...claims, exp: undefined }, 'Missing exp claim')
    assert.throws(() => parseRequiredClaims('aud'), { code: 'config_invalid' })
  })

  it('needs a name', () => {
    for (const claims of [{}, { sub: 5 }, { sub: '' }]) {
      throwsFailure(() => verify(hmacToken({}, claims)), 'unauthorized', 'Token missing sub claim.')
    }
  })

  it('finds the roles', () => {
    const roles = (claims: object, path?: string) =>
      verify(
        hmacToken({}, { sub: 'b', ...claims }),
        path ? { rolesPath: parseRolesPath(path) } : {},
      ).roles
    assert.deepEqual(roles({ '_couchdb.roles': ['a', 5, 'b'] }), ['a', 'b'])
    assert.deepEqual(roles({ '_couchdb.roles': 'a, b' }), ['a', 'b'])
    assert.deepEqual(roles({ _couchdb: { roles: ['a'] } }), [])
    assert.deepEqual(roles({ m: { 'r.s': ['x'] } }, 'm.r\\.s'), ['x'])
    assert.deepEqual(roles({ m: 5 }, 'm.toString.length'), [])
  })
})

it('reads the header', () => {
  assert.equal(readBearer('Bearer a.b.c'), 'a.b.c')
  for (const other of [undefined, 'Basic x', 'Bearer', 'Bearer a b']) {
    assert.equal(readBearer(other), undefined)
  }
})
