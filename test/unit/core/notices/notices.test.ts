/** What goes to other processes: the first update at the end of its turn, those that follow closely together. */
import assert from 'node:assert/strict'
import { it, mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { GATHER_MS, type Notice, Notices } from '../../../../src/core/notices/notices.ts'

const updated = (id: string, seq: number): Notice => ({
  kind: 'database_updated',
  name: id,
  id,
  seq,
})

it('sends the first update at once and gathers those that follow closely', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    const sent: Notice[] = []
    const notices = new Notices(notice => sent.push(notice))
    notices.publish(updated('a', 1))
    notices.publish(updated('a', 2))
    assert.deepEqual(sent, [])
    await turn()
    assert.deepEqual(sent, [updated('a', 2)])
    for (const seq of [3, 4, 5]) {
      notices.publish(updated('a', seq))
      await turn()
    }
    notices.publish(updated('b', 1))
    assert.equal(sent.length, 1)
    mock.timers.tick(GATHER_MS - 1)
    assert.equal(sent.length, 1)
    mock.timers.tick(1)
    assert.deepEqual(sent.slice(1), [updated('a', 5), updated('b', 1)])
    mock.timers.tick(GATHER_MS)
    notices.publish(updated('a', 6))
    await turn()
    assert.deepEqual(sent.at(-1), updated('a', 6))
  } finally {
    mock.timers.reset()
  }
})

it('tells here at once, and sends what was made or deleted without waiting', () => {
  const sent: Notice[] = []
  const heard: Notice[] = []
  const notices = new Notices(notice => sent.push(notice))
  notices.subscribeTo('a', notice => heard.push(notice))
  notices.publish(updated('a', 1))
  assert.deepEqual(heard, [updated('a', 1)])
  const deleted: Notice = { kind: 'database_deleted', name: 'a', id: 'a' }
  notices.publish(deleted)
  assert.deepEqual(sent, [deleted])
})
