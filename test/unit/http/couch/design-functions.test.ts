/** `_show`, `_update`, `_list` and `_rewrite` over HTTP, in the real sandbox. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type AskOptions, startServer, type TestServer } from '../../../support/start-server.ts'

let server: TestServer

const shows = {
  see: 'function (doc, req) { return {json: {doc: doc, req: req}} }',
  text: 'function () { return "plain" }',
  nothing: 'function () { }',
  number: 'function () { return 7 }',
  needs: 'function (doc) { return doc.title }',
  named: 'function () { throw ["error", "forbidden", "not you"] }',
  refuses: 'function () { throw ["error", "method_not_allowed", "no"] }',
  headers: `function () { return {code: 203, body: 'é', headers: {'X-A': 'é', 'Content-Length': '1',
    'content-security-policy': 'none', 'Content-Type': 'text/plain', ETag: 'mine'}} }`,
  endless: 'function () { for (;;) {} }',
  odd: 'function () { return {odd: 1} }',
}
const updates = {
  count: `function (doc, req) { if (!doc) doc = {_id: req.id || req.uuid, n: 0}
    doc.n++; doc.body = req.body; return [doc, 'n=' + doc.n] }`,
  look: 'function (doc, req) { return [null, {json: [doc && doc._id, req.form, req.id]}] }',
  fixed: 'function () { return [{_id: "fixed"}, "x"] }',
  nameless: 'function () { return [{a: 1}, "x"] }',
  own: 'function (doc, req) { return [{_id: "é"}, {code: 202, body: "x"}] }',
  attach: `function () { return [{_id: 'with', _attachments: {f: {content_type: 'text/plain',
    data: 'aGVsbG8='}}}, 'ok'] }`,
}
const lists = {
  ids: `function (head, req) { start({headers: {'Content-Type': 'text/plain'}}); send(toJSON(head))
    var row; while (row = getRow()) send(' ' + (row.id || row.error)); return ' end' }`,
  whole: 'function () { var row; while (row = getRow()) send(toJSON(row)) }',
  early: 'function () { start({code: 202}); getRow(); return "one" }',
  before: 'function () { throw new Error("before") }',
  late: 'function () { send("part"); getRow(); throw ["error", "mine", "after"] }',
}
const rewrites = [
  { from: '/doc/:id', to: '../../:id' },
  { from: '/first', to: '../../_all_docs', query: { limit: ':n' } },
  { from: '/count/*', to: '_update/count/*', method: 'POST' },
  { from: '/see/:id', to: '_show/see/:id', query: { a: 'b' } },
  { from: '/round', to: '_rewrite/round' },
  { from: '/out', to: '../../../_all_dbs' },
]

before(async () => {
  server = await startServer({ settings: { couchdb: { os_process_timeout: '1500' } } })
  await server.ask('PUT', '/db')
  const body = { shows, updates, lists, rewrites, views: { v: { map: 'function () {}' } } }
  assert.equal((await server.ask('PUT', '/db/_design/d', { body })).status, 201)
  await server.ask('PUT', '/db/a', { body: { title: 'A' } })
})
after(() => server.close())

const ask = (method: string, path: string, options?: AskOptions) =>
  server.ask(method, `/db/_design/d/${path}`, options)

const told = async (method: string, path: string): Promise<unknown[]> => {
  const answer = await ask(method, path)
  const { error, reason } = answer.json as { error: string; reason: unknown }
  return [answer.status, error, reason]
}

interface Seen {
  readonly doc: { readonly _id: string; readonly _revisions: unknown } | null
  readonly req: Readonly<Record<string, unknown>>
}

test('a show sees its document and the request without credentials', async () => {
  const answer = await ask('POST', '_show/see/a?key=%22k%22&x=1', {
    headers: {
      'x-foo-bar': 'b',
      Cookie: 'a=b',
      'X-Auth-CouchDB-Token': 't',
      'Content-Type': 'application/x-www-form-urlencoded',
    },
    body: 'f=1&g=%C3%A9',
  })
  const { doc, req } = answer.json as Seen
  assert.equal(doc?._id, 'a')
  assert.ok(doc?._revisions)
  assert.deepEqual(Object.keys(req), [
    'info',
    'uuid',
    'id',
    'method',
    'requested_path',
    'path',
    'raw_path',
    'query',
    'headers',
    'body',
    'peer',
    'form',
    'cookie',
    'userCtx',
    'secObj',
  ])
  assert.deepEqual(req.query, { key: 'k', x: '1' })
  assert.deepEqual(req.form, { f: '1', g: 'é' })
  assert.deepEqual(req.userCtx, { db: 'db', name: 'admin', roles: ['_admin'] })
  assert.deepEqual(req.cookie, {})
  assert.equal(req.body, 'f=1&g=%C3%A9')
  assert.equal(req.raw_path, '/db/_design/d/_show/see/a?key=%22k%22&x=1')
  const headers = req.headers as Record<string, string>
  assert.equal(headers['X-Foo-Bar'], 'b')
  assert.ok(!/authorization|cookie|token/i.test(Object.keys(headers).join()))
})

test('a show without document, without body, without result', async () => {
  const { doc, req } = (await ask('GET', '_show/see')).json as Seen
  assert.deepEqual([doc, req.id, req.body], [null, null, 'undefined'])
  assert.equal(((await ask('GET', '_show/see/none')).json as Seen).doc, null)
  assert.equal(((await ask('GET', '_show/see/_design/d')).json as Seen).doc?._id, '_design/d')
  const nothing = await ask('GET', '_show/nothing')
  assert.deepEqual([nothing.status, nothing.text], [200, ''])
  const head = await ask('HEAD', '_show/text')
  assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, '5', ''])
})

test('a show has an ETag of its sources, its document and its reader', async () => {
  const first = await ask('GET', '_show/needs/a')
  const etag = String(first.headers.etag)
  assert.equal(first.headers.vary, 'Accept')
  const again = await ask('GET', '_show/needs/a', { headers: { 'If-None-Match': etag } })
  assert.equal(again.status, 304)
  const other = { 'If-None-Match': etag, Accept: 'text/html' }
  assert.equal((await ask('GET', '_show/needs/a', { headers: other })).status, 200)
})

test('errors of shows have the statuses of their kind', async () => {
  assert.deepEqual(await told('GET', '_show'), [404, 'show_error', 'Invalid path.'])
  assert.deepEqual(await told('GET', '_show/none'), [404, 'not_found', 'missing json key: none'])
  assert.deepEqual(await told('GET', '_show/named'), [403, 'forbidden', 'not you'])
  assert.deepEqual(await told('GET', '_show/refuses'), [405, 'method_not_allowed', 'no'])
  assert.deepEqual(await told('GET', '_show/needs/none'), [404, 'not_found', 'document not found'])
  const [status, error, reason] = await told('GET', '_show/needs')
  assert.deepEqual([status, error], [500, 'render_error'])
  assert.match(String(reason), /^function raised error: TypeError/)
  const undefinedText = 'undefined response from show function'
  assert.deepEqual(await told('GET', '_show/number'), [500, 'render_error', undefinedText])
  const odd = 'Invalid data from external server: {<<"odd">>,1}'
  assert.deepEqual(await told('GET', '_show/odd'), [500, 'external_response_error', odd])
  const missing = await server.ask('GET', '/db/_design/none/_show/x')
  assert.deepEqual(missing.json, { error: 'not_found', reason: 'missing' })
})

test('headers of functions pass, but framing and policy stay the server’s', async () => {
  const { status, headers, text } = await ask('GET', '_show/headers')
  assert.deepEqual([status, text], [203, 'é'])
  assert.equal(headers['content-length'], '2')
  assert.equal(headers['content-type'], 'text/plain')
  assert.equal(headers['content-security-policy'], 'sandbox')
  assert.equal(Buffer.from(String(headers['x-a']), 'latin1').toString(), 'é')
  assert.notEqual(headers.etag, 'mine')
})

test('a function that never ends fails alone', async () => {
  const [endless, fine] = await Promise.all([ask('GET', '_show/endless'), ask('GET', '_show/text')])
  assert.deepEqual([endless.status, fine.status, fine.text], [500, 200, 'plain'])
  assert.equal((await ask('GET', '_show/text')).status, 200)
})

test('an update writes what its function returns', async () => {
  const made = await ask('POST', '_update/count', { body: 'hello' })
  assert.deepEqual([made.status, made.text], [201, 'n=1'])
  const id = String(made.headers['x-svc-id'])
  const again = await ask('PUT', `_update/count/${id}`, { body: 'again' })
  assert.deepEqual([again.status, again.text], [201, 'n=2'])
  const stored = (await server.ask('GET', `/db/${id}`)).json as Record<string, unknown>
  assert.deepEqual(
    [stored.n, stored.body, stored._rev],
    [2, 'again', again.headers['x-svc-update-newrev']],
  )
  const own = await ask('POST', '_update/own')
  assert.equal(own.status, 202)
  assert.equal(Buffer.from(String(own.headers['x-svc-id']), 'latin1').toString(), 'é')
})

test('an update without document writes nothing; one with attachments stores them', async () => {
  const looked = await ask('PUT', '_update/look/a', {
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: 'x=y',
  })
  assert.equal(looked.status, 200)
  assert.deepEqual(looked.json, ['a', { x: 'y' }, 'a'])
  assert.equal(looked.headers['x-svc-update-newrev'], undefined)
  assert.equal((await ask('POST', '_update/attach')).status, 201)
  assert.equal((await server.ask('GET', '/db/with/f')).text, 'hello')
})

test('updates are refused as other writes are', async () => {
  const get = 'Update functions do not allow GET'
  assert.deepEqual(await told('GET', '_update/count/a'), [405, 'method_not_allowed', get])
  assert.deepEqual(await told('POST', '_update'), [404, 'update_error', 'Invalid path.'])
  assert.deepEqual(await told('POST', '_update/none'), [404, 'not_found', 'missing json key: none'])
  const empty = 'Document id must not be empty'
  assert.deepEqual(await told('POST', '_update/nameless'), [400, 'illegal_docid', empty])
  assert.equal((await ask('POST', '_update/fixed')).status, 201)
  const conflict = 'Document update conflict.'
  assert.deepEqual(await told('POST', '_update/fixed'), [409, 'conflict', conflict])
})

test('a list reads documents', async () => {
  const all = await ask('GET', '_list/ids/_all_docs?limit=1&startkey=%22a%22')
  assert.deepEqual([all.status, all.headers['content-type']], [200, 'text/plain'])
  assert.match(all.text, /^\{"total_rows":\d+,"offset":\d+\} a end$/)
  const keys = { keys: ['a', 'none'] }
  const named = await ask('POST', '_list/ids/_all_docs', { body: keys })
  assert.match(named.text, / a not_found end$/)
  const early = await ask('GET', '_list/early/_all_docs')
  assert.deepEqual([early.status, early.text], [202, 'one'])
  assert.equal(early.headers['content-type'], 'application/json')
  const head = await ask('HEAD', '_list/ids/_all_docs')
  assert.deepEqual([head.status, head.text], [200, ''])
  assert.equal((await ask('PUT', '_list/ids/_all_docs')).status, 405)
})

test('a list of many documents gets them all, in order', async () => {
  await server.ask('PUT', '/many')
  await server.ask('PUT', '/many/_design/d', { body: { lists } })
  const ids = Array.from({ length: 2500 }, (_, n) => `d${String(n).padStart(5, '0')}`)
  const docs = ids.map(_id => ({ _id }))
  await server.ask('POST', '/many/_bulk_docs', { body: { docs } })
  const { text } = await server.ask('GET', '/many/_design/d/_list/ids/_all_docs?startkey=%22d%22')
  assert.deepEqual(text.split(' ').slice(1, -1), ids)
})

test('clients that go away give the places of their lists back', async () => {
  await server.ask('PUT', '/slow')
  await server.ask('PUT', '/slow/_design/d', { body: { lists } })
  const docs = Array.from({ length: 200 }, (_, n) => ({ _id: `d${n}`, text: 'x'.repeat(20_000) }))
  await server.ask('POST', '/slow/_bulk_docs', { body: { docs } })
  const path = '/slow/_design/d/_list/whole/_all_docs?include_docs=true'
  const outcomes: string[] = []
  for (const waitMs of [0, 5, 10, 20, 40, 60]) {
    const { signal, ...reader } = abortAfter(waitMs)
    outcomes.push(
      await server.ask('GET', path, { signal }).then(
        answer => (answer.complete ? 'read' : 'cut'),
        () => 'gone',
      ),
    )
    clearTimeout(reader.timer)
  }
  assert.ok(outcomes.includes('gone') || outcomes.includes('cut'), outcomes.join())
  const after = await server.ask('GET', '/slow/_design/d/_list/early/_all_docs')
  assert.equal(after.text, 'one')
})

function abortAfter(waitMs: number): { signal: AbortSignal; timer: NodeJS.Timeout } {
  const controller = new AbortController()
  return { signal: controller.signal, timer: setTimeout(() => controller.abort(), waitMs) }
}

test('errors of lists: before the start as ever, after it in the body', async () => {
  assert.deepEqual(await told('GET', '_list'), [404, 'list_error', 'Invalid path.'])
  assert.deepEqual(await told('GET', '_list/ids'), [404, 'list_error', 'Invalid path.'])
  assert.deepEqual(await told('GET', '_list/none/v'), [404, 'not_found', 'missing json key: none'])
  assert.deepEqual(await told('GET', '_list/ids/none'), [404, 'not_found', 'missing_named_view'])
  assert.deepEqual((await told('GET', '_list/before/_all_docs')).slice(0, 2), [500, 'render_error'])
  const late = await ask('GET', '_list/late/_all_docs')
  assert.equal(late.status, 200)
  assert.equal(late.text, 'part\n{"code":500,"error":"mine","reason":"after"}\n')
})

test('rules rewrite requests, with their bodies', async () => {
  const doc = await ask('GET', '_rewrite/doc/a')
  assert.equal((doc.json as { title: string }).title, 'A')
  const first = (await ask('GET', '_rewrite/first?n=1')).json as { rows: unknown[] }
  assert.equal(first.rows.length, 1)
  const counted = await ask('POST', '_rewrite/count/rewritten', { body: 'b' })
  assert.deepEqual([counted.status, counted.text], [201, 'n=1'])
  const { req } = (await ask('GET', '_rewrite/see/a?q=1')).json as Seen
  assert.deepEqual(req.path, ['db', '_design', 'd', '_show', 'see', 'a'])
  assert.deepEqual(req.requested_path, ['db', '_design', 'd', '_rewrite', 'see', 'a?q=1'])
  assert.deepEqual(req.query, { q: '1', id: 'a', a: 'b' })
})

test('rewrites end, and stay in their database', async () => {
  const round = 'Exceeded rewrite recursion limit'
  assert.deepEqual(await told('GET', '_rewrite/round'), [400, 'bad_request', round])
  assert.deepEqual((await told('GET', '_rewrite/out')).slice(0, 2), [500, 'insecure_rewrite_rule'])
  assert.deepEqual(await told('GET', '_rewrite/nowhere'), [404, 'not_found', 'missing'])
  assert.deepEqual(await told('GET', '_rewrite/count/x'), [404, 'not_found', 'missing'])
})

test('a function rewrites requests or answers them', async () => {
  const source = `function (req) { switch (req.path[4]) {
    case 'path': return '../../a'
    case 'put': return {path: '../../made', method: 'PUT', body: toJSON({was: req.body}),
      headers: {'Content-Type': 'application/json'}}
    case 'answer': return {code: 299, headers: {'X-A': '1'}, body: 'direct'}
    case 'pathless': return {query: {}}
    case 'out': return '../../../_all_dbs'
    case 'query': return {path: '../../_all_docs', query: {limit: 1}} } }`
  await server.ask('PUT', '/db/_design/f', { body: { rewrites: source } })
  const go = (method: string, path: string, options?: AskOptions) =>
    server.ask(method, `/db/_design/f/_rewrite/${path}`, options)
  assert.equal(((await go('GET', 'path')).json as { title: string }).title, 'A')
  assert.equal((await go('POST', 'put', { body: 'posted' })).status, 201)
  const made = (await server.ask('GET', '/db/made')).json as { was: string }
  assert.equal(made.was, 'posted')
  const answer = await go('GET', 'answer')
  assert.deepEqual([answer.status, answer.text, answer.headers['x-a']], [299, 'direct', '1'])
  assert.equal(((await go('GET', 'query?limit=9')).json as { rows: [] }).rows.length, 1)
  const errors = { nothing: 404, pathless: 500, out: 500 }
  for (const [path, status] of Object.entries(errors)) {
    assert.equal((await go('GET', path)).status, status, path)
  }
})

test('strangers get no further through functions than without', async () => {
  await server.ask('PUT', '/closed')
  const security = { members: { names: ['ann'], roles: [] }, admins: { names: [], roles: [] } }
  await server.ask('PUT', '/closed/_security', { body: security })
  await server.ask('PUT', '/closed/_design/d', { body: { shows } })
  const user = null
  assert.equal((await server.ask('GET', '/closed/_design/d/_show/text', { user })).status, 401)
})
