/** Purging and compaction over the real store: what goes, what stays, and that the counters still agree. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { compactStore } from '../../../../src/core/database/compact.ts'
import { CompactionTurn } from '../../../../src/core/database/compaction-turn.ts'
import {
  BODIES,
  CHANGES,
  COMPACTION,
  CONTENTS,
  PURGES,
} from '../../../../src/core/database/keyspace.ts'
import type { Range, Store } from '../../../../src/engine/engine.ts'
import { type Answer, startServer, type TestServer } from '../../../support/start-server.ts'

let server: TestServer
let store: Store

beforeEach(async () => {
  server = await startServer({ dialect: 'couchdb' })
  await server.ask('PUT', '/db')
  const id = (await server.engine.listStores()).find(each => each.startsWith('db-'))
  store = server.engine.store(id as string)
})
afterEach(() => server.close())

const json = <T>({ json: value }: Answer): T => value as T

async function rowsOf(range: Range): Promise<number> {
  let count = 0
  for await (const rows of store.scan(range)) count += rows.length
  return count
}

async function put(id: string, body: object): Promise<string> {
  const answer = await server.ask('PUT', `/db/${id}`, { body })
  assert.equal(answer.status, 201, answer.text)
  return json<{ rev: string }>(answer).rev
}

const purge = async (body: Record<string, string[]>) => {
  const answer = await server.ask('POST', '/db/_purge', { body })
  assert.equal(answer.status, 201, answer.text)
  return json<{ purged: Record<string, string[]> }>(answer).purged
}

interface Info {
  readonly doc_count: number
  readonly doc_del_count: number
  readonly update_seq: string
  readonly purge_seq: string
  readonly sizes: { readonly external: number }
}
const info = async (): Promise<Info> => json<Info>(await server.ask('GET', '/db'))
const { signal } = new AbortController()

/** As a process does that is not heard of any more. */
const leaveLease = (record: object): Promise<void> =>
  store.write(function* (tx) {
    tx.put(COMPACTION, Buffer.from(JSON.stringify(record)))
  })

const numberOf = (seq: string): number => Number.parseInt(seq, 10)

/** An attachment whose type is not compressed. */
const attached = (text: string) => ({
  a: { content_type: 'application/octet-stream', data: Buffer.from(text).toString('base64') },
})

describe('purging', () => {
  it('removes a document with its bodies, contents and change', async () => {
    const first = await put('a', { _attachments: attached('one') })
    const second = await put('a', { _rev: first, _attachments: attached('two') })
    assert.equal(await rowsOf(CONTENTS), 2)
    const before = await info()
    assert.deepEqual(await purge({ a: [second] }), { a: [second] })
    const after = await info()
    assert.equal(numberOf(after.update_seq), numberOf(before.update_seq) + 1)
    assert.equal(numberOf(after.purge_seq), 1)
    assert.deepEqual([after.doc_count, after.doc_del_count, after.sizes.external], [0, 0, 0])
    assert.deepEqual(
      [await rowsOf(CONTENTS), await rowsOf(BODIES), await rowsOf(CHANGES)],
      [0, 0, 0],
    )
    assert.equal((await server.ask('GET', `/db/a?rev=${first}`)).status, 404)
  })

  it('lets the next leaf win when the winner goes, with its body and attachments', async () => {
    const [low, high] = [`1-${'a'.repeat(32)}`, `1-${'b'.repeat(32)}`]
    for (const [_rev, v] of [
      [low, 'low'],
      [high, 'high'],
    ] as const) {
      const docs = [{ _id: 'a', _rev, v, _attachments: attached(v) }]
      await server.ask('POST', '/db/_bulk_docs', { body: { new_edits: false, docs } })
    }
    assert.deepEqual(await purge({ a: [high] }), { a: [high] })
    const document = json<{ v: string }>(await server.ask('GET', '/db/a?conflicts=true'))
    assert.equal(document.v, 'low')
    assert.ok(!('_conflicts' in document))
    assert.equal((await server.ask('GET', '/db/a/a')).text, 'low')
    assert.deepEqual([await rowsOf(CONTENTS), await rowsOf(BODIES)], [1, 0])
    assert.deepEqual([(await info()).doc_count, (await info()).doc_del_count], [1, 0])
  })

  it('makes a document deleted when its live leaf goes and a tombstone stays', async () => {
    const [live, dead] = [`1-${'a'.repeat(32)}`, `1-${'b'.repeat(32)}`]
    const docs = [
      { _id: 'a', _rev: live },
      { _id: 'a', _rev: dead, _deleted: true },
    ]
    await server.ask('POST', '/db/_bulk_docs', { body: { new_edits: false, docs } })
    await purge({ a: [live] })
    assert.deepEqual([(await info()).doc_count, (await info()).doc_del_count], [0, 1])
    assert.deepEqual(json<{ rows: [] }>(await server.ask('GET', '/db/_all_docs')).rows, [])
  })

  it('takes nothing that is no leaf, and remembers that it was asked', async () => {
    const first = await put('a', {})
    await put('a', { _rev: first })
    assert.deepEqual(await purge({ a: [first], nope: [first] }), { a: [], nope: [] })
    const infos = json<{ purged_infos: unknown }>(await server.ask('GET', '/db/_purged_infos'))
    assert.deepEqual(infos.purged_infos, [
      { id: 'a', revs: [first] },
      { id: 'nope', revs: [first] },
    ])
  })

  it('keeps no more records than the limit', async () => {
    await server.ask('PUT', '/db/_purged_infos_limit', { body: '3' })
    for (let number = 0; number < 5; number++) await purge({ [`d${number}`]: [] })
    const infos = json<{ purged_infos: { id: string }[] }>(
      await server.ask('GET', '/db/_purged_infos'),
    )
    assert.deepEqual(
      infos.purged_infos.map(({ id }) => id),
      ['d2', 'd3', 'd4'],
    )
    assert.equal(await rowsOf(PURGES), 3)
    assert.equal(numberOf((await info()).purge_seq), 5)
  })

  it('refuses more documents than configured', async () => {
    const body = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`d${at}`, []]))
    const answer = await server.ask('POST', '/db/_purge', { body })
    assert.equal(answer.status, 400)
    assert.match(answer.text, /Exceeded maximum number of documents/)
  })
})

