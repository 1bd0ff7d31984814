/** Validation functions on every way of writing, in the real sandbox. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startServer, type TestServer } from '../../../support/start-server.ts'

let server: TestServer

before(async () => {
  server = await startServer({ settings: { couchdb: { os_process_timeout: '1500' } } })
})
after(() => server.close())

let databases = 0

/** A database whose functions are these sources, one design document each. */
async function database(...sources: string[]): Promise<string> {
  const db = `/db${++databases}`
  await server.ask('PUT', db)
  for (const [index, validate_doc_update] of sources.entries()) {
    const put = await server.ask('PUT', `${db}/_design/v${index}`, {
      body: { validate_doc_update },
    })
    assert.equal(put.status, 201)
  }
  return db
}

const put = (db: string, id: string, body: object, user?: string | null) =>
  server.ask('PUT', `${db}/${id}`, { body, ...(user === undefined ? {} : { user }) })

const revOf = (answer: { json: unknown }): string => (answer.json as { rev: string }).rev

/** Refuses documents with `dump` and says what it saw. */
const DUMP = `function (newDoc, oldDoc, userCtx, secObj) {
  if (newDoc.dump) throw({forbidden: [newDoc, oldDoc, userCtx, secObj]}) }`

const reasonOf = (answer: { json: unknown }): unknown[] =>
  (answer.json as { reason: unknown[] }).reason

test('functions see the submitted revision, stubs and the document that is replaced', async () => {
  const db = await database(DUMP)
  const rev = revOf(await put(db, 'e1', { a: 1 }))
  const history = { start: 1, ids: [rev.slice(2)] }
  const inline = { a: { content_type: 'application/octet-stream', data: 'YWJj' } }
  const refused = await put(db, 'e1', { _rev: rev, dump: 1, _attachments: inline })
  assert.equal(refused.status, 403)
  const stub = { content_type: 'application/octet-stream', revpos: 0, length: 3, stub: true }
  assert.deepEqual(reasonOf(refused), [
    { _id: 'e1', _rev: rev, dump: 1, _revisions: history, _attachments: { a: stub } },
    { _id: 'e1', _rev: rev, a: 1, _revisions: history },
    { db: db.slice(1), name: 'admin', roles: ['_admin'] },
    // Never set: functions see what CouchDB shows them then.
    { members: { roles: ['_admin'] }, admins: { roles: ['_admin'] } },
  ])
  const second = revOf(await put(db, 'e1', { _rev: rev, _attachments: inline }))
  const kept = { _rev: second, dump: 1, _attachments: { a: { stub: true } } }
  const [seen] = reasonOf(await put(db, 'e1', kept)) as [{ _attachments: { a: object } }]
  assert.deepEqual(Object.keys(seen._attachments.a), [
    'content_type',
    'revpos',
    'digest',
    'length',
    'stub',
  ])
})

test('deletions are seen; a document written anew after one replaces nothing', async () => {
  const db = await database(DUMP)
  const first = revOf(await put(db, 'a', { n: 1 }))
  const [gone, old] = reasonOf(await put(db, 'a', { _rev: first, _deleted: true, dump: 1 }))
  assert.equal((gone as { _deleted: boolean })._deleted, true)
  assert.equal((old as { _rev: string })._rev, first)
  assert.equal((await server.ask('DELETE', `${db}/a?rev=${first}`)).status, 200)
  const [anew, none] = reasonOf(await put(db, 'a', { dump: 1 }))
  assert.deepEqual(anew, { _id: 'a', dump: 1 })
  assert.equal(none, null)
})

test('every function must pass, whatever the way of writing', async () => {
  const refuse = (field: string) =>
    `function (d) { if (d.${field}) throw({forbidden: '${field}'}) }`
  const db = await database(refuse('a'), refuse('b'))
  assert.equal((await put(db, 'x', { a: 1 })).status, 403)
  assert.equal((await put(db, 'x', { b: 1 })).status, 403)
  assert.equal((await server.ask('POST', db, { body: { b: 1 } })).status, 403)
  assert.equal((await put(db, '_local/x', { a: 1 })).status, 201)
  assert.equal((await put(db, '_design/x', { a: 1 })).status, 201)
  const copied = await server.ask('COPY', `${db}/_design/x`, { headers: { Destination: 'y' } })
  assert.equal(copied.status, 403)
  assert.equal((await put(db, 'x', { c: 1 })).status, 201)
  assert.equal((await put(db, 'x', { a: 1 })).status, 409, 'a conflict comes first')
})

