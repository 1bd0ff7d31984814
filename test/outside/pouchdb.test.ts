/** PouchDB, unmodified, from npm: what thousands of phones run. */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import { type OutsideServer, startOutside } from './test-server.ts'

interface Row {
  id: string
  value: unknown
  doc?: Record<string, unknown>
}

interface Pouch {
  put(doc: object): Promise<{ rev: string }>
  get(id: string, options?: object): Promise<Record<string, unknown>>
  remove(id: string, rev: string): Promise<unknown>
  bulkDocs(docs: object[], options?: object): Promise<unknown[]>
  allDocs(options?: object): Promise<{ total_rows: number; rows: Row[] }>
  putAttachment(
    id: string,
    name: string,
    rev: string,
    data: Buffer,
    type: string,
  ): Promise<{ rev: string }>
  getAttachment(id: string, name: string): Promise<Buffer>
  query(view: string, options?: object): Promise<{ rows: Row[] }>
  changes(options: object): Promise<{ results: { id: string }[] }>
  info(): Promise<{ doc_count: number }>
  destroy(): Promise<unknown>
  close(): Promise<unknown>
}

interface Replication extends PromiseLike<{ docs_written: number; ok: boolean }> {
  on(event: string, listener: (info: unknown) => void): Replication
  cancel(): void
}

interface PouchStatic {
  new (name: string, options?: object): Pouch
  plugin(plugin: unknown): void
  replicate(from: Pouch, to: Pouch, options?: object): Replication
  sync(a: Pouch, b: Pouch, options?: object): Replication
}

const require = createRequire(import.meta.url)
const PouchDB = require('pouchdb') as PouchStatic
PouchDB.plugin(require('pouchdb-adapter-memory'))

describe('PouchDB', () => {
  let outside: OutsideServer
  let number = 0
  const remote = (): Pouch => new PouchDB(outside.url(`remote${++number}`))
  const local = (): Pouch => new PouchDB(`local${++number}`, { adapter: 'memory' })

  before(async () => {
    outside = await startOutside()
  })
  after(() => outside.close())

  it('talks to a database as to its own', async () => {
    const db = remote()
    const { rev } = await db.put({ _id: 'ann', village: 'Kisumu' })
    assert.deepEqual(await db.get('ann'), { _id: 'ann', _rev: rev, village: 'Kisumu' })
    await assert.rejects(db.put({ _id: 'ann' }), { status: 409 })
    await db.bulkDocs([{ _id: 'bob' }, { _id: 'cyd' }])
    const { rows } = await db.allDocs({ include_docs: true })
    assert.deepEqual(
      rows.map(row => row.id),
      ['ann', 'bob', 'cyd'],
    )
  })

  it('pushes and pulls documents, deletions and attachments', async () => {
    const phone = local()
    const server = remote()
    await phone.bulkDocs(Array.from({ length: 250 }, (_, n) => ({ _id: `doc${n}`, n })))
    const gone = await phone.get('doc7')
    await phone.remove('doc7', String(gone._rev))
    const { rev } = await phone.put({ _id: 'with-picture' })
    const picture = Buffer.from(Array.from({ length: 70_000 }, (_, n) => n % 251))
    await phone.putAttachment('with-picture', 'a picture.png', rev, picture, 'image/png')
    assert.equal((await PouchDB.replicate(phone, server)).ok, true)
    assert.equal((await server.info()).doc_count, 250)
    const other = local()
    assert.equal((await PouchDB.replicate(server, other)).ok, true)
    assert.equal((await other.info()).doc_count, 250)
    assert.deepEqual(
      Buffer.from(await other.getAttachment('with-picture', 'a picture.png')),
      picture,
    )
    await assert.rejects(other.get('doc7'), { status: 404 })
  })

  it('goes on where it stopped', async () => {
    const phone = local()
    const server = remote()
    await phone.bulkDocs(Array.from({ length: 20 }, (_, n) => ({ _id: `a${n}` })))
    assert.equal((await PouchDB.replicate(phone, server)).docs_written, 20)
    await phone.put({ _id: 'one more' })
    assert.equal((await PouchDB.replicate(phone, server)).docs_written, 1)
    assert.equal((await PouchDB.replicate(phone, server)).docs_written, 0)
  })

  it('carries conflicts over, and both sides choose the same winner', async () => {
    const [one, two, server] = [local(), local(), remote()]
    await one.put({ _id: 'shared', from: 'one' })
    await two.put({ _id: 'shared', from: 'two' })
    await PouchDB.replicate(one, server)
    await PouchDB.replicate(two, server)
    await PouchDB.replicate(server, one)
    await PouchDB.replicate(server, two)
    const seen = await Promise.all(
      [one, two, server].map(db => db.get('shared', { conflicts: true })),
    )
    assert.equal((seen[0] as { _conflicts: string[] })._conflicts.length, 1)
    assert.deepEqual(seen[0], seen[1])
    assert.deepEqual(seen[1], seen[2])
  })

  it('pulls what a filter lets through', async () => {
    const server = remote()
    await server.put({
      _id: '_design/app',
      filters: { mine: 'function (doc, req) { return doc.owner === req.query.who }' },
    })
    await server.bulkDocs(
      Array.from({ length: 30 }, (_, n) => ({ _id: `d${n}`, owner: n % 3 === 0 ? 'ann' : 'bob' })),
    )
    const byFunction = local()
    await PouchDB.replicate(server, byFunction, {
      filter: 'app/mine',
      query_params: { who: 'ann' },
    })
    assert.equal((await byFunction.info()).doc_count, 10)
    const byIds = local()
    await PouchDB.replicate(server, byIds, { doc_ids: ['d1', 'd2', 'none'] })
    assert.deepEqual(
      (await byIds.allDocs()).rows.map(row => row.id),
      ['d1', 'd2'],
    )
    const bySelector = local()
    await PouchDB.replicate(server, bySelector, { selector: { owner: 'bob' } })
    assert.equal((await bySelector.info()).doc_count, 20)
  })

  it('keeps two phones in step live, both ways', { timeout: 60_000 }, async () => {
    const [one, two, server] = [local(), local(), remote()]
    const syncs = [one, two].map(phone => PouchDB.sync(phone, server, { live: true, retry: true }))
    for (const sync of syncs) sync.on('error', () => {})
    for (let n = 0; n < 20; n++) await (n % 2 === 0 ? one : two).put({ _id: `live${n}`, n })
    const deadline = Date.now() + 30_000
    const count = async (db: Pouch): Promise<number> => (await db.info()).doc_count
    while (Date.now() < deadline && ((await count(one)) < 20 || (await count(two)) < 20)) {
      await new Promise(done => setTimeout(done, 50))
    }
    for (const sync of syncs) sync.cancel()
    assert.deepEqual([await count(one), await count(two), await count(server)], [20, 20, 20])
  })

  it('asks views', async () => {
    const server = remote()
    await server.put({
      _id: '_design/people',
      views: {
        by_age: {
          map: 'function (doc) { if (doc.age) emit(doc.age, doc.name) }',
          reduce: '_count',
        },
      },
    })
    await server.bulkDocs([
      { _id: '1', age: 30, name: 'Ann' },
      { _id: '2', age: 20, name: 'Bob' },
      { _id: '3' },
    ])
    const { rows } = await server.query('people/by_age', { reduce: false })
    assert.deepEqual(
      rows.map(row => row.value),
      ['Bob', 'Ann'],
    )
    assert.equal((await server.query('people/by_age')).rows[0]?.value, 2)
  })
})
