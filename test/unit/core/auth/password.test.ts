import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  fingerprint,
  hashAdminPassword,
  hashPassword,
  isWeaker,
  parseAdminPassword,
  passwordFields,
  printSalt,
  readStoredPassword,
  type StoredPassword,
  verifyPassword,
} from '../../../../src/core/auth/password.ts'
import { failsWith } from './expect-failure.ts'

const bounds = { minIterations: 1, maxIterations: 10_000_000 }
const derived = (prf: string, salt: string, iterations: number, key: string): StoredPassword => ({
  scheme: 'pbkdf2',
  prf,
  salt,
  iterations,
  key,
})

describe('PBKDF2 with SHA-1 (vectors of RFC 6070)', () => {
  const vectors: [string, string, number, string][] = [
    ['password', 'salt', 1, '0c60c80f961f0e71f3a9b524af6012062fe037a6'],
    ['password', 'salt', 2, 'ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957'],
    ['password', 'salt', 4096, '4b007901b765489abead49d926f721d065a429c1'],
  ]
  for (const [password, salt, iterations, key] of vectors) {
    it(`${iterations} iterations`, async () => {
      const settings = { scheme: 'pbkdf2', prf: 'sha', iterations } as const
      const stored = await hashPassword(password, settings, salt)
      assert.equal(stored.key, key)
      assert.equal(await verifyPassword(password, stored, bounds), true)
      assert.equal(await verifyPassword(`${password}x`, stored, bounds), false)
    })
  }
})

describe('other digests and schemes', () => {
  it('derives a key as long as the digest, for each digest', async () => {
    const sizes = { sha: 20, sha224: 28, sha256: 32, sha384: 48, sha512: 64 } as const
    for (const prf of Object.keys(sizes) as (keyof typeof sizes)[]) {
      const stored = await hashPassword('pässword', { scheme: 'pbkdf2', prf, iterations: 3 }, 'abc')
      assert.equal(stored.key.length, sizes[prf] * 2)
      assert.equal(await verifyPassword('pässword', stored, bounds), true)
      assert.equal(await verifyPassword('password', stored, bounds), false)
    }
  })

  it('SHA-256 vector of RFC 7914', async () => {
    // The first 32 of 64 bytes: PBKDF2-HMAC-SHA-256 (P="passwd", S="salt", c=1).
    const key = '55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc'
    assert.equal(await verifyPassword('passwd', derived('sha256', 'salt', 1, key), bounds), true)
  })

  it('simple is the hex SHA-1 of password and salt', async () => {
    const stored = await hashPassword('abc', { scheme: 'simple' }, '')
    assert.equal(stored.key, 'a9993e364706816aba3e25717850c26c9cd0d89d')
    assert.equal(await verifyPassword('ab', { ...stored, salt: 'c' }, bounds), true)
    assert.equal(await verifyPassword('abd', stored, bounds), false)
  })

  it('simple+pbkdf2 derives from the hex of the simple hash', async () => {
    const inner = await hashPassword('secret', { scheme: 'simple' }, 'na')
    const outer = await hashPassword(
      inner.key,
      { scheme: 'pbkdf2', prf: 'sha256', iterations: 5 },
      'na',
    )
    const stored = { ...outer, scheme: 'simple+pbkdf2' } as StoredPassword
    assert.equal(await verifyPassword('secret', stored, bounds), true)
    assert.equal(await verifyPassword(inner.key, stored, bounds), false)
  })

  it('accepts hex in capitals', async () => {
    const stored = derived('sha', 'salt', 1, '0C60C80F961F0E71F3A9B524AF6012062FE037A6')
    assert.equal(await verifyPassword('password', stored, bounds), true)
  })

  it('never matches an empty or shortened key', async () => {
    for (const key of ['', '0c', '0c60c80f961f0e71f3a9b524af6012062fe037']) {
      assert.equal(await verifyPassword('password', derived('sha', 'salt', 1, key), bounds), false)
    }
  })
})

describe('bounds', () => {
  const key = '0c60c80f961f0e71f3a9b524af6012062fe037a6'
  const tight = { minIterations: 2, maxIterations: 100 }

  it('forbids a right password with too few iterations', async () => {
    await failsWith(
      verifyPassword('password', derived('sha', 'salt', 1, key), tight),
      'forbidden',
      'Iteration count is too low for this server',
    )
  })

  it('says nothing about iterations to those who guess', async () => {
    assert.equal(await verifyPassword('wrong', derived('sha', 'salt', 1, key), tight), false)
  })

  it('forbids too many iterations before doing the work', async () => {
    for (const iterations of [101, 2 ** 31, 1e300]) {
      await failsWith(
        verifyPassword('password', derived('sha', 'salt', iterations, key), tight),
        'forbidden',
        'Iteration count is too high for this server',
      )
    }
  })

  it('treats iterations that cannot be counted as too few, never as an error of ours', async () => {
    for (const iterations of [0, -5, 1.5, Number.NaN]) {
      await failsWith(
        verifyPassword('password', derived('sha', 'salt', iterations, key), bounds),
        'forbidden',
        'Iteration count is too low for this server',
      )
    }
  })

  it('forbids an unknown digest', async () => {
    for (const prf of ['md5', 'toString', '']) {
      await failsWith(
        verifyPassword('password', derived(prf, 'salt', 1, key), bounds),
        'forbidden',
        'PRF is invalid',
      )
    }
  })
})