test('bulk writes are refused one by one; replicated ones too', async () => {
  const db = await database('function (d) { if (d.n % 7 === 3) throw({unauthorized: d._id}) }')
  const docs = Array.from({ length: 250 }, (_, n) => ({ _id: `d${n}`, n }))
  const bulk = await server.ask('POST', `${db}/_bulk_docs`, { body: { docs } })
  const results = bulk.json as { id: string; ok?: true; error?: string; reason?: string }[]
  assert.deepEqual(
    results.map(result => result.id),
    docs.map(doc => doc._id),
  )
  for (const [n, result] of results.entries()) {
    if (n % 7 === 3) assert.deepEqual([result.error, result.reason], ['unauthorized', `d${n}`])
    else assert.equal(result.ok, true)
  }
  assert.equal(bulk.status, 417)
  const replicated = await server.ask('POST', `${db}/_bulk_docs`, {
    body: {
      new_edits: false,
      docs: [
        { _id: 'r1', _rev: '1-a', n: 3 },
        { _id: 'r2', _rev: '1-a', n: 4 },
      ],
    },
  })
  assert.deepEqual(
    [replicated.status, (replicated.json as { id: string }[]).map(({ id }) => id)],
    [201, ['r1']],
  )
  assert.equal((await server.ask('GET', `${db}/r2`)).status, 200)
  assert.equal((await server.ask('GET', `${db}/r1`)).status, 404)
})

test('replicated writes show the nearest ancestor that is stored', async () => {
  const db = await database(DUMP)
  const write = (docs: object[]) =>
    server.ask('POST', `${db}/_bulk_docs`, { body: { new_edits: false, docs } })
  await write([{ _id: 'a', _rev: '1-x', v: 1 }])
  const _revisions = { start: 3, ids: ['z', 'y', 'x'] }
  const answer = await write([{ _id: 'a', _revisions, dump: 1 }])
  const [{ reason }] = answer.json as [{ reason: unknown[] }]
  assert.deepEqual(reason.slice(0, 2), [
    { _id: 'a', _rev: '3-z', dump: 1, _revisions },
    { _id: 'a', _rev: '1-x', v: 1, _revisions: { start: 1, ids: ['x'] } },
  ])
})

test('a function that fails or never ends fails its writes and nothing else', async () => {
  const db = await database(
    `function (d) { if (d.loop) for (;;) {} if (d.text) throw 'text'; if (d.err) d.none.x()
      if (d.one) throw({other: 1}) }`,
  )
  const told = async (body: object): Promise<unknown[]> => {
    const answer = await put(db, 'x', body)
    const { error, reason } = answer.json as { error: string; reason: unknown }
    return [answer.status, error, reason]
  }
  assert.deepEqual(await told({ text: 1 }), [500, 'unknown_error', 'text'])
  assert.deepEqual(await told({ one: 1 }), [500, 'unknown_error', 1])
  assert.deepEqual((await told({ err: 1 })).slice(0, 2), [500, 'TypeError'])
  const [endless, fine] = await Promise.all([told({ loop: 1 }), put(db, 'y', {})])
  assert.equal(endless[0], 500)
  assert.equal(fine.status, 201)
  assert.equal((await put(db, 'z', {})).status, 201)
})

test('a function in another language locks the database until it goes', async () => {
  const db = await database()
  const body = { language: 'klingon', validate_doc_update: 'qapla' }
  const design = await put(db, '_design/v', body)
  assert.equal(design.status, 201)
  const locked = await put(db, 'a', {})
  assert.equal(locked.status, 500)
  assert.deepEqual(locked.json, { error: 'unknown_query_language', reason: 'klingon' })
  await server.ask('DELETE', `${db}/_design/v?rev=${revOf(design)}`)
  assert.equal((await put(db, 'a', {})).status, 201)
})

test('views must compile, and only admins write them', async () => {
  const db = await database()
  const refused = await put(db, '_design/d', { views: { a: { map: 'function (' } } })
  assert.equal(refused.status, 400)
  const { error, reason } = refused.json as { error: string; reason: string }
  assert.equal(error, 'compilation_error')
  assert.match(reason, /^Compilation of the map function in the 'a' view failed: /)
  const reduce = { a: { map: 'function (d) {}', reduce: '5' } }
  assert.equal((await put(db, '_design/d', { views: reduce })).status, 400)
  const builtin = { a: { map: 'function (d) {}', reduce: '_sum' } }
  assert.equal((await put(db, '_design/d', { views: builtin })).status, 201)
  const other = { language: 'klingon', views: { a: { map: 'qapla' } } }
  assert.equal((await put(db, '_design/e', other)).status, 201)
  assert.equal((await put(db, '_design/f', {}, null)).status, 401)
})
