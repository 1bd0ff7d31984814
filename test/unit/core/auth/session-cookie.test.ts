import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import {
  decodeSession,
  encodeSession,
  findSessionCookie,
  printEmptiedCookie,
  printSetCookie,
  verifySession,
} from '../../../../src/core/auth/session-cookie.ts'
import { throwsFailure } from './expect-failure.ts'

const key = { secret: '00112233445566778899aabbccddeeff', salt: '681f' }
const issuedS = 0x6af8fcc1
const options = { algorithms: ['sha256', 'sha'] as const, timeoutS: 600, nowS: issuedS }
const malformed = 'Malformed AuthSession cookie. Please clear your cookies.'

describe('the token', () => {
  it('has the bytes CouchDB makes', () => {
    // `YWRtaW46NkFGOEZDQzE6` is how a cookie of a real server begins (name admin, the time above).
    const token = encodeSession('admin', issuedS, key, 'sha256')
    assert.ok(token.startsWith('YWRtaW46NkFGOEZDQzE6'))
    const mac = createHmac('sha256', key.secret + key.salt)
      .update('admin:6AF8FCC1')
      .digest()
    const bytes = Buffer.concat([Buffer.from('admin:6AF8FCC1:'), mac])
    assert.equal(token, bytes.toString('base64url'))
    assert.doesNotMatch(token, /=/)
  })

  it('survives names of any characters but the colon', () => {
    for (const name of ['a', 'ünï', 'a b', '名前', 'x@y.z']) {
      const claim = decodeSession(encodeSession(name, issuedS, key, 'sha'))
      assert.equal(claim.name, name)
      assert.equal(claim.issuedS, issuedS)
      assert.equal(verifySession(claim, key, options).valid, true)
    }
  })

  it('survives a mac that holds colons', () => {
    let withColon = 0
    for (let time = issuedS; time < issuedS + 200; time++) {
      const claim = decodeSession(encodeSession('bob', time, key, 'sha256'))
      if (claim.mac.includes(':')) withColon++
      assert.equal(verifySession(claim, key, options).valid, true)
    }
    assert.ok(withColon > 0)
  })

  it('is malformed when no server could have made it', () => {
    const encode = (text: string) => Buffer.from(text).toString('base64url')
    for (const value of [
      'zzz',
      '%%%',
      encode('a'),
      encode('a:b'),
      encode('a:xyz:mac'),
      encode('a::m'),
    ]) {
      throwsFailure(() => decodeSession(value), 'request_invalid', malformed)
    }
  })

  it('fails with any bit changed, another secret, salt or digest', () => {
    const bytes = Buffer.from(encodeSession('bob', issuedS, key, 'sha256'), 'base64url')
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] as number) ^ 1
      let valid = false
      try {
        const claim = decodeSession(changed.toString('base64url'))
        valid = verifySession(claim, key, options).valid
      } catch {
        // Malformed is fine too.
      }
      assert.equal(valid, false, `byte ${at}`)
    }
    const claim = decodeSession(bytes.toString('base64url'))
    const tries = [
      verifySession(claim, { ...key, secret: 'x' }, options),
      verifySession(claim, { ...key, salt: 'x' }, options),
      verifySession(claim, key, { ...options, algorithms: ['sha'] }),
    ]
    assert.deepEqual(
      tries.map(each => each.valid),
      [false, false, false],
    )
  })
})

describe('the lifetime', () => {
  const claim = decodeSession(encodeSession('bob', issuedS, key, 'sha256'))
  const at = (seconds: number) => verifySession(claim, key, { ...options, nowS: issuedS + seconds })

  it('ends exactly at the timeout', () => {
    assert.equal(at(599).valid, true)
    assert.deepEqual(at(600), { valid: false, renew: false })
  })

  it('is renewed when more than a tenth has passed', () => {
    assert.deepEqual(at(60), { valid: true, renew: false })
    assert.deepEqual(at(61), { valid: true, renew: true })
  })
})

describe('headers', () => {
  const settings = { timeoutS: 600, persistent: false, domain: '', sameSite: '' } as const
  const context = { nowS: Date.UTC(2026, 10, 15, 0, 28, 49) / 1000, isTls: false }

  it('Set-Cookie of a session', () => {
    assert.equal(
      printSetCookie('T', settings, context),
      'AuthSession=T; Version=1; Path=/; HttpOnly',
    )
    assert.equal(
      printSetCookie('T', { ...settings, persistent: true }, context),
      'AuthSession=T; Version=1; Expires=Sun, 15-Nov-2026 00:38:49 GMT; Max-Age=600; Path=/; HttpOnly',
    )
  })

  it('all attributes', () => {
    assert.equal(
      printSetCookie(
        'T',
        { ...settings, domain: 'example.org', sameSite: 'none' },
        {
          ...context,
          isTls: true,
        },
      ),
      'AuthSession=T; Version=1; Secure; Domain=example.org; Path=/; HttpOnly; SameSite=None',
    )
  })

  it('the emptied cookie has the same scope, or browsers would keep the old one', () => {
    assert.equal(printEmptiedCookie(settings, false), 'AuthSession=; Version=1; Path=/; HttpOnly')
    assert.equal(
      printEmptiedCookie({ ...settings, domain: 'example.org', sameSite: 'strict' }, true),
      'AuthSession=; Version=1; Secure; Domain=example.org; Path=/; HttpOnly; SameSite=Strict',
    )
  })

  it('finds the cookie among others', () => {
    const found: [string | undefined, string | undefined][] = [
      [undefined, undefined],
      ['AuthSession=abc', 'abc'],
      ['a=b; AuthSession=abc; c=d', 'abc'],
      ['XAuthSession=no; AuthSession="quoted"', 'quoted'],
      ['AuthSession=', undefined],
      ['AuthSession', undefined],
      ['x=AuthSession', undefined],
    ]
    for (const [header, value] of found) assert.equal(findSessionCookie(header), value, header)
  })
})
