/** Feeds of what is newer than now: whoever does not wait gets nothing, whoever waits gets what comes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HEAD } from '../../../../src/core/database/keyspace.ts'
import { UpdateLog } from '../../../../src/core/database/update-log.ts'
import { Notices } from '../../../../src/core/notices/notices.ts'
import { openUpdates } from '../../../../src/core/operations/database-updates.ts'
import type { FeedTiming } from '../../../../src/core/operations/follow-feed.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'
import { LateEngine } from '../../../support/late-engine.ts'
import { startServer } from '../../../support/start-server.ts'

const { signal } = new AbortController()

async function updatesAfterOpening(feed: FeedTiming['feed']) {
  const engine = new MemoryEngine()
  await UpdateLog.prepare(engine)
  const log = new UpdateLog(engine, new Notices())
  await log.record('created', ['before'])
  const query = { feed, descending: false, waitMs: 1000, beats: false }
  const { events } = await openUpdates(log, { ...query, since: 'now', limit: 10 })
  await log.record('created', ['after'])
  const told = []
  for await (const event of events(signal)) told.push(event)
  return told
}

test('updates that come while a feed from now on is opened are not in it', async () => {
  assert.deepEqual(await updatesAfterOpening('normal'), [{ kind: 'end', lastSeq: 1, pending: 0 }])
})

test('they are in one that waits', async () => {
  const rows = [{ seq: 2, kind: 'created', name: 'after' }]
  assert.deepEqual(await updatesAfterOpening('longpoll'), [
    { kind: 'rows', rows },
    { kind: 'end', lastSeq: 2, pending: 0 },
  ])
})

test('the same holds for changes of a database', async () => {
  const engine = new LateEngine()
  const server = await startServer({ engine, dialect: 'couchdb' })
  await server.ask('PUT', '/db')
  await server.ask('PUT', '/db/a', { body: {} })
  // The head says what is now; a document is written before anything else is read.
  engine.afterGet = async (_, key) => {
    if (!HEAD.equals(key)) return
    engine.afterGet = () => {}
    await server.ask('PUT', '/db/b', { body: {} })
  }
  const answer = await server.ask('GET', '/db/_changes?since=now')
  const { results, pending } = answer.json as { results: unknown[]; pending: number }
  assert.deepEqual([results, pending], [[], 0])
  assert.equal((await server.ask('GET', '/db/b')).status, 200)
  await server.close()
})
