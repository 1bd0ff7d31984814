import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Lockout } from '../../../../src/core/auth/lockout.ts'
import { throwsFailure } from './expect-failure.ts'

const locked = 'Account is temporarily locked due to multiple authentication failures'
const settings = { mode: 'enforce', threshold: 5, windowMs: 300_000 } as const

function lockoutAt(start = 0, entriesMax = 10_000) {
  const time = { nowMs: start }
  const told: string[] = []
  const onThreshold = (peer: string, name: string) => told.push(`${peer} ${name}`)
  const lockout = new Lockout({ clock: () => time.nowMs, entriesMax, onThreshold })
  return { time, told, lockout }
}

function fail(lockout: Lockout, times: number, peer = 'p', name = 'bob'): void {
  for (let n = 0; n < times; n++) lockout.begin(peer, name, settings).fail()
}

describe('lockout', () => {
  it('locks one peer and name after the threshold, nobody else', () => {
    const { lockout, told } = lockoutAt()
    fail(lockout, 4)
    lockout.refuseIfLocked('p', 'bob', settings)
    fail(lockout, 1)
    throwsFailure(() => lockout.refuseIfLocked('p', 'bob', settings), 'forbidden', locked)
    throwsFailure(() => lockout.begin('p', 'bob', settings), 'forbidden', locked)
    lockout.refuseIfLocked('q', 'bob', settings)
    lockout.refuseIfLocked('p', 'ann', settings)
    assert.deepEqual(told, ['p bob'])
  })

  it('ends with the window, which begins with the first failure', () => {
    const { lockout, time } = lockoutAt()
    fail(lockout, 5)
    time.nowMs = 299_999
    throwsFailure(() => lockout.refuseIfLocked('p', 'bob', settings), 'forbidden', locked)
    time.nowMs = 300_000
    lockout.refuseIfLocked('p', 'bob', settings)
    fail(lockout, 4)
    lockout.refuseIfLocked('p', 'bob', settings)
  })

  it('counts what is under way, so that a burst does not slip through', () => {
    const { lockout } = lockoutAt()
    const attempts = [1, 2, 3, 4, 5].map(() => lockout.begin('p', 'bob', settings))
    throwsFailure(() => lockout.begin('p', 'bob', settings), 'forbidden', locked)
    for (const attempt of attempts) attempt.release()
    lockout.begin('p', 'bob', settings).release()
  })

  it('keeps what is under way when the window ends meanwhile', () => {
    const { lockout, time } = lockoutAt()
    const attempts = [1, 2, 3, 4, 5].map(() => lockout.begin('p', 'bob', settings))
    time.nowMs = 300_000
    throwsFailure(() => lockout.begin('p', 'bob', settings), 'forbidden', locked)
    for (const attempt of attempts) attempt.fail()
    throwsFailure(() => lockout.refuseIfLocked('p', 'bob', settings), 'forbidden', locked)
  })

  it('only tells in mode warn, does nothing in mode off', () => {
    const { lockout, told } = lockoutAt()
    for (let n = 0; n < 9; n++) lockout.begin('p', 'bob', { ...settings, mode: 'warn' }).fail()
    lockout.refuseIfLocked('p', 'bob', { ...settings, mode: 'warn' })
    assert.deepEqual(told, ['p bob'])
    const off = lockoutAt()
    for (let n = 0; n < 9; n++) off.lockout.begin('p', 'bob', { ...settings, mode: 'off' }).fail()
    assert.equal(off.lockout.size, 0)
  })

  it('suspects a peer that fails with many names, and locks none of them', () => {
    const { lockout } = lockoutAt()
    for (let n = 0; n < 10; n++) {
      assert.equal(lockout.isSuspect('p', settings), false)
      fail(lockout, 1, 'p', `name${n}`)
    }
    assert.equal(lockout.isSuspect('p', settings), true)
    assert.equal(lockout.isSuspect('q', settings), false)
    lockout.refuseIfLocked('p', 'name1', settings)
  })

  it('has bounded memory', () => {
    const { lockout } = lockoutAt(0, 100)
    for (let n = 0; n < 1000; n++) fail(lockout, 1, `peer${n}`, `name${n}`)
    assert.equal(lockout.size, 200)
  })
})
