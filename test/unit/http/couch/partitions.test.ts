import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { idsOf, NOT_PARTITIONED, PartitionServer, type Rows } from '../../../support/partitions.ts'

interface Info {
  readonly db_name: string
  readonly partition: string
  readonly doc_count: number
  readonly doc_del_count: number
  readonly sizes: { readonly active: number; readonly external: number }
}

const ILLEGAL = { error: 'illegal_docid', reason: 'Doc id must be of form partition:id' }

let partitions: PartitionServer
before(async () => {
  partitions = await PartitionServer.start()
})
after(() => partitions.close())

describe('ids of a partitioned database', () => {
  before(() => partitions.make('ids'))

  it('are made of a partition and the rest, wherever they are written', async () => {
    const refused = { status: 400, json: ILLEGAL }
    const put = (body: unknown, query = '') =>
      partitions.answer('PUT', `/ids/plain${query}`, { body })
    assert.deepEqual(await put({}), refused)
    const rev = '1-967a00dff5e02add41819138abb3284d'
    assert.deepEqual(await put({ _rev: rev }, '?new_edits=false'), refused)
    assert.deepEqual(await partitions.answer('POST', '/ids', { body: { _id: 'plain' } }), refused)
    assert.deepEqual(await partitions.answer('POST', '/ids', { body: {} }), refused)
    const bulk = (docs: unknown, more = {}) =>
      partitions.answer('POST', '/ids/_bulk_docs', { body: { docs, ...more } })
    assert.deepEqual(await bulk([{ _id: 'a:1' }, { _id: 'plain' }]), refused)
    assert.deepEqual(await bulk([{ _id: 'plain', _rev: rev }], { new_edits: false }), refused)
    const upload = { body: 'x', headers: { 'Content-Type': 'text/plain' } }
    assert.deepEqual(await partitions.answer('PUT', '/ids/plain/x.txt', upload), refused)
    assert.deepEqual(await partitions.ok('GET', '/ids/_all_docs'), {
      total_rows: 0,
      offset: 0,
      rows: [],
    })
  })

  it('may be written when they are whole', async () => {
    await partitions.put('/ids/a:1', {})
    await partitions.put('/ids/a:with:more', {})
    const copied = await partitions.server.ask('COPY', '/ids/a:1', {
      headers: { Destination: 'plain' },
    })
    assert.deepEqual([copied.status, copied.json], [400, ILLEGAL])
    await partitions.ok('COPY', '/ids/a:1', { headers: { Destination: 'b:1' } })
    const doc = { _id: 'c:1', _rev: '1-967a00dff5e02add41819138abb3284d' }
    assert.deepEqual(
      await partitions.post('/ids/_bulk_docs', { docs: [doc], new_edits: false }),
      [],
    )
    await partitions.ok('PUT', '/ids/a:file/x.txt', {
      body: 'x',
      headers: { 'Content-Type': 'text/plain' },
    })
    assert.deepEqual(idsOf(await partitions.ok('GET', '/ids/_all_docs')), [
      'a:1',
      'a:file',
      'a:with:more',
      'b:1',
      'c:1',
    ])
  })

  it('have neither an empty part nor one with an underscore', async () => {
    const cases = [
      ['bad:', 'illegal_docid', 'Document id must not be empty'],
      [':bad', 'illegal_partition', 'Partition must not be empty'],
      ['bad:_rest', 'illegal_docid', 'Only reserved document ids may start with underscore.'],
      ['_bad:rest', 'illegal_docid', 'Only reserved document ids may start with underscore.'],
    ] as const
    for (const [id, error, reason] of cases) {
      const body = { docs: [{ _id: id }] }
      const refused = { status: 400, json: { error, reason } }
      assert.deepEqual(await partitions.answer('PUT', `/ids/${id}`, { body: {} }), refused)
      assert.deepEqual(await partitions.answer('POST', '/ids/_bulk_docs', { body }), refused)
    }
  })

  it('are free for design and local documents', async () => {
    await partitions.put('/ids/_design/d', {})
    await partitions.put('/ids/_local/l', {})
    await partitions.post('/ids/_bulk_docs', { docs: [{ _id: '_design/e' }, { _id: '_local/m' }] })
    await partitions.ok('GET', '/ids/_design/e')
    await partitions.ok('GET', '/ids/_local/m')
  })

  it('without a partition can be neither read nor purged', async () => {
    assert.deepEqual(await partitions.answer('GET', '/ids/plain'), { status: 400, json: ILLEGAL })
    const got = await partitions.post<{ results: unknown }>('/ids/_bulk_get', {
      docs: [{ id: 'plain' }],
    })
    assert.deepEqual(got.results, [
      { id: 'plain', docs: [{ error: { id: 'plain', rev: null, ...ILLEGAL } }] },
    ])
    const purge = { body: { plain: ['1-967a00dff5e02add41819138abb3284d'] } }
    const refused = await partitions.answer('POST', '/ids/_purge', purge)
    assert.deepEqual(refused, { status: 400, json: ILLEGAL })
  })

  it('fail one by one when they are replicated', async () => {
    await partitions.make('plain-source', false)
    await partitions.make('partitioned-target')
    await partitions.post('/plain-source/_bulk_docs', { docs: [{ _id: 'plain' }, { _id: 'p:1' }] })
    const body = { source: 'plain-source', target: 'partitioned-target' }
    const done = await partitions.post<{
      history: { doc_write_failures: number; docs_written: number }[]
    }>('/_replicate', body)
    const [last] = done.history
    assert.deepEqual([last?.docs_written, last?.doc_write_failures], [1, 1])
    assert.deepEqual(idsOf(await partitions.ok('GET', '/partitioned-target/_all_docs')), ['p:1'])
  })
})

