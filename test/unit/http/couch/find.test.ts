/** `_find`, `_explain` and `_index` over the whole server in this process. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startServer, type TestServer } from '../../../support/start-server.ts'

interface Found {
  readonly docs: { readonly [name: string]: unknown }[]
  readonly bookmark: string
  readonly warning?: string
  readonly execution_stats?: Record<string, number>
  readonly error?: string
}

let server: TestServer
before(async () => {
  server = await startServer({ dialect: 'couchdb' })
})
after(() => server.close())

async function find(path: string, query: object, user?: string): Promise<Found> {
  const options = user === undefined ? { body: query } : { body: query, user }
  return (await server.ask('POST', `${path}/_find`, options)).json as Found
}

const ids = ({ docs }: Found): unknown[] => docs.map(({ _id }) => _id)

async function makeDatabase(path: string, docs: readonly object[]): Promise<void> {
  await server.ask('PUT', path)
  await server.ask('POST', `${path}/_bulk_docs`, { body: { docs } })
}

describe('queries', () => {
  before(async () => {
    const docs = Array.from({ length: 250 }, (_, n) => ({
      _id: String(n).padStart(3, '0'),
      n,
      tens: Math.floor(n / 10),
      name: `name ${n % 7}`,
    }))
    await makeDatabase('/many', docs)
    const body = { index: { fields: ['tens', 'n'] }, ddoc: 'tens', name: 'tens' }
    await server.ask('POST', '/many/_index', { body })
  })

  it('page forward and back by bookmarks, by ids and by an index', async () => {
    for (const selector of [{ _id: { $gt: null } }, { tens: { $gte: 0 }, n: { $gte: 0 } }]) {
      const pages: Found[] = []
      let bookmark: string | null = null
      do {
        const page: Found = await find('/many', { selector, limit: 60, bookmark, fields: ['_id'] })
        pages.push(page)
        bookmark = page.bookmark
      } while (pages.at(-1)?.docs.length === 60)
      const all = pages.flatMap(ids)
      assert.equal(new Set(all).size, 250)
      assert.deepEqual(all, all.toSorted())
      const again = await find('/many', { selector, limit: 60, bookmark: pages[0]?.bookmark })
      assert.deepEqual(ids(again), ids(pages[1] as Found))
      const skipped = await find('/many', {
        selector,
        limit: 5,
        skip: 3,
        bookmark: pages[0]?.bookmark,
      })
      assert.deepEqual(ids(skipped), ids(pages[1] as Found).slice(3, 8))
    }
  })

  it('go on after the bookmark when documents were written', async () => {
    const selector = { tens: { $gte: 0 }, n: { $gte: 0 } }
    const first = await find('/many', { selector, limit: 10 })
    await server.ask('PUT', '/many/early', { body: { tens: 0, n: 0.5 } })
    await server.ask('PUT', '/many/late', { body: { tens: 0, n: 9.5 } })
    const second = await find('/many', { selector, limit: 2, bookmark: first.bookmark })
    assert.deepEqual(ids(second), ['late', '010'])
    for (const id of ['early', 'late']) {
      const { json } = await server.ask('GET', `/many/${id}`)
      await server.ask('DELETE', `/many/${id}?rev=${(json as { _rev: string })._rev}`)
    }
  })

  it('read no documents when the index covers them', async () => {
    const query = {
      selector: { tens: 3, n: { $gt: 35 } },
      fields: ['n', '_id'],
      execution_stats: true,
    }
    const found = await find('/many', query)
    assert.deepEqual(
      found.docs.map(({ n }) => n),
      [36, 37, 38, 39],
    )
    assert.equal(found.execution_stats?.total_docs_examined, 0)
    assert.equal(found.warning, undefined)
  })

  it('sort in both directions', async () => {
    const selector = { tens: { $lte: 3 }, n: { $gte: 0 } }
    const sort = [{ tens: 'desc' }, { n: 'desc' }]
    const found = await find('/many', { selector, sort, limit: 3 })
    assert.deepEqual(ids(found), ['039', '038', '037'])
    const next = await find('/many', { selector, sort, limit: 2, bookmark: found.bookmark })
    assert.deepEqual(ids(next), ['036', '035'])
  })

  it('warn about scans that find little', async () => {
    const found = await find('/many', { selector: { name: 'name 3', n: 3 } })
    assert.match(found.warning ?? '', /No matching index found[^\n]*\n.*examined is high/)
  })

  it('answer from an index as it is when no update is wanted', async () => {
    await makeDatabase('/stale', [{ _id: 'a', v: 1 }])
    const body = { index: { fields: ['v'] }, ddoc: 'v', name: 'v' }
    await server.ask('POST', '/stale/_index', { body })
    assert.deepEqual(ids(await find('/stale', { selector: { v: { $gt: 0 } } })), ['a'])
    await server.ask('PUT', '/stale/b', { body: { v: 2 } })
    assert.deepEqual(ids(await find('/stale', { selector: { v: { $gt: 0 } }, update: false })), [
      'a',
    ])
    assert.deepEqual(ids(await find('/stale', { selector: { v: { $gt: 0 } } })), ['a', 'b'])
  })

  it('can be asked of the index as a view', async () => {
    const view = await server.ask('GET', '/many/_design/tens/_view/tens?limit=1&reduce=false')
    const { rows } = view.json as { rows: unknown[] }
    assert.deepEqual(rows, [{ id: '000', key: [0, 0], value: null }])
    const reduced = await server.ask('GET', '/many/_design/tens/_view/tens')
    assert.deepEqual((reduced.json as { rows: unknown[] }).rows, [{ key: null, value: 250 }])
  })
})

describe('users', () => {
  it('find only what they may see, whatever they ask', async () => {
    const open = await startServer({ dialect: 'spec' })
    try {
      await open.ask('PUT', '/_users')
      for (const name of ['ann', 'bob']) {
        const body = { name, password: 'secret', type: 'user', roles: [], age: name.length }
        await open.ask('PUT', `/_users/org.svc.user:${name}`, { body })
      }
      const body = { index: { fields: ['name'] }, ddoc: 'name', name: 'name' }
      await open.ask('POST', '/_users/_index', { body })
      for (const selector of [{}, { name: { $gt: null } }]) {
        for (const fields of [[], ['name']]) {
          const query = { body: { selector, fields }, user: 'ann:secret' }
          const found = (await open.ask('POST', '/_users/_find', query)).json as Found
          assert.deepEqual(
            found.docs.map(({ name }) => name),
            ['ann'],
          )
        }
      }
    } finally {
      await open.close()
    }
  })
})

describe('indexes', () => {
  it('share a design document and go one by one', async () => {
    await makeDatabase('/two', [{ _id: 'a', x: 1, y: 2 }])
    for (const name of ['x', 'y']) {
      const body = { index: { fields: [name] }, ddoc: 'd', name }
      const made = await server.ask('POST', '/two/_index', { body })
      assert.deepEqual(made.json, { result: 'created', id: '_design/d', name })
      const again = await server.ask('POST', '/two/_index', { body })
      assert.deepEqual(again.json, { result: 'exists', id: '_design/d', name })
    }
    assert.deepEqual(ids(await find('/two', { selector: { y: 2 }, use_index: ['d', 'y'] })), ['a'])
    assert.equal((await server.ask('DELETE', '/two/_index/d/json/x')).status, 200)
    assert.deepEqual(ids(await find('/two', { selector: { y: 2 }, use_index: ['d', 'y'] })), ['a'])
    assert.equal((await server.ask('DELETE', '/two/_index/_design/d/json/y')).status, 200)
    assert.equal((await server.ask('GET', '/two/_design/d')).status, 404)
  })

  it('are refused to those who are no admins', async () => {
    const body = { index: { fields: ['x'] } }
    await server.ask('PUT', '/two/_security', { body: { members: {}, admins: {} } })
    const made = await server.ask('POST', '/two/_index', { body, user: null })
    assert.equal(made.status, 500)
    assert.equal((made.json as Found).error, 'error_saving_ddoc')
  })

  it('refuse lists that make no sense', async () => {
    assert.equal((await server.ask('GET', '/two/_index?limit=0')).status, 500)
  })

  it('of text are unavailable when the setting says so', async () => {
    const plain = await startServer({ settings: { svc: { text_search: 'false' } } })
    try {
      await plain.ask('PUT', '/db')
      const body = { type: 'text', index: {} }
      assert.equal((await plain.ask('POST', '/db/_index', { body })).status, 503)
    } finally {
      await plain.close()
    }
  })
})

describe('text indexes', () => {
  const DOCS = [
    {
      _id: '1',
      title: 'The quick brown fox',
      body: 'jumps over the lazy dog',
      year: 1999,
      tags: ['a', 'b'],
    },
    {
      _id: '2',
      title: 'A lazy afternoon',
      body: 'The dog sleeps, the dog dreams',
      year: 2005,
      tags: [],
    },
    { _id: '3', title: 'Übermäßig große Füße', body: 'müde Füße ruhen', year: 2010, tags: ['b'] },
    { _id: '4', title: '東京都の天気', body: '今日は晴れ', year: 2020 },
    {
      _id: '5',
      title: 'mail',
      body: 'write to ann.lee@example.org or 3.14',
      year: 'old',
      author: { name: 'Ann' },
    },
  ]

  before(async () => {
    await makeDatabase('/books', DOCS)
    const body = { type: 'text', ddoc: 't', name: 't', index: { default_analyzer: 'standard' } }
    assert.equal((await server.ask('POST', '/books/_index', { body })).status, 200)
  })

  const texts: readonly (readonly [string, readonly string[]])[] = [
    ['dog', ['2', '1']],
    ['DOG', ['2', '1']],
    ['"lazy dog"', ['1']],
    ['"dog lazy"', []],
    ['"quick fox"', []],
    ['"quick fox"~1', ['1']],
    ['la* AND dog', ['2', '1']],
    ['f?x', ['1']],
    ['fox OR Füße', ['3', '1']],
    ['dog -fox', ['2']],
    ['dog AND NOT dreams', ['1']],
    ['+dog +sleeps', ['2']],
    ['title:lazy', ['2']],
    ['body:lazy', ['1']],
    ['(fox OR afternoon) AND dog', ['1', '2']],
    ['fox^10 OR afternoon', ['1', '2']],
    ['year:[1999 TO 2005]', ['1', '2']],
    ['year:{1999 TO 2005]', ['2']],
    ['year:[2006 TO *]', ['3', '4']],
    ['title:[a TO b]', ['2']],
    ['author.name:ann', ['5']],
    ['東京', ['4']],
    ['京東', []],
    ['晴れ', ['4']],
    ['3.14', ['5']],
    ['u\u0308berma\u0308ßig', ['3']],
    ['*:*', ['1', '2', '3', '4', '5']],
    ['nothing', []],
    ['-dog', []],
  ]
  for (const [query, expected] of texts) {
    it(`find ${query}`, async () => {
      const found = await find('/books', { selector: { $text: query }, fields: ['_id'] })
      assert.equal(found.error, undefined, JSON.stringify(found))
      const isRanked = query.includes('^') || /^dog$/i.test(query)
      const order = (list: readonly unknown[]) => (isRanked ? list : list.toSorted())
      assert.deepEqual(order(ids(found)), order(expected))
      assert.equal(found.warning, undefined)
    })
  }

  for (const query of ['"open', '(a', 'a)', 'a~', '/x/', 'a:[1 2]', 'a^x', 'AND']) {
    it(`refuse ${query}`, async () => {
      const found = await find('/books', { selector: { $text: query } })
      if (query === 'AND') assert.deepEqual(found.docs, [])
      else assert.equal(found.error, 'text_search_error')
    })
  }

  it('are asked together with other conditions', async () => {
    const both = await find('/books', { selector: { $text: 'dog', year: { $gt: 2000 } } })
    assert.deepEqual(ids(both), ['2'])
    const either = await find('/books', { selector: { $or: [{ $text: 'fox' }, { year: 2010 }] } })
    assert.deepEqual(ids(either).toSorted(), ['1', '3'])
    const not = await find('/books', { selector: { $nor: [{ $text: 'dog' }] } })
    assert.equal(not.error, 'bad_arg')
  })

  it('answer selectors, and sort by fields of a type', async () => {
    const tagged = await find('/books', { selector: { tags: { $in: ['b'] } } })
    assert.deepEqual(ids(tagged), ['1', '3'])
    assert.deepEqual(ids(await find('/books', { selector: { tags: { $size: 0 } } })), ['2'])
    const query = {
      selector: { year: { $exists: true } },
      sort: [{ 'year:number': 'desc' }],
      limit: 2,
    }
    const pages: unknown[] = []
    let bookmark: string | null = null
    for (let page = 0; page < 3; page++) {
      const found: Found = await find('/books', { ...query, bookmark })
      pages.push(ids(found))
      bookmark = found.bookmark
    }
    // What has no number comes last.
    assert.deepEqual(pages, [['4', '3'], ['2', '1'], ['5']])
  })

  it('page through ranked answers', async () => {
    const seen: unknown[] = []
    let bookmark: string | null = null
    for (let page = 0; page < 3; page++) {
      const found: Found = await find('/books', {
        selector: { $text: 'the dog' },
        limit: 1,
        bookmark,
      })
      seen.push(...ids(found))
      bookmark = found.bookmark
    }
    assert.deepEqual(seen, ['2', '1'])
  })

  it('follow changes', async () => {
    await server.ask('PUT', '/books/6', { body: { title: 'a dog again' } })
    const found = await find('/books', { selector: { $text: 'again' } })
    assert.deepEqual(ids(found), ['6'])
    const { _rev } = found.docs[0] as { _rev: string }
    await server.ask('DELETE', `/books/6?rev=${_rev}`)
    assert.deepEqual(ids(await find('/books', { selector: { $text: 'again' } })), [])
  })

  it('are explained and listed', async () => {
    const explained = await server.ask('POST', '/books/_explain', {
      body: { selector: { $text: 'x' } },
    })
    const { index } = explained.json as { index: { type: string; name: string } }
    assert.equal(index.type, 'text')
    const list = (await server.ask('GET', '/books/_index')).json as { indexes: { type: string }[] }
    assert.deepEqual(
      list.indexes.map(({ type }) => type),
      ['special', 'text'],
    )
  })

  it('have analyzers, a default field and fields of their own', async () => {
    await makeDatabase('/analyzed', [
      { _id: '1', mail: 'To: Ann.Lee@Example.org', text: 'the end of it', code: 'AB-1 x' },
    ])
    const perfield = {
      name: 'perfield',
      default: 'english',
      fields: { mail: 'email', code: 'whitespace' },
    }
    const fields = ['mail', 'text', 'code'].map(name => ({ name, type: 'string' }))
    const index = {
      fields,
      default_analyzer: perfield,
      default_field: { enabled: true, analyzer: 'simple' },
    }
    const body = { type: 'text', ddoc: 't', name: 't', index }
    assert.equal((await server.ask('POST', '/analyzed/_index', { body })).status, 200)
    const hits = async (query: string) =>
      ids(await find('/analyzed', { selector: { $text: query } })).length
    assert.equal(await hits('mail:ann.lee@example.org'), 1)
    assert.equal(await hits('text:the'), 0)
    assert.equal(await hits('text:end'), 1)
    assert.equal(await hits('text:"end of it"'), 1)
    assert.equal(await hits('code:AB\\-1'), 1)
    assert.equal(await hits('code:ab\\-1'), 0)
    assert.equal(await hits('ab'), 1)
    const wrong = { type: 'text', index: { default_analyzer: 'klingon' } }
    assert.equal((await server.ask('POST', '/analyzed/_index', { body: wrong })).status, 400)
  })
})
