import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UpdateLog } from '../../../../src/core/database/update-log.ts'
import { UpdateRecorder } from '../../../../src/core/database/update-recorder.ts'
import { Notices } from '../../../../src/core/notices/notices.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'

async function openLog() {
  const engine = new MemoryEngine()
  const notices = new Notices()
  await UpdateLog.prepare(engine)
  return { engine, notices, log: new UpdateLog(engine, notices) }
}

async function told(log: UpdateLog, from = 0) {
  const { updates } = await log.read(from, 1000, false)
  return updates.map(({ seq, kind, name }) => `${seq} ${kind} ${name}`)
}

test('one latest entry per database and kind', async () => {
  const { log } = await openLog()
  await log.record('created', ['a'])
  await log.record('updated', ['a', 'b'])
  await log.record('updated', ['a'])
  await log.record('deleted', ['a'])
  assert.deepEqual(await told(log), ['1 created a', '3 updated b', '4 updated a', '5 deleted a'])
  await log.record('created', ['a'])
  assert.deepEqual(await told(log, 4), ['5 deleted a', '6 created a'])
  const newestFirst = await log.read(100, 2, true)
  assert.deepEqual(
    newestFirst.updates.map(update => update.seq),
    [6, 5],
  )
})

test('sequences go on after a restart and belong to the same life', async () => {
  const { engine, log } = await openLog()
  await log.record('created', ['a'])
  const { life } = await log.head()
  await UpdateLog.prepare(engine)
  const again = new UpdateLog(engine, new Notices())
  assert.deepEqual(await again.head(), { seq: 1, life })
  await again.record('created', ['b'])
  assert.deepEqual(await told(again, 1), ['2 created b'])
})

test('what nobody lived to record is recorded at the next start, and nothing twice', async () => {
  const { log } = await openLog()
  await log.record('created', ['gone', 'kept', 'back'])
  await log.record('deleted', ['back'])
  const names = async () => ['back', 'kept', 'new']
  await log.reconcile(names)
  assert.deepEqual(await told(log, 4), ['5 created back', '6 created new', '7 deleted gone'])
  await log.reconcile(names)
  assert.equal((await log.head()).seq, 7)
})

test('a thousand writes become one entry, written at the latest when the server stops', async () => {
  const { log, notices } = await openLog()
  const onFailure = (thrown: unknown) => assert.fail(String(thrown))
  const recorder = new UpdateRecorder({ log, notices, onFailure, intervalMs: 60_000 })
  for (let seq = 1; seq <= 1000; seq++) {
    notices.publish({ kind: 'database_updated', name: 'a', id: 'db-a', seq })
  }
  // Another process did this and records it.
  notices.receive({ kind: 'database_updated', name: 'b', id: 'db-b', seq: 1 })
  await recorder.close()
  assert.deepEqual(await told(log), ['1 updated a'])
})

test('nothing is told of a database after it is gone', async () => {
  const { log, notices } = await openLog()
  const recorder = new UpdateRecorder({ log, notices, onFailure: () => {}, intervalMs: 60_000 })
  notices.publish({ kind: 'database_updated', name: 'a', id: 'db-a', seq: 1 })
  notices.receive({ kind: 'database_deleted', name: 'a', id: 'db-a' })
  await recorder.close()
  assert.deepEqual(await told(log), [])
})

test('an entry that could not be written is written with the next', async () => {
  const { log, notices } = await openLog()
  let failures = 0
  const failing = Object.create(log, {
    record: {
      value: () =>
        failures++ === 0 ? Promise.reject(new Error('full')) : log.record('updated', ['a']),
    },
  }) as UpdateLog
  const recorder = new UpdateRecorder({
    log: failing,
    notices,
    onFailure: () => {},
    intervalMs: 60_000,
  })
  notices.publish({ kind: 'database_updated', name: 'a', id: 'db-a', seq: 1 })
  await recorder.settle()
  assert.deepEqual(await told(log), [])
  await recorder.close()
  assert.deepEqual(await told(log), ['1 updated a'])
})
