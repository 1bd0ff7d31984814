/** Killed processes, full pools and several databases. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { isFailure } from '../../src/base/errors.ts'
import type { ViewGroup } from '../../src/core/sandbox/sandbox.ts'
import {
  designDocument,
  type Fixture,
  json,
  openFixture,
  rowsOf,
  viewGroup,
} from '../conformance/sandbox/sandbox-fixture.ts'

const SLOW = 'function(d){ var end = Date.now() + 300; while (Date.now() < end) {} emit(1, 1) }'

async function withFixture(
  options: Parameters<typeof openFixture>[0],
  work: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  const fixture = openFixture(options)
  try {
    await work(fixture)
  } finally {
    await fixture.sandbox.close()
  }
}

/** The process that would serve the group now. */
async function processOf({ sandbox }: Fixture, group: ViewGroup): Promise<number> {
  const child = await sandbox.pool.acquire(group.databaseKey, group.key)
  sandbox.pool.release(child)
  return child.processId as number
}

describe('sandbox pool', () => {
  const isLinux = process.platform === 'linux'
  it('processes run limited and not as root', { skip: !isLinux && 'reads /proc' }, async () => {
    await withFixture({}, async fixture => {
      const group = viewGroup(['d => {}'])
      await fixture.sandbox.mapBatch(group, [])
      const processId = await processOf(fixture, group)
      const limits = readFileSync(`/proc/${processId}/limits`, 'latin1')
      assert.match(limits, /^Max data size +\d+ /m)
      assert.match(limits, /^Max cpu time +600 /m)
      assert.match(limits, /^Max core file size +0 /m)
      const status = readFileSync(`/proc/${processId}/status`, 'latin1')
      assert.doesNotMatch(status, /^(Uid|Gid):.*\b0\b/m)
      const environment = readFileSync(`/proc/${processId}/environ`, 'latin1')
      const names = environment.split('\0').map(entry => entry.split('=')[0])
      const allowed = ['', 'DENO_DIR', 'DENO_NO_UPDATE_CHECK', 'HOME', 'TMPDIR', 'NO_COLOR', 'PWD']
      assert.deepEqual(
        names.filter(name => !allowed.includes(name as string)),
        [],
      )
      assert.deepEqual(fixture.warnings, [])
    })
  })

  it('a process killed in the middle of a call fails that call alone', async () => {
    await withFixture({}, async fixture => {
      const { sandbox } = fixture
      const group = viewGroup([SLOW])
      await sandbox.mapBatch(group, [])
      const processId = await processOf(fixture, group)
      const calls = [sandbox.mapBatch(group, [json({})]), sandbox.mapBatch(group, [json({})])]
      setTimeout(() => process.kill(processId, 'SIGKILL'), 100)
      const results = await Promise.allSettled(calls)
      const failed = results.filter(result => result.status === 'rejected')
      assert.equal(failed.length, 1)
      assert.ok(isFailure(failed[0]?.reason, 'sandbox_crashed'))
      assert.match(String(failed[0].reason.detail.reason), /SIGKILL/)
    })
  })

  it('a process killed while idle is replaced unnoticed', async () => {
    await withFixture({}, async fixture => {
      const { sandbox } = fixture
      const group = viewGroup(['d => { emit(1) }'])
      await sandbox.mapBatch(group, [json({})])
      const child = await sandbox.pool.acquire('db', group.key)
      sandbox.pool.release(child)
      process.kill(child.processId as number, 'SIGKILL')
      await child.exited
      assert.equal((await sandbox.mapBatch(group, [json({})])).rowCount, 1)
    })
  })

  it('a process serves one database only, and few processes serve many', async () => {
    await withFixture({ processesMax: 1 }, async fixture => {
      const seen = new Map<number, string>()
      for (const databaseKey of ['a', 'b', 'a', 'c', 'c', 'b']) {
        const group = viewGroup(['d => { emit(typeof stored); stored = 1 }'], { databaseKey })
        const batch = await fixture.sandbox.mapBatch(group, [json({})])
        assert.deepEqual(rowsOf(batch), [[0, 0, 'undefined', null]])
        const processId = await processOf(fixture, group)
        assert.equal(seen.get(processId) ?? databaseKey, databaseKey)
        seen.set(processId, databaseKey)
        assert.ok(fixture.sandbox.pool.processCount <= 2)
      }
      assert.ok(seen.size >= 4)
    })
  })

  it('calls beyond the processes wait, beyond the line they fail', async () => {
    await withFixture({ processesMax: 1, waitersMax: 2 }, async ({ sandbox }) => {
      const group = viewGroup([SLOW])
      await sandbox.mapBatch(group, [])
      const calls = Array.from({ length: 5 }, () => sandbox.mapBatch(group, [json({})]))
      const results = await Promise.allSettled(calls)
      const codes = results.map(result =>
        result.status === 'fulfilled' ? 'ok' : isFailure(result.reason) && result.reason.code,
      )
      const full = 'sandbox_unavailable'
      assert.deepEqual(codes, ['ok', 'ok', 'ok', full, full])
    })
  })

  it('who waits too long is told so', async () => {
    await withFixture({ processesMax: 1, waitMsMax: 1500 }, async ({ sandbox }) => {
      const lists = { l: 'function(){ getRow() }' }
      const design = designDocument({ lists })
      const run = await sandbox.list(design, 'l', json({}), json({}))
      await assert.rejects(sandbox.mapBatch(viewGroup([SLOW]), [json({})]), thrown =>
        isFailure(thrown, 'sandbox_timeout'),
      )
      run.close()
    })
  })

  it('a list whose caller is gone is ended', async () => {
    await withFixture({ processesMax: 1, listIdleMsMax: 100 }, async ({ sandbox }) => {
      const design = designDocument({ lists: { l: 'function(){ getRow() }' } })
      const run = await sandbox.list(design, 'l', json({}), json({}))
      const batch = await sandbox.mapBatch(viewGroup(['d => { emit(1) }']), [json({})])
      assert.equal(batch.rowCount, 1)
      await assert.rejects(run.feed(json([]), true), thrown => isFailure(thrown, 'sandbox_timeout'))
    })
  })

  it('a process keeps several design documents and forgets the oldest', async () => {
    await withFixture({ environmentsMax: 2 }, async ({ sandbox }) => {
      const counter = 'd => { globalThis.n = (globalThis.n || 0) + 1; emit(n) }'
      const groups = [viewGroup([counter]), viewGroup([counter]), viewGroup([counter])]
      const count = async (index: number): Promise<unknown> =>
        rowsOf(await sandbox.mapBatch(groups[index] as ViewGroup, [json({})]))[0]?.[2]
      assert.deepEqual([await count(0), await count(1), await count(0)], [1, 1, 2])
      assert.deepEqual([await count(2), await count(0), await count(1)], [1, 3, 1])
    })
  })

  it('a process that has rested makes room for a database with more work', async () => {
    const twoOfB = async ({ sandbox: { pool } }: Fixture): Promise<void> => {
      pool.release(await pool.acquire('a', 'views'))
      while (pool.processCount < 2) await pause(10) // until the spare one is there
      const first = await pool.acquire('b', 'views')
      try {
        pool.release(await pool.acquire('b', 'views'))
      } finally {
        pool.release(first)
      }
    }
    await withFixture({ processesMax: 2, restMsMax: 0 }, twoOfB)
    const busy = { processesMax: 2, restMsMax: 60_000, waitMsMax: 500 }
    await withFixture(busy, async fixture => {
      await assert.rejects(twoOfB(fixture), thrown => isFailure(thrown, 'sandbox_timeout'))
    })
  })

  it('idle processes are ended, and closing ends them all', async () => {
    await withFixture({ idleMsMax: 50 }, async ({ sandbox }) => {
      const group = viewGroup(['d => { emit(1) }'])
      await sandbox.mapBatch(group, [json({})])
      const child = await sandbox.pool.acquire('db', group.key)
      sandbox.pool.release(child)
      // Idle processes keep no server from ending, and so not this one either.
      const alive = setInterval(() => {}, 1000)
      await child.exited
      clearInterval(alive)
      assert.equal((await sandbox.mapBatch(group, [json({})])).rowCount, 1)
      await sandbox.close()
      assert.equal(sandbox.pool.processCount, 0)
      await assert.rejects(sandbox.mapBatch(group, []), thrown =>
        isFailure(thrown, 'sandbox_unavailable'),
      )
    })
  })
})
