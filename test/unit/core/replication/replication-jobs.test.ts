import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Failure } from '../../../../src/base/errors.ts'
import { ReplicationJobs } from '../../../../src/core/replication/replication-jobs.ts'
import { parseReplication } from '../../../../src/core/replication/replication-request.ts'

const request = parseReplication('{"source":"http://h/s","target":"http://h/t"}')
const user = { name: null, roles: [] }
const identity = (id: string, isOfDocument: boolean) => ({
  id,
  base: id,
  earlier: [],
  request,
  user,
  document: isOfDocument ? { database: '_replicator', id } : undefined,
})

const newJobs = (jitterMs: number) =>
  new ReplicationJobs({
    surroundings: {
      nodeName: 'n',
      clock: () => 1000,
      newSessionId: () => 's',
      open: () => {
        throw new Failure('replication_failed', { reason: 'not in this test' })
      },
      startTask: () => assert.fail('nothing begins'),
      presentSequence: seq => seq,
      warn: () => {},
    },
    limits: () => ({ jobsMax: 100, churnMax: 10 }),
    turnMs: () => 60_000,
    jitterMs: () => jitterMs,
    random: () => 0.999,
  })

describe('the start of a replication', () => {
  it('is spread when documents ask for many, and at once when somebody waits for it', async () => {
    const jobs = newJobs(25)
    const waits = [0, 1, 2, 3].map(
      index => jobs.add(identity(`d${index}`, true), () => 'keep').notBeforeMs - 1000,
    )
    assert.deepEqual(waits, [0, 9, 19, 24])
    assert.equal(jobs.add(identity('request', false), () => 'keep').notBeforeMs, 0)
    await jobs.close()
  })

  it('is not spread when the setting is 0', async () => {
    const jobs = newJobs(0)
    for (const id of ['a', 'b', 'c']) jobs.add(identity(id, true), () => 'keep')
    assert.ok(jobs.list().every(job => job.running))
    await jobs.close()
  })

  it('that fails at once counts as a run that is over', async () => {
    const jobs = newJobs(0)
    const job = await new Promise<{ running: boolean; notBeforeMs: number }>(resolve => {
      jobs.add(identity('a', true), (end, ended) => {
        assert.equal(end.kind, 'crashed')
        setImmediate(() => resolve(ended))
        return 'keep'
      })
    })
    assert.equal(job.running, false)
    assert.equal(job.notBeforeMs, 31_000)
    await jobs.close()
  })
})
