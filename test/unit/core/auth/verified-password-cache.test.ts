import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VerifiedPasswordCache } from '../../../../src/core/auth/verified-password-cache.ts'

describe('verified passwords', () => {
  const make = (nowMs = { value: 0 }) =>
    new VerifiedPasswordCache({
      key: Buffer.alloc(32, 7),
      lifetimeMs: 1000,
      clock: () => nowMs.value,
    })

  it('knows exactly what was added', () => {
    const cache = make()
    cache.add(cache.proofOf('bob', 'secret', 'hash'), 10)
    assert.equal(cache.has(cache.proofOf('bob', 'secret', 'hash')), true)
    const others: [string, string, string][] = [
      ['bob', 'secret', 'hash2'],
      ['bob', 'Secret', 'hash'],
      ['bo', 'bsecret', 'hash'],
      ['bobs', 'ecret', 'hash'],
      ['bob', 'secreth', 'ash'],
    ]
    for (const other of others) assert.equal(cache.has(cache.proofOf(...other)), false)
  })

  it('depends on the key of the process and shows no password', () => {
    const options = { lifetimeMs: 1, clock: () => 0 }
    const other = new VerifiedPasswordCache({ key: Buffer.alloc(32, 8), ...options })
    const proof = make().proofOf('bob', 'secret', 'hash')
    assert.notEqual(proof, other.proofOf('bob', 'secret', 'hash'))
    assert.match(proof, /^[A-Za-z0-9+/]{43}=$/)
  })

  it('forgets by age, counted from the check and not from the last use', () => {
    const time = { value: 0 }
    const cache = make(time)
    cache.add('x', 10)
    time.value = 999
    assert.equal(cache.has('x'), true)
    time.value = 1000
    assert.equal(cache.has('x'), false)
    assert.equal(cache.size, 0)
  })

  it('forgets the least recently used, also when the bound shrinks', () => {
    const cache = make()
    for (const proof of ['a', 'b', 'c']) cache.add(proof, 3)
    cache.has('a')
    cache.add('d', 3)
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map(each => cache.has(each)),
      [true, false, true, true],
    )
    cache.add('e', 1)
    assert.equal(cache.size, 1)
    assert.equal(cache.has('e'), true)
  })
})
