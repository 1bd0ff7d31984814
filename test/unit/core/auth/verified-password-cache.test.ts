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

  const bob = { name: 'bob', tag: 'tag' }
  const has = (cache: VerifiedPasswordCache, proof: string): boolean =>
    cache.find(proof) !== undefined

  it('knows exactly what was added, whose it was and for which stored form', () => {
    const cache = make()
    cache.add(cache.proofOf('Basic Ym9iOnNlY3JldA=='), bob, 10)
    const { name, tag } = cache.find(cache.proofOf('Basic Ym9iOnNlY3JldA==')) ?? {}
    assert.deepEqual([name, tag], ['bob', 'tag'])
    for (const other of ['', 'Basic Ym9iOnNlY3JldA=', 'basic Ym9iOnNlY3JldA==']) {
      assert.equal(cache.find(cache.proofOf(other)), undefined)
    }
  })

  it('depends on the key of the process and shows no password', () => {
    const options = { lifetimeMs: 1, clock: () => 0 }
    const other = new VerifiedPasswordCache({ key: Buffer.alloc(32, 8), ...options })
    const proof = make().proofOf('Basic Ym9i')
    assert.notEqual(proof, other.proofOf('Basic Ym9i'))
    assert.match(proof, /^[A-Za-z0-9+/]{43}=$/)
  })

  it('forgets by age, counted from the check and not from the last use', () => {
    const time = { value: 0 }
    const cache = make(time)
    cache.add('x', bob, 10)
    time.value = 999
    assert.equal(has(cache, 'x'), true)
    time.value = 1000
    assert.equal(has(cache, 'x'), false)
    assert.equal(cache.size, 0)
  })

  it('forgets first what was not used, also when the bound shrinks', () => {
    const cache = make()
    for (const proof of ['a', 'b', 'c']) cache.add(proof, bob, 3)
    has(cache, 'a')
    cache.add('d', bob, 3)
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map(each => has(cache, each)),
      [true, false, true, true],
    )
    cache.add('e', bob, 1)
    assert.equal(cache.size, 1)
    assert.equal(has(cache, 'e'), true)
    cache.add('f', bob, 0)
    assert.equal(cache.size, 0)
  })
})
