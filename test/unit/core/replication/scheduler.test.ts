import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  backoffMs,
  failuresAfter,
  type ScheduledJob,
  schedule,
  spreadMs,
} from '../../../../src/core/replication/scheduler.ts'

const job = (id: string, more: Partial<ScheduledJob> = {}): ScheduledJob => ({
  id,
  continuous: true,
  running: false,
  lastStartedMs: 0,
  notBeforeMs: 0,
  ...more,
})
const running = (id: string, lastStartedMs: number, more: Partial<ScheduledJob> = {}) =>
  job(id, { running: true, lastStartedMs, ...more })
const LIMITS = { jobsMax: 2, churnMax: 1 }

describe('which replications run', () => {
  it('fills free places with those that waited longest', () => {
    const jobs = [job('a', { lastStartedMs: 9 }), job('b', { lastStartedMs: 3 }), job('c')]
    assert.deepEqual(schedule(jobs, 10, LIMITS, false), { start: ['c', 'b'], stop: [] })
  })

  it('leaves those alone that must wait after a failure', () => {
    const jobs = [job('a', { notBeforeMs: 11 }), job('b', { notBeforeMs: 10 })]
    assert.deepEqual(schedule(jobs, 10, LIMITS, true).start, ['b'])
  })

  it('lets some make room at each turn, oldest first, and never one that will end', () => {
    const jobs = [
      running('a', 5),
      running('b', 4, { continuous: false }),
      job('c'),
      job('d', { lastStartedMs: 2 }),
    ]
    assert.deepEqual(schedule(jobs, 10, LIMITS, false), { start: [], stop: [] })
    assert.deepEqual(schedule(jobs, 10, LIMITS, true), { start: ['c'], stop: ['a'] })
  })

  it('disturbs nobody when nobody waits', () => {
    assert.deepEqual(schedule([running('a', 1), running('b', 2)], 10, LIMITS, true).stop, [])
  })

  it('stops what is too much after the limit was lowered', () => {
    const jobs = [running('a', 1), running('b', 2), running('c', 3), running('d', 4)]
    assert.deepEqual(schedule(jobs, 10, LIMITS, false), { start: [], stop: ['a', 'b'] })
  })

  it('comes round to everybody', () => {
    const jobs = Array.from({ length: 7 }, (_, index) => job(`${index}`))
    const state = new Map(jobs.map(each => [each.id, { ...each }]))
    const seen = new Set<string>()
    for (let turn = 1; turn < 20; turn++) {
      const { start, stop } = schedule(state.values(), turn, LIMITS, true)
      for (const id of stop) Object.assign(state.get(id) ?? {}, { running: false })
      for (const id of start) {
        Object.assign(state.get(id) ?? {}, { running: true, lastStartedMs: turn })
        seen.add(id)
      }
      const count = [...state.values()].filter(each => each.running).length
      assert.equal(count, 2)
    }
    assert.equal(seen.size, 7)
  })
})

describe('trying again', () => {
  it('waits twice as long each time, up to a bound', () => {
    assert.deepEqual(
      [1, 2, 3, 11, 12, 50].map(backoffMs),
      [30_000, 60_000, 120_000, 30_720_000, 30_720_000, 30_720_000],
    )
  })

  it('forgets old failures of one that ran well', () => {
    assert.equal(failuresAfter(4, 1000), 5)
    assert.equal(failuresAfter(4, 120_000), 1)
  })
})

describe('starts of many at once', () => {
  it('are spread over a time that grows with their number, up to a bound', () => {
    assert.deepEqual(
      [0, 1, 100, 500, 9000].map(jobs => spreadMs(jobs, 5000)),
      [0, 10, 1000, 5000, 5000],
    )
    assert.equal(spreadMs(9000, 0), 0)
  })
})
