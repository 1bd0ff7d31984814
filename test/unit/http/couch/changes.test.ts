import assert from 'node:assert/strict'
import { setMaxListeners } from 'node:events'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type Answer, startServer, type TestServer } from '../../../support/start-server.ts'

interface Row {
  readonly seq: string | null
  readonly id: string
  readonly changes: readonly { readonly rev: string }[]
  readonly deleted?: boolean
  readonly doc?: Readonly<Record<string, unknown>>
}
interface Feed {
  readonly results: readonly Row[]
  readonly last_seq: string
  readonly pending: number
}

async function withServer(
  dialect: 'spec' | 'couchdb',
  work: (server: TestServer) => Promise<void>,
): Promise<void> {
  const server = await startServer({ dialect })
  try {
    await server.ask('PUT', '/db')
    await work(server)
  } finally {
    await server.close()
  }
}

async function put(server: TestServer, id: string, body: object = {}): Promise<string> {
  const answer = await server.ask('PUT', `/db/${encodeURIComponent(id)}`, { body })
  assert.ok(answer.status === 201 || answer.status === 200, answer.text)
  return (answer.json as { rev: string }).rev
}

async function changes(server: TestServer, query = '', body?: object): Promise<Feed> {
  const answer = await server.ask(body === undefined ? 'GET' : 'POST', `/db/_changes?${query}`, {
    body,
  })
  assert.equal(answer.status, 200, answer.text)
  return answer.json as Feed
}

const idsOf = (feed: Feed): string[] => feed.results.map(row => row.id)

/** Sequences replaced by their number. */
const plain = (text: string): string => text.replace(/"(\d+)-[\w-]{22}"/g, '"$1"')

/** Resolves when `count` stores are followed: a feed waits. */
async function waiting(server: TestServer, count = 1): Promise<void> {
  while (server.notices.followedStoreCount !== count) await delay(2)
}

for (const dialect of ['spec', 'couchdb'] as const) {
  const end = dialect === 'spec' ? '\r\n' : '\n'

  test(`${dialect}: the bytes of all feeds`, () =>
    withServer(dialect, async server => {
      const rev = await put(server, 'a', { v: 1 })
      const row = `{"seq":"1","id":"a","changes":[{"rev":"${rev}"}]}`
      const ask = async (query: string) =>
        plain((await server.ask('GET', `/db/_changes?${query}`)).text)
      assert.equal(await ask(''), `{"results":[\n${row}\n],\n"last_seq":"1","pending":0}\n\n`)
      assert.equal(await ask('since=now'), '{"results":[\n\n],\n"last_seq":"1","pending":0}\n\n')
      assert.equal(
        await ask('feed=longpoll'),
        `{"results":[\n${row}\n],\n"last_seq":"1","pending":0}\n\n`,
      )
      assert.equal(
        await ask('feed=longpoll&since=now&timeout=20'),
        '{"results":[\n\n\n],\n"last_seq":"1","pending":0}\n\n',
      )
      const last = `{"last_seq":"1","pending":0}${end}${end}`
      assert.equal(await ask('feed=continuous&timeout=20'), `${row}${end}${last}`)
      assert.equal(await ask('feed=live&since=now&timeout=20'), `${end}${last}`)
      assert.equal(await ask('feed=eventsource&timeout=20'), `data: ${row}\nid: "1"\n\n`)
      assert.equal(await ask('feed=eventsource&since=now&timeout=20'), '\n')
      assert.equal(server.notices.followedStoreCount, 0)
    }))

  test(`${dialect}: limit 0`, () =>
    withServer(dialect, async server => {
      for (const id of ['a', 'b']) await put(server, id)
      const feed = await changes(server, 'limit=0')
      assert.deepEqual(idsOf(feed), dialect === 'spec' ? ['a'] : [])
      assert.equal(feed.pending, dialect === 'spec' ? 1 : 2)
    }))
}

