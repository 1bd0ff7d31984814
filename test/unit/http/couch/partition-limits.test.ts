import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { BY_VALUE, type Rows } from '../../../support/partitions.ts'
import { startServer, type TestServer } from '../../../support/start-server.ts'

describe('limits of partitions', () => {
  let limited: TestServer
  before(async () => {
    limited = await startServer({
      settings: {
        couchdb: { max_partition_size: '10240' },
        query_server_config: { partition_query_limit: '20' },
      },
    })
  })
  after(() => limited.close())

  async function makeFull(name: string): Promise<string[]> {
    assert.equal((await limited.ask('PUT', `/${name}?partitioned=true`)).status, 201)
    const docs = Array.from({ length: 15 }, (_, n) => ({
      _id: `foo:${n}`,
      value: '0'.repeat(1024),
    }))
    const answer = await limited.ask('POST', `/${name}/_bulk_docs`, { body: { docs } })
    assert.equal(answer.status, 201)
    return (answer.json as { rev: string }[]).map(({ rev }) => rev)
  }

  const overflow = (id: string) => ({
    error: 'partition_overflow',
    reason: `Partition limit exceeded due to update on '${id}'`,
  })

  it('hold for a full partition and no other', async () => {
    await makeFull('full')
    const put = await limited.ask('PUT', '/full/foo:bar', { body: { value: 'stuff' } })
    assert.deepEqual([put.status, put.json], [403, overflow('foo:bar')])
    const posted = await limited.ask('POST', '/full', { body: { _id: 'foo:bar' } })
    assert.equal(posted.status, 403)
    const docs = [{ _id: 'foo:bar' }, { _id: 'baz:1' }]
    const bulk = await limited.ask('POST', '/full/_bulk_docs', { body: { docs } })
    const [refused, taken] = bulk.json as Record<string, unknown>[]
    assert.equal(bulk.status, 201)
    assert.deepEqual(refused, { id: 'foo:bar', ...overflow('foo:bar') })
    assert.equal(taken?.ok, true)
    const headers = { 'Content-Type': 'text/plain' }
    const file = await limited.ask('PUT', '/full/foo:file/x', { body: 'x', headers })
    assert.equal(file.status, 403)
    assert.equal((await limited.ask('PUT', '/full/_design/d', { body: {} })).status, 201)
    assert.equal((await limited.ask('GET', '/full/foo:1')).status, 200)
  })

  it('let a full partition shrink and be copied to', async () => {
    const revs = await makeFull('shrinks')
    const shorter = { value: '', _rev: revs[0] }
    assert.equal((await limited.ask('PUT', '/shrinks/foo:0', { body: shorter })).status, 201)
    const longer = { value: '1'.repeat(2000), _rev: revs[1] }
    assert.equal((await limited.ask('PUT', '/shrinks/foo:1', { body: longer })).status, 403)
    assert.equal((await limited.ask('DELETE', `/shrinks/foo:2?rev=${revs[2]}`)).status, 200)
    const body = { _rev: '1-23202479633c2b380f79507a776743d5', value: 'stuff' }
    const copied = await limited.ask('PUT', '/shrinks/foo:bar?new_edits=false', { body })
    assert.equal(copied.status, 201)
    const purge = Object.fromEntries(revs.slice(3, 14).map((rev, at) => [`foo:${at + 3}`, [rev]]))
    const purged = await limited.ask('POST', '/shrinks/_purge', { body: purge })
    assert.equal(purged.status, 201)
    assert.equal((await limited.ask('PUT', '/shrinks/foo:new', { body: {} })).status, 201)
  })

  it('can be changed, and turned off', async () => {
    await makeFull('changed')
    const set = (value: string) =>
      limited.ask('PUT', '/_node/_local/_config/couchdb/max_partition_size', {
        body: JSON.stringify(value),
        headers: { 'Content-Type': 'application/json' },
      })
    for (const value of ['1000000', '0']) {
      assert.equal((await set(value)).status, 200)
      assert.equal(
        (await limited.ask('PUT', `/changed/foo:up-to-${value}`, { body: {} })).status,
        201,
      )
      await set('10240')
      assert.equal((await limited.ask('PUT', `/changed/foo:x${value}`, { body: {} })).status, 403)
    }
  })

  it('bound the rows of a question', async () => {
    assert.equal((await limited.ask('PUT', '/rows?partitioned=true')).status, 201)
    const docs = Array.from({ length: 30 }, (_, n) => ({ _id: `foo:${n}`, some: 1, value: n }))
    await limited.ask('POST', '/rows/_bulk_docs', { body: { docs } })
    await limited.ask('PUT', '/rows/_design/d', { body: { views: { some: BY_VALUE } } })
    for (const place of ['_all_docs', '_design/d/_view/some']) {
      const path = `/rows/_partition/foo/${place}`
      const answer = await limited.ask('GET', `${path}?limit=21`)
      assert.deepEqual(
        [answer.status, answer.json],
        [400, { error: 'query_parse_error', reason: 'Limit is too large, must not exceed 20' }],
      )
      for (const query of ['?limit=20', '']) {
        const { rows } = (await limited.ask('GET', path + query)).json as Rows
        assert.equal(rows.length, 20)
      }
    }
    assert.equal(((await limited.ask('GET', '/rows/_all_docs')).json as Rows).rows.length, 31)
  })
})
