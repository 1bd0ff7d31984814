import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  BY_VALUE,
  idsOf,
  PartitionServer,
  type Row,
  type Rows,
} from '../../../support/partitions.ts'
import { startServer } from '../../../support/start-server.ts'

const byGroup = 'function (doc) { if (doc.group) emit([doc.some, doc.group], 1) }'

let partitions: PartitionServer
before(async () => {
  partitions = await PartitionServer.start()
})
after(() => partitions.close())

describe('views of a partitioned database', () => {
  const path = (design: string, partition = 'foo') =>
    `/viewed/_partition/${partition}/_design/${design}/_view/some`
  const rowsOf = (design: string, query = ''): Promise<Rows> =>
    partitions.ok('GET', `${path(design)}?${query}`)
  const custom = `function (keys, values, rereduce) {
    return rereduce ? sum(values) : values.length
  }`
  before(async () => {
    await partitions.make('viewed')
    await partitions.fill('viewed', [
      { _id: '_design/map', views: { some: BY_VALUE } },
      { _id: '_design/true', views: { some: BY_VALUE }, options: { partitioned: true } },
      { _id: '_design/false', views: { some: BY_VALUE }, options: { partitioned: false } },
      { _id: '_design/groups', views: { some: { map: byGroup } } },
      { _id: '_design/count', views: { some: { map: byGroup, reduce: '_count' } } },
      { _id: '_design/custom', views: { some: { map: byGroup, reduce: custom } } },
      { _id: '_design/own', views: { some: BY_VALUE }, options: { include_design: true } },
    ])
  })

  it('are asked partition by partition', async () => {
    for (const design of ['map', 'true', 'own']) {
      const rows = await partitions.ok<Rows>('GET', path(design))
      assert.equal(rows.rows.length, 50)
      assert.ok(rows.rows.every(({ id }) => id.startsWith('foo:')))
      assert.deepEqual([rows.total_rows, rows.offset], [100, 50])
    }
    assert.deepEqual((await partitions.ok<Rows>('GET', path('map', 'fo'))).rows, [])
  })

  it('are refused without a partition, unless they are global; those are refused with one', async () => {
    const mandatory = '`partition` parameter is mandatory for queries to this view.'
    const unsupported = '`partition` parameter is not supported in this design doc'
    const refused = (reason: string) => ({
      status: 400,
      json: { error: 'query_parse_error', reason },
    })
    assert.deepEqual(
      await partitions.answer('GET', '/viewed/_design/map/_view/some'),
      refused(mandatory),
    )
    assert.deepEqual(await partitions.answer('GET', path('false')), refused(unsupported))
    const whole = await partitions.ok<Rows>('GET', '/viewed/_design/false/_view/some')
    assert.equal(whole.rows.length, 100)
    const asked = await partitions.ok<Rows>('GET', '/viewed/_design/map/_view/some?partition=foo')
    assert.equal(asked.rows.length, 50)
    const bad = await partitions.answer('GET', '/viewed/_design/map/_view/some?partition=_foo')
    assert.deepEqual(bad.json, {
      error: 'illegal_partition',
      reason: 'Partition must not start with an underscore',
    })
  })

  it('have ranges and directions', async () => {
    const values = async (query: string) => (await rowsOf('map', query)).rows.map(row => row.key)
    assert.deepEqual(await values('start_key=12&end_key=20'), [12, 14, 16, 18, 20])
    assert.deepEqual(await values('start_key=12&end_key=20&inclusive_end=false'), [12, 14, 16, 18])
    assert.deepEqual(await values('start_key=97'), [98, 100])
    assert.deepEqual(await values('end_key=4'), [2, 4])
    assert.deepEqual(await values('descending=true&limit=2'), [100, 98])
    assert.deepEqual(await values('descending=true&start_key=6&end_key=3'), [6, 4])
    assert.deepEqual(await values('skip=5&limit=2'), [12, 14])
    assert.deepEqual(await values('key=22'), [22])
    assert.deepEqual(await values('key=21'), [])
    assert.deepEqual(await values('start_key="foo:12"'), [])
    const range = 'startkey=["field","one"]&endkey=["field","one"]'
    const ids = `${range}&startkey_docid=foo:12&endkey_docid=foo:30`
    assert.deepEqual(idsOf(await rowsOf('groups', ids)), ['foo:12', 'foo:18', 'foo:24', 'foo:30'])
  })

  it('take keys, and several queries', async () => {
    const keyed = await partitions.post<Rows>(path('map'), { keys: [6, 1, 2] })
    assert.deepEqual(idsOf(keyed), ['foo:6', 'foo:2'])
    const queries = [{ key: 2 }, { limit: 1, descending: true }]
    const { results } = await partitions.post<{ results: Rows[] }>(`${path('map')}/queries`, {
      queries,
    })
    assert.deepEqual(results.map(idsOf), [['foo:2'], ['foo:100']])
  })

  it('show documents', async () => {
    const { rows } = await rowsOf('map', 'key=2&include_docs=true')
    const [row] = rows as readonly (Row & { doc: { _id: string } })[]
    assert.equal(row?.doc._id, 'foo:2')
  })

  it('are reduced over the partition', async () => {
    const groups = [
      { key: ['field', 'one'], value: 16 },
      { key: ['field', 'two'], value: 34 },
    ]
    for (const design of ['count', 'custom']) {
      const rows = async (query: string) => (await rowsOf(design, query)).rows
      assert.deepEqual(await rows(''), [{ key: null, value: 50 }])
      assert.deepEqual(await rows('group_level=1'), [{ key: ['field'], value: 50 }])
      assert.deepEqual(await rows('group_level=2'), groups)
      assert.deepEqual(await rows('group=true'), groups)
      assert.deepEqual(await rows('group=true&descending=true'), groups.toReversed())
      assert.deepEqual(await rows('group=true&start_key=["field","two"]'), groups.slice(1))
      assert.deepEqual(await rows('start_key=["g"]'), [])
    }
    assert.deepEqual((await partitions.ok<Rows>('GET', path('count', 'nobody'))).rows, [])
  })

  it('follow what is written, deleted and moved between keys', async () => {
    const created = await partitions.put('/viewed/foo:new', { some: 1, value: 1000 })
    await partitions.put('/viewed/bar:new', { some: 1, value: 1000 })
    assert.deepEqual(idsOf(await rowsOf('map', 'start_key=999')), ['foo:new'])
    const changed = await partitions.put('/viewed/foo:new', {
      some: 1,
      value: 0,
      _rev: created.rev,
    })
    assert.deepEqual(idsOf(await rowsOf('map', 'limit=2')), ['foo:new', 'foo:2'])
    await partitions.ok('DELETE', `/viewed/foo:new?rev=${changed.rev}`)
    assert.deepEqual(idsOf(await rowsOf('map', 'limit=1')), ['foo:2'])
    const rest = await partitions.ok<Rows>('GET', `${path('map', 'bar')}?start_key=999`)
    assert.deepEqual(idsOf(rest), ['bar:new'])
  })

  it('do not know designs that are not there, nor other partitions in the query', async () => {
    assert.equal((await partitions.server.ask('GET', path('none'))).status, 404)
    const reason = 'Conflicting value for `partition` in query string'
    const refused = { status: 400, json: { error: 'bad_request', reason } }
    assert.deepEqual(await partitions.answer('GET', `${path('map')}?partition=bar`), refused)
    assert.equal(
      (await partitions.server.ask('GET', `${path('map')}?partition=foo&key=2`)).status,
      200,
    )
    assert.equal((await partitions.answer('GET', path('map', '_bar'))).status, 400)
  })

  it('cannot be partitioned in a plain database', async () => {
    await partitions.make('plain-views', false)
    const body = { views: { some: BY_VALUE }, options: { partitioned: true } }
    const { status, json } = await partitions.answer('PUT', '/plain-views/_design/d', { body })
    const reason = 'partitioned option cannot be true in a non-partitioned database.'
    assert.deepEqual([status, json], [400, { error: 'invalid_design_doc', reason }])
    await partitions.put('/plain-views/_design/d', { views: { some: BY_VALUE } })
    const given = await partitions.answer('GET', '/plain-views/_design/d/_view/some?partition=foo')
    assert.deepEqual(given.json, {
      error: 'query_parse_error',
      reason: '`partition` parameter is not supported in this design doc',
    })
  })
})