test('a waiting feed is woken by a change, beats while nothing comes, and ends at its limit', () =>
  withServer('couchdb', async server => {
    const waits = server.ask('GET', '/db/_changes?feed=continuous&since=now&heartbeat=15&limit=2')
    await waiting(server)
    await delay(40)
    await put(server, 'a')
    await put(server, 'b')
    const { text } = await waits
    assert.match(
      plain(text),
      /^\n\n+\{"seq":"1",.*\n+\{"seq":"2",.*\n\{"last_seq":"2","pending":0\}\n\n$/,
    )
    assert.equal(server.notices.followedStoreCount, 0)
  }))

test('a long poll answers late rows after a line of its own', () =>
  withServer('couchdb', async server => {
    const waits = server.ask('GET', '/db/_changes?feed=longpoll&since=now')
    await waiting(server)
    const rev = await put(server, 'a')
    const row = `{"seq":"1","id":"a","changes":[{"rev":"${rev}"}]}`
    const expected = `{"results":[\n\n\n${row}\n],\n"last_seq":"1","pending":0}\n\n`
    assert.equal(plain((await waits).text), expected)
  }))

test('a filter that holds all changes back lets a feed time out', () =>
  withServer('couchdb', async server => {
    const query = 'feed=longpoll&since=now&timeout=60&filter=_doc_ids&doc_ids=["never"]'
    const waits = server.ask('GET', `/db/_changes?${encodeURI(query)}`)
    await waiting(server)
    await put(server, 'other')
    const feed = (await waits).json as Feed
    assert.deepEqual(feed.results, [])
    assert.match(feed.last_seq, /^1-/)
  }))

test('feeds end as usual when the database is deleted', () =>
  withServer('couchdb', async server => {
    await put(server, 'a')
    const waits = ['continuous', 'longpoll'].map(feed =>
      server.ask('GET', `/db/_changes?feed=${feed}&since=now&heartbeat=60000`),
    )
    await waiting(server)
    await server.ask('DELETE', '/db')
    const [continuous, longpoll] = (await Promise.all(waits)) as [Answer, Answer]
    assert.equal(plain(continuous.text), '\n{"last_seq":"1","pending":0}\n\n')
    assert.equal(continuous.complete, true)
    assert.deepEqual((longpoll.json as Feed).results, [])
    assert.equal(server.notices.followedStoreCount, 0)
  }))

test('clients that go away leave nothing behind', () =>
  withServer('couchdb', async server => {
    const leaving = new AbortController()
    setMaxListeners(0, leaving.signal)
    const feeds = Array.from({ length: 20 }, (_, index) =>
      server
        .ask(
          'GET',
          `/db/_changes?feed=${index % 2 ? 'eventsource' : 'continuous'}&heartbeat=60000`,
          {
            signal: leaving.signal,
          },
        )
        .catch(() => undefined),
    )
    const updates = server
      .ask('GET', '/_db_updates?feed=continuous&heartbeat=60000', { signal: leaving.signal })
      .catch(() => undefined)
    await waiting(server, 2)
    leaving.abort()
    await Promise.all([...feeds, updates])
    await waiting(server, 0)
  }))

test('one row per document, at its latest sequence, with tombstones', () =>
  withServer('couchdb', async server => {
    const first = await put(server, 'a', { v: 1 })
    await put(server, 'b')
    await put(server, 'a', { v: 2, _rev: first })
    await server.ask('DELETE', `/db/b?rev=${(await changes(server)).results[0]?.changes[0]?.rev}`)
    const feed = await changes(server, 'include_docs=true')
    assert.deepEqual(
      feed.results.map(({ id, deleted, doc }) => [id, deleted, doc?._deleted, doc?.v]),
      [
        ['a', undefined, undefined, 2],
        ['b', true, true, undefined],
      ],
    )
    assert.match(feed.last_seq, /^4-/)
  }))

test('ids that JSON escapes, and ids longer than a key', () =>
  withServer('couchdb', async server => {
    const ids = ['quote"d', 'back\\slash', 'tab\t', 'ünï', 'x'.repeat(2000)]
    for (const id of ids) await put(server, id, { v: id.length })
    const feed = await changes(server, 'include_docs=true')
    assert.deepEqual(idsOf(feed), ids)
    assert.deepEqual(
      feed.results.map(row => row.doc?._id),
      ids,
    )
  }))

test('conflicts: leaves by style, conflicts in documents', () =>
  withServer('couchdb', async server => {
    const revs = ['1-b', '1-a'].map(rev => rev.replace(/.$/, letter => letter.repeat(32)))
    const docs = revs.map(_rev => ({ _id: 'x', _rev }))
    await server.ask('POST', '/db/_bulk_docs', { body: { docs, new_edits: false } })
    const main = await changes(server)
    assert.deepEqual(main.results[0]?.changes, [{ rev: revs[0] }])
    const all = await changes(server, 'style=all_docs&include_docs=true&conflicts=true')
    assert.deepEqual(
      all.results[0]?.changes.map(each => each.rev),
      revs,
    )
    assert.deepEqual(all.results[0]?.doc?._conflicts, [revs[1]])
  }))

test('sequences: resumed, beyond the newest, of an earlier life, told at intervals', () =>
  withServer('couchdb', async server => {
    for (const id of ['a', 'b', 'c']) await put(server, id)
    const [first] = (await changes(server)).results
    assert.deepEqual(idsOf(await changes(server, `since=${first?.seq}`)), ['b', 'c'])
    const told = await changes(server, 'limit=2&seq_interval=2')
    assert.deepEqual(
      told.results.map(row => row.seq !== null),
      [true, false],
    )
    const old = (await changes(server)).last_seq
    await server.ask('DELETE', '/db')
    await server.ask('PUT', '/db')
    await put(server, 'new')
    assert.deepEqual(idsOf(await changes(server, `since=${old}`)), ['new'])
  }))

test('Last-Event-ID beats since, in every feed only where the dialect says so', async () => {
  for (const dialect of ['spec', 'couchdb'] as const) {
    await withServer(dialect, async server => {
      for (const id of ['a', 'b']) await put(server, id)
      const seq = (await changes(server, 'limit=1')).last_seq
      const headers = { 'Last-Event-ID': seq }
      const normal = await server.ask('GET', '/db/_changes?since=0', { headers })
      assert.deepEqual(idsOf(normal.json as Feed), dialect === 'spec' ? ['b'] : ['a', 'b'])
      const url = '/db/_changes?feed=eventsource&since=0&timeout=10'
      const { text } = await server.ask('GET', url, { headers })
      assert.equal(text.includes('"id":"a"'), false)
      const alias = await server.ask('GET', `/db/_changes?last-event-id=${seq}`)
      assert.deepEqual(idsOf(alias.json as Feed), ['b'])
    })
  }
})

test('filters by id, design and selector', () =>
  withServer('couchdb', async server => {
    for (let n = 1; n <= 5; n++) await put(server, `d${n}`, { n })
    await put(server, '_design/x', { views: {} })
    const ids = await changes(server, 'filter=_doc_ids', { doc_ids: ['d4', 'd2', 'zz'] })
    assert.deepEqual([idsOf(ids), ids.pending], [['d2', 'd4'], 4])
    const many = Array.from({ length: 200 }, (_, n) => `d${n}`)
    const scanned = await changes(server, 'filter=_doc_ids&limit=2', { doc_ids: many })
    assert.deepEqual([idsOf(scanned), scanned.pending], [['d1', 'd2'], 4])
    const design = await changes(server, 'filter=_design')
    assert.deepEqual([idsOf(design), design.pending], [['_design/x'], 5])
    const selected = await changes(server, 'filter=_selector&descending=true&limit=1', {
      selector: { n: { $lt: 4 } },
    })
    assert.deepEqual([idsOf(selected), selected.pending], [['d3'], 2])
    const trimmed = await changes(server, 'filter=_selector&include_docs=true', {
      selector: { n: 2 },
      fields: ['n'],
    })
    assert.deepEqual(trimmed.results[0]?.doc, { n: 2 })
  }))

test('filters of design documents, over every leaf where all are listed', () =>
  withServer('couchdb', async server => {
    await put(server, '_design/d', {
      filters: { odd: 'function (doc, req) { return doc.n % 2 === 1 && req.query.yes === "1" }' },
      views: { big: { map: 'function (doc) { if (doc.n > 1) emit(doc._id) }' } },
    })
    for (let n = 1; n <= 3; n++) await put(server, `d${n}`, { n })
    // loses against every other
    const rev = `1-${'0'.repeat(32)}`
    const docs = [{ _id: 'd2', _rev: rev, n: 5 }]
    await server.ask('POST', '/db/_bulk_docs', { body: { docs, new_edits: false } })
    assert.deepEqual(idsOf(await changes(server, 'filter=d/odd&yes=1')), ['d1', 'd3'])
    const all = await changes(server, 'filter=d/odd&yes=1&style=all_docs')
    const both = all.results.find(row => row.id === 'd2')
    assert.deepEqual(both?.changes, [{ rev }])
    assert.deepEqual(idsOf(await changes(server, 'filter=d/odd')), [])
    assert.deepEqual(idsOf(await changes(server, 'filter=_view&view=d/big')), ['d3', 'd2'])
  }))

test('refusals', () =>
  withServer('couchdb', async server => {
    await put(server, '_design/d', { filters: {} })
    const cases: [string, number, string][] = [
      ['feed=x', 400, 'Supported `feed` types: normal, continuous, live, longpoll, eventsource'],
      ['since=1', 400, "Malformed sequence supplied in 'since' parameter."],
      ['since=', 400, "Malformed sequence supplied in 'since' parameter."],
      ['heartbeat=0', 400, 'The heartbeat value should be a positive integer (in milliseconds).'],
      [
        'heartbeat=x',
        400,
        'Invalid heartbeat value. Expecting a positive integer value (in milliseconds).',
      ],
      ['seq_interval=0', 400, 'invalid_seq_interval'],
      ['filter=_x', 400, 'unknown builtin filter name'],
      ['filter=d', 400, '`filter` must be of the form `designname/filtername`'],
      ['filter=d/f', 404, 'missing json key: f'],
      ['filter=e/f', 404, 'missing'],
      ['filter=_view', 400, '`view` filter parameter is not provided.'],
      ['filter=_doc_ids', 400, '`doc_ids` filter parameter is not a list of doc ids.'],
      ['filter=_selector', 400, 'Selector must be specified in POST payload'],
    ]
    for (const [query, status, reason] of cases) {
      const answer = await server.ask('GET', `/db/_changes?${query}`)
      assert.deepEqual(
        [answer.status, (answer.json as { reason: string }).reason],
        [status, reason],
      )
    }
    for (const query of ['limit=x', 'limit=-1', 'timeout=x', 'style=x', 'filter=_view&view=x']) {
      assert.equal((await server.ask('GET', `/db/_changes?${query}`)).status, 400, query)
    }
    const post = (body: object) => server.ask('POST', '/db/_changes?filter=_selector', { body })
    assert.equal((await post({})).status, 400)
    assert.match((await post({ selector: { a: { $no: 1 } } })).text, /bad_request/)
  }))

test('an unchanged normal feed is not sent again', () =>
  withServer('couchdb', async server => {
    await put(server, 'a')
    const first = await server.ask('GET', '/db/_changes')
    const headers = { 'If-None-Match': String(first.headers.etag) }
    assert.equal((await server.ask('GET', '/db/_changes', { headers })).status, 304)
    assert.equal((await server.ask('GET', '/db/_changes?limit=1', { headers })).status, 200)
    await put(server, 'b')
    assert.equal((await server.ask('GET', '/db/_changes', { headers })).status, 200)
  }))

test('attachments come with their data when asked for', () =>
  withServer('couchdb', async server => {
    const _attachments = { f: { content_type: 'image/png', data: 'eA==' } }
    await put(server, 'a', { _attachments })
    await put(server, 'b')
    const feed = await changes(server, 'include_docs=true&attachments=true')
    const attachments = feed.results[0]?.doc?._attachments as { f: { data: string } }
    assert.equal(attachments.f.data, 'eA==')
    assert.deepEqual(idsOf(feed), ['a', 'b'])
  }))
