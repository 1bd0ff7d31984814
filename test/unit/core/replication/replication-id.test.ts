import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { replicationId } from '../../../../src/core/replication/replication-id.ts'

const endpoint = (path: string) => ({
  user: 'admin',
  host: '127.0.0.1',
  port: 35984,
  path,
  headers: [],
})
const plain = {
  serverUuid: '0123456789abcdef0123456789abcdef',
  source: endpoint('/dbc/'),
  target: endpoint('/rt1/'),
}

describe('the name of a replication', () => {
  it('is the one CouchDB gives', () => {
    assert.equal(replicationId(plain).base, 'd1d19f1f458c5a11b01475e686327398')
    assert.equal(replicationId(plain).id, 'd1d19f1f458c5a11b01475e686327398')
  })

  it('says what changes how it ends', () => {
    const { base, id } = replicationId({ ...plain, continuous: true, createTarget: true })
    assert.equal(base, 'd1d19f1f458c5a11b01475e686327398')
    assert.equal(id, `${base}+continuous+create_target`)
  })

  it('is another for everything that changes which documents go over', () => {
    const filter = { code: 'function () {}', queryParams: { a: 1, b: 'x' } }
    const bases = [
      plain,
      { ...plain, docIds: ['a'] },
      { ...plain, docIds: [] },
      { ...plain, selector: '{"n":1}' },
      { ...plain, selector: '{"n":1.0}' },
      { ...plain, filter },
      { ...plain, filter: { ...filter, code: 'function (d) {}' } },
      { ...plain, filter: { ...filter, queryParams: { a: 2, b: 'x' } } },
      { ...plain, winningRevsOnly: true },
      { ...plain, source: { ...plain.source, user: undefined } },
      { ...plain, source: { ...plain.source, port: undefined } },
      { ...plain, source: { ...plain.source, headers: [['X-A', 'é']] as [string, string][] } },
      { ...plain, source: { ...plain.source, path: '/日本/' } },
    ].map(each => replicationId(each).base)
    assert.equal(new Set(bases).size, bases.length)
  })

  it('does not depend on the order in which things are named', () => {
    const ids = (docIds: string[]) => replicationId({ ...plain, docIds }).base
    assert.equal(ids(['a', 'b']), ids(['b', 'a', 'b']))
    const params = (queryParams: object) =>
      replicationId({ ...plain, filter: { code: ' f ', queryParams: { ...queryParams } } }).base
    assert.equal(params({ a: 1, b: 2 }), params({ b: 2, a: 1 }))
  })
})
