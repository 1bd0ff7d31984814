import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { after, type MaybePromise, rescued } from '../../../src/base/maybe-promise.ts'
import { type Pull, pieces } from '../../../src/base/pull.ts'

/** The numbers up to a bound, each second one later. */
function counting(end: number): Pull<number> {
  let at = 0
  return () => {
    if (at === end) return undefined
    at++
    return at % 2 === 0 ? Promise.resolve(at) : at
  }
}

describe('a pull', () => {
  it('gives pieces that are there and pieces that come to whoever reads them in turn', async () => {
    const read: number[] = []
    for await (const piece of pieces(counting(5))) read.push(piece)
    assert.deepEqual(read, [1, 2, 3, 4, 5])
  })

  it('is where its reader left it', async () => {
    const next = counting(4)
    for await (const piece of pieces(next)) if (piece === 2) break
    assert.equal(await next(), 3)
  })
})

describe('what fails now or later', () => {
  const failing = (isLater: boolean): MaybePromise<string> => {
    if (isLater) return Promise.reject(new Error('broken'))
    throw new Error('broken')
  }
  const told = (thrown: unknown): string => `told: ${(thrown as Error).message}`

  it('is rescued alike', async () => {
    assert.equal(
      rescued(() => failing(false), told),
      'told: broken',
    )
    assert.equal(await rescued(() => failing(true), told), 'told: broken')
    assert.equal(
      rescued(() => 'fine', told),
      'fine',
    )
    assert.equal(await rescued(async () => 'fine', told), 'fine')
  })

  it('may fail again while it is rescued', async () => {
    const worse = (): string => {
      throw new Error('worse')
    }
    assert.throws(() => rescued(() => failing(false), worse), /worse/)
    await assert.rejects(async () => rescued(() => failing(true), worse), /worse/)
  })

  it('is not caught in what comes after it', () => {
    assert.throws(() => after('x', () => failing(false)), /broken/)
  })
})
