import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../../../src/base/errors.ts'
import { ChangeFollowers } from '../../../../src/core/database/change-followers.ts'
import { Notices } from '../../../../src/core/notices/notices.ts'

const updated = (seq: number) =>
  ({ kind: 'database_updated', name: 'db', id: 'db-1', seq }) as const

function followersOf(newestSeq: () => Promise<number> = async () => 0, checkMs = 60_000) {
  const notices = new Notices()
  const store = { storeId: 'db-1', notices, newestSeq, checkMs }
  return { notices, followers: new ChangeFollowers(store) }
}

test('one subscription serves all, and goes with the last', () => {
  const { notices, followers } = followersOf()
  assert.equal(notices.followedStoreCount, 0)
  const all = Array.from({ length: 100 }, () => followers.join())
  assert.equal(notices.followedStoreCount, 1)
  assert.equal(followers.count, 100)
  for (const follower of all) follower.leave()
  assert.equal(followers.count, 0)
  assert.equal(notices.followedStoreCount, 0)
})

test('a change between reading and waiting is not missed', async () => {
  const { notices, followers } = followersOf()
  const follower = followers.join()
  const seen = follower.version
  notices.publish(updated(1))
  assert.equal(await follower.wait(seen, 10_000), 'changed')
  follower.leave()
})

test('waiting ends by a change, by time, by a stop and by the end of the database', async () => {
  const { notices, followers } = followersOf()
  const waiter = followers.join()
  const waits = waiter.wait(waiter.version, 10_000)
  notices.receive(updated(1))
  assert.equal(await waits, 'changed')
  assert.equal(await waiter.wait(waiter.version, 1), 'timeout')
  const stopped = followers.join()
  const stops = stopped.wait(stopped.version, 10_000)
  stopped.stop()
  assert.equal(await stops, 'stopped')
  const ends = waiter.wait(waiter.version, 10_000)
  notices.publish({ kind: 'database_deleted', name: 'db', id: 'db-1' })
  assert.equal(await ends, 'ended')
  assert.equal(await waiter.wait(waiter.version, 10_000), 'ended')
  waiter.leave()
  stopped.leave()
})

test('notices of other stores wake nobody', async () => {
  const { notices, followers } = followersOf()
  const follower = followers.join()
  const seen = follower.version
  notices.publish({ ...updated(1), id: 'db-2' })
  assert.equal(await follower.wait(seen, 5), 'timeout')
  follower.leave()
})

test('a lost notice is made good by looking at the store', async () => {
  let seq = 0
  const { followers } = followersOf(async () => seq, 5)
  const follower = followers.join()
  const waits = follower.wait(follower.version, 60_000)
  seq = 7
  assert.equal(await waits, 'changed')
  follower.leave()
})

test('a lost notice of deletion is made good too', async () => {
  const missing = () => Promise.reject(new Failure('database_missing'))
  const { followers } = followersOf(missing, 5)
  const follower = followers.join()
  assert.equal(await follower.wait(follower.version, 60_000), 'ended')
  follower.leave()
})

test('those woken together share a read, later ones do not', async () => {
  const { notices, followers } = followersOf()
  let reads = 0
  const read = async () => ++reads
  const [first, second] = await Promise.all([
    followers.share('x', read),
    followers.share('x', read),
  ])
  assert.deepEqual([first, second], [1, 1])
  const follower = followers.join()
  notices.publish(updated(1))
  assert.equal(await followers.share('x', read), 2)
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(await followers.share('x', read), 3)
  follower.leave()
})