describe('a large view of many partitions', () => {
  it('is the same whether it was sorted in memory, in runs, or row by row', async () => {
    const small = await startServer({ settings: { indexing: { sort_bytes: '65536' } } })
    const { server } = partitions
    const servers = [server, small]
    try {
      const docs = Array.from({ length: 3000 }, (_, n) => ({
        _id: `${['p', 'p!', 'p-1', 'pé', 'p1'][n % 5]}:${n}`,
        n: n % 40,
        text: `${n % 7}`.repeat(20),
      }))
      const map = 'function (doc) { emit([doc.n % 4, doc.text], doc.n); emit("all", 1) }'
      const design = { views: { v: { map, reduce: '_sum' } } }
      for (const each of servers) {
        await each.ask('PUT', '/large?partitioned=true')
        await each.ask('POST', '/large/_bulk_docs', { body: { docs } })
      }
      await server.ask('PUT', '/large-late?partitioned=true')
      await server.ask('PUT', '/large-late/_design/d', { body: design })
      for (const each of servers) await each.ask('PUT', '/large/_design/d', { body: design })
      const late = '/large-late/_partition/p/_design/d/_view/v'
      for (let from = 0; from < docs.length; from += 500) {
        const body = { docs: docs.slice(from, from + 500) }
        await server.ask('POST', '/large-late/_bulk_docs', { body })
        await server.ask('GET', `${late}?limit=1&reduce=false`)
      }
      for (const partition of ['p', 'p!', 'p-1', 'pé', 'p1', 'p2']) {
        const place = `_partition/${encodeURIComponent(partition)}/_design/d/_view/v`
        for (const query of ['reduce=false', 'group=true', 'group_level=1', 'descending=true']) {
          const path = `${place}?${query}`
          const memory = (await server.ask('GET', `/large/${path}`)).json as Rows
          const runs = (await small.ask('GET', `/large/${path}`)).json as Rows
          const rows = (await server.ask('GET', `/large-late/${path}`)).json as Rows
          assert.deepEqual(runs, memory, path)
          assert.deepEqual(rows, memory, path)
          if (query !== 'reduce=false') continue
          assert.equal(memory.rows.length, partition === 'p2' ? 0 : 1200)
          assert.ok(memory.rows.every(({ id }) => id.startsWith(`${partition}:`)))
        }
      }
    } finally {
      await small.close()
    }
  })
})