describe('GET /{db}/_partition/{partition}', () => {
  before(() => partitions.make('info'))
  const infoOf = (partition: string): Promise<Info> =>
    partitions.ok('GET', `/info/_partition/${partition}`)

  it('tells the counts and sizes of a partition, in this order', async () => {
    const answer = await partitions.server.ask('GET', '/info/_partition/nobody')
    assert.equal(
      answer.text,
      '{"db_name":"info","sizes":{"active":0,"external":0},"partition":"nobody","doc_count":0,' +
        '"doc_del_count":0}\n',
    )
  })

  it('follows writes, deletions and purges of this partition alone', async () => {
    const { rev } = await partitions.put('/info/a:1', { text: 'short' })
    const one = await infoOf('a')
    assert.deepEqual([one.doc_count, one.doc_del_count, one.partition], [1, 0, 'a'])
    assert.ok(one.sizes.external > 0 && one.sizes.active > 0)
    const { rev: longer } = await partitions.put('/info/a:1', {
      text: 'short no more'.repeat(10),
      _rev: rev,
    })
    const second = await partitions.put('/info/a:2', {})
    const two = await infoOf('a')
    assert.equal(two.doc_count, 2)
    assert.ok(two.sizes.external > one.sizes.external)
    await partitions.put('/info/ab:1', { text: 'elsewhere' })
    await partitions.put('/info/_design/d', { text: 'nowhere' })
    assert.deepEqual(await infoOf('a'), two)
    await partitions.ok('DELETE', `/info/a:1?rev=${longer}`)
    const three = await infoOf('a')
    assert.deepEqual([three.doc_count, three.doc_del_count], [1, 1])
    assert.ok(three.sizes.external < two.sizes.external)
    await partitions.post('/info/_purge', { 'a:2': [second.rev] })
    const four = await infoOf('a')
    assert.deepEqual([four.doc_count, four.doc_del_count], [0, 1])
    assert.ok(four.sizes.external < three.sizes.external)
    assert.equal((await infoOf('ab')).doc_count, 1)
  })

  it('counts attachments, and adds up to the whole', async () => {
    const headers = { 'Content-Type': 'image/png' }
    await partitions.ok('PUT', '/info/files:1/x', { body: 'x'.repeat(1000), headers })
    const files = await infoOf('files')
    assert.ok(files.sizes.external >= 1000 && files.sizes.active >= 1000)
    const whole = await partitions.ok<{ sizes: { external: number } }>('GET', '/info')
    const design = Buffer.byteLength('{"text":"nowhere"}')
    const parts = [files, await infoOf('a'), await infoOf('ab')]
    const sum = parts.reduce((bytes, { sizes }) => bytes + sizes.external, design)
    assert.equal(whole.sizes.external, sum)
  })

  it('stays right when conflicts win and lose', async () => {
    const revs = ['1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '1-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb']
    const docs = [
      { _id: 'c:1', _rev: revs[0], text: 'loses' },
      { _id: 'c:1', _rev: revs[1], text: 'wins, and is longer' },
    ]
    await partitions.post('/info/_bulk_docs', { docs, new_edits: false })
    const won = (await infoOf('c')).sizes.external
    assert.equal(won, Buffer.byteLength('{"text":"wins, and is longer"}'))
    await partitions.post('/info/_purge', { 'c:1': [revs[1]] })
    const { doc_count, sizes } = await infoOf('c')
    assert.deepEqual([doc_count, sizes.external], [1, Buffer.byteLength('{"text":"loses"}')])
    await partitions.post('/info/_purge', { 'c:1': [revs[0]] })
    assert.deepEqual((await infoOf('c')).sizes, { active: 0, external: 0 })
  })

  it('refuses names that are none, and databases without partitions', async () => {
    await partitions.make('whole', false)
    const underscore = 'Partition must not start with an underscore'
    const refused = (reason: string) => ({ error: 'illegal_partition', reason })
    assert.deepEqual(
      (await partitions.answer('GET', '/info/_partition/_x')).json,
      refused(underscore),
    )
    const colon = await partitions.answer('GET', '/info/_partition/a%3Ab')
    assert.deepEqual(colon.json, refused('Partition must not contain a colon'))
    assert.deepEqual(
      (await partitions.answer('GET', '/info/_partition/_find')).json,
      refused(underscore),
    )
    for (const path of ['', '/_all_docs', '/_design/d/_view/v', '/nowhere']) {
      const answer = await partitions.answer('GET', `/whole/_partition/x${path}`)
      assert.deepEqual(answer, { status: 400, json: NOT_PARTITIONED })
    }
    const bare = await partitions.answer('GET', '/info/_partition')
    assert.deepEqual(bare, {
      status: 400,
      json: { error: 'bad_request', reason: 'invalid_partition_req' },
    })
    const wrong = await partitions.server.ask('POST', '/info/_partition/a', { body: {} })
    assert.deepEqual([wrong.status, wrong.headers.allow], [405, 'GET'])
    const nothing = await partitions.answer('GET', '/info/_partition/a/nowhere')
    assert.deepEqual(nothing, { status: 404, json: { error: 'not_found', reason: 'missing' } })
  })
})

describe('_all_docs of a partition', () => {
  const path = '/listed/_partition/foo/_all_docs'
  const listed = (query: string): Promise<Rows> => partitions.ok('GET', `${path}?${query}`)
  before(async () => {
    await partitions.make('listed')
    await partitions.fill('listed', [
      { _id: '_design/d' },
      { _id: 'fo:1' },
      { _id: 'foo2:1' },
      { _id: 'fop:1' },
    ])
  })

  it('has its documents and no others', async () => {
    const { rows, total_rows } = await partitions.ok<Rows>('GET', path)
    assert.equal(rows.length, 50)
    assert.ok(rows.every(({ id }) => id.startsWith('foo:')))
    assert.equal(total_rows, 104)
    assert.deepEqual(
      (await partitions.ok<Rows>('GET', '/listed/_partition/nobody/_all_docs')).rows,
      [],
    )
  })

  it('goes both ways, and skips', async () => {
    assert.deepEqual(idsOf(await listed('limit=3')), ['foo:10', 'foo:100', 'foo:12'])
    const last = ['foo:98', 'foo:96', 'foo:94']
    assert.deepEqual(idsOf(await listed('limit=3&descending=true')), last)
    assert.deepEqual(idsOf(await listed('skip=48')), ['foo:96', 'foo:98'])
    assert.deepEqual(idsOf(await listed('skip=48&descending=true')), ['foo:100', 'foo:10'])
  })

  it('draws in the bounds of ranges', async () => {
    const range = await listed('start_key="foo:12"&end_key="foo:18"')
    assert.deepEqual(idsOf(range), ['foo:12', 'foo:14', 'foo:16', 'foo:18'])
    const open = await listed('start_key="foo:12"&end_key="foo:18"&inclusive_end=false')
    assert.deepEqual(idsOf(open), ['foo:12', 'foo:14', 'foo:16'])
    assert.equal((await listed('start_key="a"&end_key="z"&inclusive_end=false')).rows.length, 50)
    assert.equal((await listed('start_key="z"&end_key="a"&descending=true')).rows.length, 50)
    assert.equal((await listed('start_key=1')).rows.length, 50)
    for (const query of ['start_key="z"', 'end_key="a"', 'end_key=1', 'key="bar:1"']) {
      assert.deepEqual((await listed(query)).rows, [], query)
    }
    const down = await listed('descending=true&start_key="foo:16"&end_key="foo:14"')
    assert.deepEqual(idsOf(down), ['foo:16', 'foo:14'])
    assert.deepEqual((await listed('descending=true&start_key="a"')).rows, [])
    assert.deepEqual((await listed('descending=true&end_key="z"&start_key="zz"')).rows, [])
    assert.deepEqual(idsOf(await listed('key="foo:22"')), ['foo:22'])
  })

  it('takes keys, of which those of other partitions are not found', async () => {
    const { rows } = await partitions.post<Rows>(path, {
      keys: ['foo:4', 'bar:1', 'foo:2', '_design/d'],
    })
    assert.deepEqual(
      rows.map(({ id, key, error }) => error ?? [id, key]),
      [['foo:4', 'foo:4'], 'not_found', ['foo:2', 'foo:2'], 'not_found'],
    )
  })

  it('takes several queries', async () => {
    const queries = [{ limit: 1 }, { keys: ['foo:2', 'bar:1'] }]
    const { results } = await partitions.post<{ results: Rows[] }>(`${path}/queries`, { queries })
    assert.deepEqual(results.map(idsOf), [['foo:10'], ['foo:2', undefined]])
  })

  it('is also a parameter of the whole list, where there are partitions', async () => {
    const rows = await partitions.ok<Rows>('GET', '/listed/_all_docs?partition=foo2')
    assert.deepEqual(idsOf(rows), ['foo2:1'])
    await partitions.make('unlisted', false)
    const refused = {
      status: 400,
      json: {
        error: 'query_parse_error',
        reason: '`partition` parameter is not supported on this db',
      },
    }
    assert.deepEqual(await partitions.answer('GET', '/unlisted/_all_docs?partition=foo'), refused)
    const keys = { body: { keys: ['a'] } }
    assert.deepEqual(
      await partitions.answer('POST', '/unlisted/_all_docs?partition=foo', keys),
      refused,
    )
  })

  it('refuses another partition in the query', async () => {
    const reason = 'Conflicting value for `partition` in query string'
    const refused = { status: 400, json: { error: 'bad_request', reason } }
    assert.deepEqual(await partitions.answer('GET', `${path}?partition=bar`), refused)
    const body = { queries: [{ partition: 'bar' }] }
    assert.equal((await partitions.answer('POST', `${path}/queries`, { body })).status, 400)
    assert.equal(
      (await partitions.answer('POST', path, { body: { partition: 'bar' } })).status,
      400,
    )
  })
})

describe('rights in a partition', () => {
  it('are those of the database', async () => {
    await partitions.make('guarded')
    await partitions.put('/guarded/p:1', {})
    await partitions.put('/guarded/_security', {
      members: { names: ['mia'] },
      admins: { names: ['dana'] },
    })
    for (const place of ['', '/_all_docs', '/_design/d/_view/v', '/nowhere']) {
      const answer = await partitions.server.ask('GET', `/guarded/_partition/p${place}`, {
        user: null,
      })
      assert.equal(answer.status, 401)
    }
    const body = { name: 'mia', type: 'user', roles: [], password: 'pw-m' }
    await partitions.ok('PUT', '/_users', {})
    await partitions.ok('PUT', '/_users/org.couchdb.user:mia', { body })
    const mia = { user: 'mia:pw-m' }
    assert.equal((await partitions.server.ask('GET', '/guarded/_partition/p', mia)).status, 200)
    const index = { ...mia, body: { index: { fields: ['a'] } } }
    assert.equal(
      (await partitions.server.ask('POST', '/guarded/_partition/p/_index', index)).status,
      401,
    )
  })
})
