import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HashQueue } from '../../../../src/core/auth/hash-queue.ts'
import { failsWith } from './expect-failure.ts'

/** Work that ends when told to. */
function manual() {
  const started: string[] = []
  const finish = new Map<string, () => void>()
  const work = (label: string) => () =>
    new Promise<string>(resolve => {
      started.push(label)
      finish.set(label, () => resolve(label))
    })
  const end = async (label: string) => {
    finish.get(label)?.()
    await new Promise(resolve => setImmediate(resolve))
  }
  return { started, work, end }
}

const trusted = () => false
const suspect = () => true

describe('hash queue', () => {
  const clock = () => 0
  const wait = async () => {}

  it('runs few at once and serves peers in turn', async () => {
    const queue = new HashQueue({ clock, wait, concurrencyMax: 1 })
    const { started, work, end } = manual()
    const labels = ['a1', 'a2', 'a3', 'b1', 'c1']
    const all = labels.map(label => queue.run(label.slice(0, 1), trusted, work(label)))
    for (const label of ['a1', 'a2', 'b1', 'c1', 'a3']) await end(label)
    assert.deepEqual(started, ['a1', 'a2', 'b1', 'c1', 'a3'])
    assert.deepEqual(await Promise.all(all), labels)
    assert.equal(queue.waiting, 0)
  })

  it('refuses what does not fit, per peer and in all', async () => {
    const queue = new HashQueue({
      clock,
      wait,
      concurrencyMax: 1,
      waitingMax: 3,
      waitingPerPeerMax: 2,
    })
    const { work, end } = manual()
    const text = 'Too many logins are waiting, try again later.'
    const all = ['a1', 'a2', 'a3'].map(label => queue.run('a', trusted, work(label)))
    await failsWith(queue.run('a', trusted, work('a4')), 'service_unavailable', text)
    all.push(queue.run('b', trusted, work('b1')))
    await failsWith(queue.run('c', trusted, work('c1')), 'service_unavailable', text)
    for (const label of ['a1', 'a2', 'b1', 'a3']) await end(label)
    assert.equal((await Promise.all(all)).length, 4)
  })

  it('goes on after work that fails', async () => {
    const queue = new HashQueue({ clock, wait, concurrencyMax: 1 })
    const broken = queue.run('a', trusted, () => Promise.reject(new Error('broken')))
    const next = queue.run('a', trusted, async () => 5)
    await assert.rejects(broken, { message: 'broken' })
    assert.equal(await next, 5)
  })

  it('gives suspects one slot that rests, apart from everybody else', async () => {
    const time = { nowMs: 0 }
    const rests: { ms: number; end: () => void }[] = []
    const queue = new HashQueue({
      clock: () => time.nowMs,
      wait: ms => new Promise(resolve => rests.push({ ms, end: resolve })),
      concurrencyMax: 1,
      suspectRestFactor: 9,
    })
    const { started, work, end } = manual()
    const first = queue.run('evil', suspect, work('e1'))
    const second = queue.run('evil', suspect, work('e2'))
    const good = queue.run('good', trusted, work('g1'))
    assert.deepEqual(started, ['e1', 'g1'])
    time.nowMs = 100
    await end('e1')
    assert.equal(await first, 'e1')
    assert.deepEqual([started.length, rests[0]?.ms], [2, 900])
    rests[0]?.end()
    await new Promise(resolve => setImmediate(resolve))
    assert.deepEqual(started, ['e1', 'g1', 'e2'])
    await end('e2')
    await end('g1')
    assert.deepEqual(await Promise.all([second, good]), ['e2', 'g1'])
  })

  it('sends those to the suspects who became one while they waited', async () => {
    const queue = new HashQueue({ clock, wait: () => new Promise(() => {}), concurrencyMax: 1 })
    const { started, work, end } = manual()
    let isSuspect = false
    const first = queue.run('evil', () => isSuspect, work('e1'))
    const others = ['e2', 'e3', 'e4'].map(label => queue.run('evil', () => isSuspect, work(label)))
    isSuspect = true
    await end('e1')
    await first
    await new Promise(resolve => setImmediate(resolve))
    // One has the suspects' slot, which then rests; the others wait behind it, and the slot of all is free.
    assert.deepEqual(started, ['e1', 'e2'])
    await end('e2')
    assert.equal(await others[0], 'e2')
    assert.deepEqual([started.length, queue.waiting], [2, 2])
    assert.equal(await queue.run('good', trusted, async () => 'g'), 'g')
  })
})
