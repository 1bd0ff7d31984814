/** nano, the official CouchDB client for Node, unmodified from npm. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import { type OutsideServer, startOutside } from './test-server.ts'

interface Scope {
  insert(doc: object, params?: unknown): Promise<{ ok: boolean; id: string; rev: string }>
  get(id: string, params?: object): Promise<Record<string, unknown>>
  head(id: string): Promise<Record<string, string>>
  destroy(id: string, rev: string): Promise<{ ok: boolean }>
  bulk(body: object): Promise<{ ok?: boolean }[]>
  list(params?: object): Promise<{ rows: { id: string }[] }>
  fetch(keys: object): Promise<{ rows: unknown[] }>
  find(query: object): Promise<{ docs: { _id: string }[] }>
  createIndex(index: object): Promise<{ result: string }>
  view(
    design: string,
    view: string,
    params?: object,
  ): Promise<{ rows: { key: unknown; value: unknown }[] }>
  changes(params?: object): Promise<{ results: { id: string }[]; last_seq: string }>
  attachment: {
    insert(
      id: string,
      name: string,
      data: Buffer,
      type: string,
      params?: object,
    ): Promise<{ rev: string }>
    get(id: string, name: string): Promise<Buffer>
  }
  info(): Promise<{ doc_count: number }>
}

interface Nano {
  db: {
    create(name: string): Promise<{ ok: boolean }>
    list(): Promise<string[]>
    destroy(name: string): Promise<{ ok: boolean }>
    use(name: string): Scope
  }
  auth(name: string, password: string): Promise<{ ok: boolean }>
  session(): Promise<{ userCtx: { name: string | null } }>
  uuids(count: number): Promise<{ uuids: string[] }>
}

const nano = createRequire(import.meta.url)('nano') as (url: string) => Nano

describe('nano', () => {
  let outside: OutsideServer
  let couch: Nano
  before(async () => {
    // It reads JSON by its content type and keeps no session cookies: it was written for CouchDB itself.
    outside = await startOutside('couchdb')
    couch = nano(outside.server.url('admin:pass'))
  })
  after(() => outside.close())

  it('makes, lists and removes databases', async () => {
    assert.equal((await couch.db.create('things')).ok, true)
    assert.ok((await couch.db.list()).includes('things'))
    await assert.rejects(couch.db.create('things'), { statusCode: 412 })
    assert.equal((await couch.db.destroy('things')).ok, true)
    assert.equal((await couch.uuids(3)).uuids.length, 3)
  })

  it('logs in with a cookie', async () => {
    const plain = nano(outside.server.url())
    await plain.auth('admin', 'pass')
    assert.equal((await plain.session()).userCtx.name, 'admin')
  })

  it('writes, reads, queries and follows', async () => {
    await couch.db.create('stuff')
    const db = couch.db.use('stuff')
    const { rev } = await db.insert({ crazy: true, n: 1 }, 'rabbit')
    assert.equal((await db.get('rabbit'))._rev, rev)
    assert.equal((await db.head('rabbit')).etag, `"${rev}"`)
    await db.bulk({
      docs: Array.from({ length: 50 }, (_, n) => ({
        _id: `d${n}`,
        n,
        kind: n % 2 === 0 ? 'even' : 'odd',
      })),
    })
    assert.equal((await db.list({ startkey: 'd1', endkey: 'd2' })).rows.length, 12)
    assert.equal((await db.fetch({ keys: ['d1', 'd2'] })).rows.length, 2)
    await db.insert({ views: { by_n: { map: 'function (doc) { emit(doc.n) }' } } }, '_design/all')
    assert.equal((await db.view('all', 'by_n', { key: 7 })).rows.length, 1)
    await db.createIndex({ index: { fields: ['kind', 'n'] } })
    const found = await db.find({ selector: { kind: 'odd', n: { $lt: 10 } } })
    assert.deepEqual(
      found.docs.map(doc => doc._id),
      ['d1', 'd3', 'd5', 'd7', 'd9'],
    )
    const { rev: withPicture } = await db.attachment.insert(
      'rabbit',
      'r.txt',
      Buffer.from('hop'),
      'text/plain',
      { rev },
    )
    assert.equal((await db.attachment.get('rabbit', 'r.txt')).toString(), 'hop')
    await db.destroy('rabbit', withPicture)
    await assert.rejects(db.get('rabbit'), { statusCode: 404 })
    assert.equal((await db.changes()).results.length, 53)
  })
})