const compact = (signal = new AbortController().signal): Promise<void> =>
  compactStore(store, { clock: Date.now, signal, progress: () => {} })

describe('compaction', () => {
  it('drops superseded bodies and their contents, and keeps those of all leaves', async () => {
    const first = await put('a', { v: 1, _attachments: attached('old') })
    const second = await put('a', { _rev: first, v: 2, _attachments: attached('new') })
    const other = `1-${'f'.repeat(32)}`
    const docs = [{ _id: 'a', _rev: other, v: 'other' }]
    await server.ask('POST', '/db/_bulk_docs', { body: { new_edits: false, docs } })
    await compact()
    assert.equal((await server.ask('GET', `/db/a?rev=${first}`)).status, 404)
    assert.equal((await server.ask('GET', `/db/a?rev=${other}`)).status, 200)
    assert.equal((await server.ask('GET', '/db/a/a')).text, 'new')
    assert.deepEqual([await rowsOf(BODIES), await rowsOf(CONTENTS)], [1, 1])
    const { _revs_info: statuses } = json<{ _revs_info: { status: string }[] }>(
      await server.ask('GET', '/db/a?revs_info=true'),
    )
    assert.deepEqual(
      statuses.map(({ status }) => status),
      ['available', 'missing'],
    )
    // the document goes on as before
    await put('a', { _rev: second, v: 3 })
  })

  it('drops the bodies of revisions that were forgotten', async () => {
    await server.ask('PUT', '/db/_revs_limit', { body: '1' })
    let rev = await put('a', {})
    for (let number = 0; number < 4; number++) rev = await put('a', { _rev: rev, number })
    await compact()
    assert.equal(await rowsOf(BODIES), 0)
    assert.equal(json<{ number: number }>(await server.ask('GET', '/db/a')).number, 3)
  })

  it('ends when it is told to', async () => {
    await put('a', {})
    const controller = new AbortController()
    controller.abort()
    await assert.rejects(compact(controller.signal), { code: 'engine_closed' })
  })

  it('is done by one at a time, and shows while it runs', async () => {
    const [one, other] = [new CompactionTurn(store, 200), new CompactionTurn(store, 200)]
    const ran = await one.take(signal, async () => {
      assert.equal(await one.isRunning(), true)
      assert.equal(await other.isRunning(), true)
      assert.equal(await one.take(signal, async () => assert.fail()), false, 'in one process')
      assert.equal(await other.take(signal, async () => assert.fail()), false, 'in two')
      await delay(300)
      assert.equal(await other.isRunning(), true, 'for longer than a lease')
    })
    assert.equal(ran, true)
    assert.equal(await other.isRunning(), false)
  })

  it('is not blocked by an owner that died, and does not show for ever', async () => {
    await leaveLease({ owner: 'dead', renewal: 3, durationMs: 100 })
    const turn = new CompactionTurn(store)
    assert.equal(await turn.isRunning(), true, 'it may live')
    await delay(120)
    assert.equal(await turn.isRunning(), false)
    let isDone = false
    const ran = await turn.take(signal, async () => {
      isDone = true
    })
    assert.ok(ran && isDone)
    assert.equal(await store.get(COMPACTION), undefined)
  })

  it('ends when somebody else took it over', async () => {
    const turn = new CompactionTurn(store, 100)
    await turn.take(signal, async lost => {
      await leaveLease({ owner: 'another', renewal: 0, durationMs: 100 })
      while (!lost.aborted) await delay(10)
    })
    assert.notEqual(await store.get(COMPACTION), undefined, 'what is another one’s stays')
  })

  it('answers at once and is done in the background', async () => {
    const first = await put('a', { v: 1 })
    await put('a', { _rev: first, v: 2 })
    assert.equal((await server.ask('POST', '/db/_compact', { body: {} })).status, 202)
    for (let turn = 0; turn < 200 && (await rowsOf(BODIES)) > 0; turn++) {
      await new Promise(resolve => setTimeout(resolve, 5))
    }
    assert.equal(await rowsOf(BODIES), 0)
    assert.equal((await server.ask('POST', '/db/_compact/nope', { body: {} })).status, 404)
  })
})
