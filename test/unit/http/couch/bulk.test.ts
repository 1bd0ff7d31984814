/** Bulk writes and reads over HTTP: what refuses a whole request, what one document, and what the answers look like. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type Answer, startServer, type TestServer } from '../../../support/start-server.ts'

const json = <T>({ json: value }: Answer): T => value as T

interface Item {
  readonly ok?: boolean
  readonly id: string
  readonly rev?: string
  readonly error?: string
}

for (const dialect of ['spec', 'couchdb'] as const) {
  describe(`bulk requests (${dialect})`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ dialect })
      await server.ask('PUT', '/db')
      await server.ask('PUT', '/db/_security', { body: { members: { roles: [] } } })
    })
    after(() => server.close())

    const bulk = (body: object, user?: string | null) =>
      server.ask('POST', '/db/_bulk_docs', { body, ...(user === undefined ? {} : { user }) })

    it('gives ids to those that have none', async () => {
      const answer = await bulk({ docs: [{ a: 1 }, { _id: 'named' }, { b: 2 }] })
      assert.equal(answer.status, 201)
      const items = json<Item[]>(answer)
      assert.deepEqual(
        items.map(({ ok }) => ok),
        [true, true, true],
      )
      assert.match(items[0]?.id ?? '', /^[0-9a-f]{32}$/)
      assert.notEqual(items[0]?.id, items[2]?.id)
    })

    it('tells item by item what was refused', async () => {
      const docs = [{ _id: '_design/d', views: {} }, { _id: 'free' }]
      const answer = await bulk({ docs }, null)
      assert.equal(answer.status, 201)
      const [refused, written] = json<Item[]>(answer)
      assert.equal(refused?.error, 'unauthorized')
      assert.equal(written?.ok, true)
      const replicated = docs.map(doc => ({ ...doc, _rev: `1-${'a'.repeat(32)}` }))
      const second = await bulk({ docs: replicated, new_edits: false }, null)
      assert.equal(second.status, 201)
      assert.deepEqual(
        json<Item[]>(second).map(({ id, rev, error }) => ({ id, rev, error })),
        [{ id: '_design/d', rev: `1-${'a'.repeat(32)}`, error: 'unauthorized' }],
      )
    })

    it('writes nothing when a stub stands for nothing', async () => {
      const stub = { x: { stub: true } }
      const docs = [{ _id: 'beside' }, { _id: 'stubbed', _attachments: stub }]
      const answer = await bulk({ docs })
      assert.equal(answer.status, 412)
      assert.equal((await server.ask('GET', '/db/beside')).status, 404)
    })

    it('keeps what a stub stands for', async () => {
      const data = Buffer.from('bytes').toString('base64')
      const made = await bulk({ docs: [{ _id: 'kept', _attachments: { x: { data } } }] })
      const [{ rev } = { rev: '' }] = json<Item[]>(made)
      const docs = [{ _id: 'kept', _rev: rev, n: 2, _attachments: { x: { stub: true } } }]
      assert.equal((await bulk({ docs })).status, 201)
      assert.equal((await server.ask('GET', '/db/kept/x')).text, 'bytes')
    })

    it('reads many, each with its own result', async () => {
      const rev = json<{ rev: string }>(await server.ask('PUT', '/db/read', { body: { n: 1 } })).rev
      const docs = [
        { id: 'read' },
        { id: 'nope' },
        {},
        { id: 'read', rev: '9-x' },
        { id: 'read', rev },
      ]
      const answer = await server.ask('POST', '/db/_bulk_get?revs=true', { body: { docs } })
      assert.equal(answer.status, 200)
      const { results } = json<{ results: { id: string | null; docs: unknown[] }[] }>(answer)
      const ok = {
        ok: { _id: 'read', _rev: rev, n: 1, _revisions: { start: 1, ids: [rev.slice(2)] } },
      }
      const error = (id: string | null, named: string | null, word: string, reason: string) => ({
        error: { id, rev: named, error: word, reason },
      })
      assert.deepEqual(results, [
        { id: 'read', docs: [ok] },
        { id: 'nope', docs: [error('nope', 'undefined', 'not_found', 'missing')] },
        { id: null, docs: [error(null, null, 'bad_request', 'document must be a JSON object')] },
        { id: 'read', docs: [error('read', '9-x', 'not_found', 'missing')] },
        { id: 'read', docs: [ok] },
      ])
    })

    it('reads attachment data where it is asked for', async () => {
      const data = Buffer.from('some bytes').toString('base64')
      await server.ask('PUT', '/db/with', { body: { _attachments: { f: { data } } } })
      const docs = [{ id: 'with' }, { id: 'with' }]
      const answer = await server.ask('POST', '/db/_bulk_get?attachments=true', { body: { docs } })
      const { results } = json<{
        results: { docs: { ok: { _attachments: { f: { data: string } } } }[] }[]
      }>(answer)
      assert.deepEqual(
        results.map(result => result.docs[0]?.ok._attachments.f.data),
        [data, data],
      )
      const listed = await server.ask(
        'GET',
        '/db/_all_docs?include_docs=true&attachments=true&key="with"',
      )
      assert.ok(listed.text.includes(`"data":"${data}"`), listed.text)
    })

    it('lists answer 304 to those who have them, where the dialect says so', async () => {
      const first = await server.ask('GET', '/db/_all_docs')
      const { etag } = first.headers
      assert.equal(etag !== undefined, dialect === 'spec')
      if (etag === undefined) return
      const headers = { 'If-None-Match': String(etag) }
      assert.equal((await server.ask('GET', '/db/_all_docs', { headers })).status, 304)
      assert.equal((await server.ask('GET', '/db/_all_docs?limit=1', { headers })).status, 200)
      await server.ask('PUT', '/db/newer', { body: {} })
      assert.equal((await server.ask('GET', '/db/_all_docs', { headers })).status, 200)
    })
  })
}
