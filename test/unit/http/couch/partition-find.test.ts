import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { idsOf, NOT_PARTITIONED, PartitionServer, type Rows } from '../../../support/partitions.ts'

interface Found {
  readonly docs: readonly { readonly _id: string }[]
  readonly bookmark: string
  readonly warning?: string
}

let partitions: PartitionServer
before(async () => {
  partitions = await PartitionServer.start()
})
after(() => partitions.close())

describe('_find in a partition', () => {
  const find = (partition: string, body: unknown): Promise<Found> =>
    partitions.post(`/found/_partition/${partition}/_find`, body)
  const explain = (place: string, body: unknown): Promise<Record<string, unknown>> =>
    partitions.post(`/found/${place}_explain`, body)
  const found = ({ docs }: Found): string[] => docs.map(({ _id }) => _id)
  before(async () => {
    await partitions.make('found')
    await partitions.fill('found', [{ _id: 'foo2:1', value: 7, some: 'field' }])
  })

  it('reads its documents by id', async () => {
    const all = await find('foo', { selector: { some: 'field' }, limit: 100 })
    assert.equal(all.docs.length, 50)
    assert.ok(found(all).every(id => id.startsWith('foo:')))
    const page = await find('foo', { selector: { _id: { $gt: 'foo:96' } } })
    assert.deepEqual(found(page), ['foo:98'])
    const range = await find('bar', { selector: { value: { $gte: 6, $lt: 12 } } })
    assert.deepEqual(found(range), ['bar:11', 'bar:7', 'bar:9'])
    assert.deepEqual(found(await find('foo2', { selector: { _id: { $gt: null } } })), ['foo2:1'])
  })

  it('uses partitioned indexes, page by page, in both directions', async () => {
    await partitions.post('/found/_index', { index: { fields: ['value'] }, ddoc: 'p', name: 'v' })
    const selector = { value: { $gte: 6, $lt: 16 } }
    const first = await find('foo', { selector, limit: 3, sort: [{ value: 'asc' }] })
    assert.deepEqual(found(first), ['foo:6', 'foo:8', 'foo:10'])
    const { bookmark } = first
    const second = await find('foo', { selector, limit: 3, sort: [{ value: 'asc' }], bookmark })
    assert.deepEqual(found(second), ['foo:12', 'foo:14'])
    const down = { selector, limit: 2, sort: [{ value: 'desc' }] }
    const last = await find('foo', down)
    assert.deepEqual(found(last), ['foo:14', 'foo:12'])
    const before = await find('foo', { ...down, bookmark: last.bookmark })
    assert.deepEqual(found(before), ['foo:10', 'foo:8'])
    const open = await find('foo', { selector: { value: { $gt: 97 } } })
    assert.deepEqual(found(open), ['foo:98', 'foo:100'])
    const covered = await find('bar', { selector: { value: { $lt: 4 } }, fields: ['_id', 'value'] })
    assert.deepEqual(covered.docs as readonly unknown[], [
      { _id: 'bar:1', value: 1 },
      { _id: 'bar:3', value: 3 },
    ])
    const foreign = await find('bar', { selector, bookmark })
    assert.ok(found(foreign).every(id => id.startsWith('bar:')))
  })

  it('explains itself', async () => {
    const selector = { value: { $gt: 5 } }
    const plan = await explain('_partition/foo/', { selector })
    const index = plan.index as { name: string; partitioned: boolean }
    assert.deepEqual([index.name, index.partitioned, plan.partitioned], ['v', true, true])
    assert.equal((plan.mrargs as { partition: unknown }).partition, 'foo')
    assert.equal((plan.opts as { partition: unknown }).partition, 'foo')
    const whole = await explain('', { selector })
    assert.equal((whole.index as { name: string }).name, '_all_docs')
    const { index_candidates: candidates } = whole as {
      index_candidates: { analysis: { reasons: unknown } }[]
    }
    assert.deepEqual(candidates[0]?.analysis.reasons, [{ name: 'scope_mismatch' }])
  })

  it('does not use global indexes, nor global queries partitioned ones', async () => {
    const definition = { index: { fields: ['some'] }, partitioned: false, ddoc: 'g', name: 's' }
    await partitions.post('/found/_index', definition)
    const selector = { some: 'field' }
    const own = await explain('_partition/foo/', { selector })
    assert.equal((own.index as { name: string }).name, '_all_docs')
    const whole = await explain('', { selector })
    assert.equal((whole.index as { name: string }).name, 's')
    const { docs } = await partitions.post<Found>('/found/_find', { selector, limit: 200 })
    assert.equal(docs.length, 101)
    const sorted = (place: string, field: string) =>
      partitions.answer('POST', `/found/${place}_find`, { body: { selector, sort: [field] } })
    const refused = (kind: string) => ({
      status: 400,
      json: {
        error: 'no_usable_index',
        reason: `No ${kind} index exists for this sort, try indexing by the sort fields.`,
      },
    })
    assert.deepEqual(await sorted('_partition/foo/', 'some'), refused('partitioned'))
    assert.deepEqual(await sorted('', 'value'), refused('global'))
  })

  it('finds in text indexes', async () => {
    await partitions.post('/found/_index', { index: {}, type: 'text', ddoc: 't', name: 't' })
    const body = { selector: { $text: 'one' }, limit: 100, use_index: 't' }
    const hits = found(await find('foo', body))
    assert.equal(hits.length, 16)
    assert.ok(hits.every(id => id.startsWith('foo:')))
    const exact = await find('bar', {
      selector: { group: 'one', value: { $lt: 10 } },
      use_index: 't',
    })
    assert.deepEqual(found(exact), ['bar:3', 'bar:9'])
  })

  it('lists and makes indexes below a partition as above it', async () => {
    const below = await partitions.ok<{ indexes: unknown }>('GET', '/found/_partition/foo/_index')
    assert.deepEqual(below, await partitions.ok('GET', '/found/_index'))
    const body = { index: { fields: ['group'] }, ddoc: 'below', name: 'b' }
    await partitions.post('/found/_partition/foo/_index', body)
    const { indexes } = await partitions.ok<{ indexes: { name: string; partitioned?: boolean }[] }>(
      'GET',
      '/found/_index',
    )
    assert.equal(indexes.find(({ name }) => name === 'b')?.partitioned, true)
    await partitions.ok('DELETE', '/found/_partition/foo/_index/below/json/b')
  })

  it('asks an index as a view, partition by partition', async () => {
    const rows = await partitions.ok<Rows>(
      'GET',
      '/found/_partition/foo/_design/p/_view/v?reduce=false&limit=2',
    )
    assert.deepEqual(idsOf(rows), ['foo:2', 'foo:4'])
    const counted = await partitions.ok<Rows>('GET', '/found/_partition/foo/_design/p/_view/v')
    assert.deepEqual(counted.rows, [{ key: null, value: 50 }])
  })

  it('refuses other partitions, and partitions of plain databases', async () => {
    const selector = { some: 'field' }
    const body = { selector, partition: 'bar' }
    assert.equal(
      (await partitions.answer('POST', '/found/_partition/foo/_find', { body })).status,
      400,
    )
    assert.equal((await partitions.answer('POST', '/found/_find', { body })).status, 200)
    const wrong = { body: { selector, partition: '_x' } }
    assert.deepEqual((await partitions.answer('POST', '/found/_find', wrong)).json, {
      error: 'illegal_partition',
      reason: 'Partition must not start with an underscore',
    })
    await partitions.make('unfound', false)
    const plain = await partitions.answer('POST', '/unfound/_find', { body })
    assert.equal(plain.status, 400)
    const below = await partitions.answer('POST', '/unfound/_partition/foo/_find', {
      body: { selector },
    })
    assert.deepEqual(below, { status: 400, json: NOT_PARTITIONED })
  })
})
