import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { replicationId } from '../../../../src/core/replication/replication-id.ts'

const endpoint = (path: string) => ({
  url: `http://127.0.0.1:35984${path}`,
  user: 'admin',
  host: '127.0.0.1',
  port: 35984,
  path,
  headers: [],
})
const plain = {
  serverUuid: '0123456789abcdef0123456789abcdef',
  hostName: 'here',
  port: 5984,
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
    const headers = (list: [string, string][]) =>
      replicationId({ ...plain, source: { ...plain.source, headers: list } }).base
    assert.equal(
      headers([
        ['b', '1'],
        ['a', '2'],
      ]),
      headers([
        ['a', '2'],
        ['b', '1'],
      ]),
    )
  })

  it('is one for all ways to write a selector', () => {
    const base = (selector: string) => replicationId({ ...plain, selector }).base
    const same = [
      ['{"n":1}', '{"n":{"$eq":1}}', '{ "n" : { "$eq" : 1 } }'],
      ['{"a":1,"b":2}', '{"$and":[{"a":1},{"b":2}]}', '{"$and":[{"a":{"$eq":1}},{"b":2}]}'],
      ['{"o":{"p":1.0}}', '{"o.p":1.0}'],
      ['{"o":{"$eq":{"x":1,"y":2e40}}}', '{"o":{"$eq":{"y":2e40,"x":1}}}'],
      ['{"$not":{"n":5}}', '{"n":{"$ne":5}}'],
      [
        '{"_id":{"$gt":null},"_x":{"$mod":[2,0]}}',
        '{"$and":[{"_id":{"$gt":null}},{"_x":{"$mod":[2,0]}}]}',
      ],
      ['{}'],
      ['{"n":1.0}'],
      ['{"n":12345678901234567890}'],
      ['{"n":12345678901234567891}'],
      ['{"n":[1,2,3]}'],
    ]
    const bases = same.map(list => new Set(list.map(base)))
    assert.deepEqual(
      bases.map(each => each.size),
      same.map(() => 1),
    )
    assert.equal(new Set(bases.flatMap(each => [...each])).size, same.length)
    assert.throws(() => base('{"n":{"$odd":1}}'), { code: 'mango_invalid' })
    assert.throws(() => base('{"n":{"$mod":[2.5,0]}}'), { code: 'mango_invalid' })
    const deep = `{"n":${'['.repeat(5000)}${']'.repeat(5000)}}`
    assert.throws(() => base(deep), { code: 'request_invalid' })
  })

  it('hashes the bytes of the terms that CouchDB has', () => {
    const term = Buffer.concat([
      Buffer.from('836c000000046d00000020', 'hex'),
      Buffer.from(plain.serverUuid),
      ...['/dbc/', '/rt1/'].map(path =>
        Buffer.concat([
          Buffer.from('680764000672656d6f74656b000561646d696e6b0009', 'hex'),
          Buffer.from('127.0.0.1'),
          Buffer.from('6200008c906b0005', 'hex'),
          Buffer.from(path),
          Buffer.from('6a640009756e646566696e6564', 'hex'),
        ]),
      ),
      // {[{<<"n">>, {[{<<"$in">>, [1, 2.0]}]}}]}
      Buffer.from('68016c0000000168026d000000016e', 'hex'),
      Buffer.from('68016c0000000168026d0000000324696e', 'hex'),
      Buffer.from('6c000000026101464000000000000000' + '6a' + '6a' + '6a' + '6a', 'hex'),
    ])
    const expected = createHash('md5').update(term).digest('hex')
    assert.equal(replicationId({ ...plain, selector: '{"n":{"$in":[1,2.0]}}' }).base, expected)
  })

  it('is known by the names that earlier versions gave it, none of which depends on a login', () => {
    const { base, earlier } = replicationId(plain)
    assert.equal(new Set([base, ...earlier]).size, 4)
    const [third, second, first] = earlier
    const elsewhere = replicationId({ ...plain, hostName: 'there', port: 1 }).earlier
    assert.equal(elsewhere[0], third)
    assert.notEqual(elsewhere[1], second)
    assert.notEqual(elsewhere[2], first)
    const other = { ...plain, source: { ...plain.source, user: undefined } }
    assert.deepEqual(replicationId(other).earlier, earlier)
    const text = '836c000000036d00000020'
    const ends = ['/dbc/', '/rt1/'].map(path =>
      Buffer.concat([
        Buffer.from('680364000672656d6f74656b001b', 'hex'),
        Buffer.from(`http://127.0.0.1:35984${path}`),
        Buffer.from('6a', 'hex'),
      ]),
    )
    const term = [Buffer.from(text, 'hex'), Buffer.from(plain.serverUuid), ...ends, Buffer.of(0x6a)]
    assert.equal(third, createHash('md5').update(Buffer.concat(term)).digest('hex'))
  })
})