describe('admin texts', () => {
  it('reads each form', () => {
    assert.deepEqual(parseAdminPassword('-hashed-abc,s,alt'), {
      scheme: 'simple',
      salt: 's,alt',
      key: 'abc',
    })
    assert.deepEqual(parseAdminPassword('-pbkdf2-abc,salt,10'), derived('sha', 'salt', 10, 'abc'))
    assert.deepEqual(
      parseAdminPassword('-pbkdf2:sha512-abc,salt,600000'),
      derived('sha512', 'salt', 600_000, 'abc'),
    )
  })

  it('takes everything else for plain text', () => {
    for (const text of [
      'secret',
      '',
      '-pbkdf2-abc',
      '-pbkdf2-a,b,c',
      '-hashed-x',
      '-pbkdf2:sha256',
    ]) {
      assert.equal(parseAdminPassword(text), undefined, text)
    }
  })

  it('writes the form asked for, and reads it back', async () => {
    const salt = printSalt(Buffer.alloc(16, 0xab))
    const old = await hashAdminPassword('pw', { form: 'pbkdf2', iterations: 10 }, salt)
    assert.match(old, /^-pbkdf2-[0-9a-f]{40},(ab){16},10$/)
    const now = await hashAdminPassword('pw', { form: 'pbkdf2:sha256', iterations: 10 }, salt)
    assert.match(now, /^-pbkdf2:sha256-[0-9a-f]{64},(ab){16},10$/)
    for (const text of [old, now]) {
      const stored = parseAdminPassword(text)
      assert.ok(stored)
      assert.equal(await verifyPassword('pw', stored, bounds), true)
      assert.equal(await verifyPassword('Pw', stored, bounds), false)
    }
  })
})

describe('fields of user documents', () => {
  it('are written in order and read back', async () => {
    const settings = { scheme: 'pbkdf2', prf: 'sha256', iterations: 7 } as const
    const stored = await hashPassword('x', settings, 'salt')
    const fields = passwordFields(stored)
    assert.deepEqual(Object.keys(fields), [
      'password_scheme',
      'pbkdf2_prf',
      'salt',
      'iterations',
      'derived_key',
    ])
    assert.deepEqual(readStoredPassword(fields), stored)
  })

  it('have defaults of old: SHA-1, 10000 iterations, scheme simple', () => {
    assert.deepEqual(
      readStoredPassword({ password_scheme: 'pbkdf2', derived_key: 'ab', salt: 's' }),
      derived('sha', 's', 10_000, 'ab'),
    )
    assert.deepEqual(readStoredPassword({ password_sha: 'ab', salt: 's' }), {
      scheme: 'simple',
      salt: 's',
      key: 'ab',
    })
  })

  it('hold no password when something is missing or of the wrong kind', () => {
    const broken = [
      {},
      { password_scheme: 'bcrypt', derived_key: 'x' },
      { password_scheme: 'pbkdf2' },
      { password_scheme: 'pbkdf2', derived_key: '' },
      { password_scheme: 'pbkdf2', derived_key: 'x', iterations: '10' },
      { password_scheme: 'pbkdf2', derived_key: 5 },
      { password_sha: '' },
    ]
    for (const fields of broken) assert.equal(readStoredPassword(fields), undefined)
  })
})

it('only strengthens', () => {
  const settings = { scheme: 'pbkdf2', prf: 'sha256', iterations: 1000 } as const
  assert.equal(isWeaker({ scheme: 'simple', salt: '', key: '' }, settings), true)
  assert.equal(isWeaker(derived('sha', '', 5000, ''), settings), true)
  assert.equal(isWeaker(derived('sha256', '', 999, ''), settings), true)
  assert.equal(isWeaker(derived('sha256', '', 1000, ''), settings), false)
  assert.equal(isWeaker(derived('sha256', '', 2000, ''), settings), false)
  assert.equal(isWeaker(derived('sha512', '', 10, ''), settings), false)
})

it('every part of a stored password is in its fingerprint', () => {
  const base = derived('sha', 'salt', 10, 'key')
  const all = [
    base,
    { ...base, salt: 'salT' },
    { ...base, iterations: 11 },
    { ...base, key: 'kex' },
    { ...base, prf: 'sha256' },
    { ...base, scheme: 'simple+pbkdf2' } as StoredPassword,
    { scheme: 'simple', salt: 'salt', key: 'key' } as StoredPassword,
  ]
  assert.equal(new Set(all.map(fingerprint)).size, all.length)
})
