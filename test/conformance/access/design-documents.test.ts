/** Members read design documents and change none, whichever way they try. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { as, makeDatabase, registerPeople } from './people.ts'

const TEXT = { 'Content-Type': 'text/plain' }

describe('a member and design documents', () => {
  let server: TestServer
  let revs: string
  before(async () => {
    server = await startServer({ settings: { svc_httpd_auth: { secret: 's', iterations: '1' } } })
    await registerPeople(server)
    await makeDatabase(server, 'db')
    const body = { index: { fields: ['a'] }, ddoc: 'i', name: 'n', type: 'json' }
    assert.equal((await server.ask('POST', '/db/_index', { body })).status, 200)
  })
  after(() => server.close())
  const designs = async (): Promise<string> => (await server.ask('GET', '/db/_design_docs')).text
  beforeEach(async () => {
    revs = await designs()
  })

  const member = as('member')
  it('reads them', async () => {
    assert.equal((await server.ask('GET', '/db/_design/d', member)).status, 200)
  })

  const attempts: [string, string, string, object][] = [
    ['put', 'PUT', '/db/_design/new', { body: {} }],
    ['post', 'POST', '/db', { body: { _id: '_design/new' } }],
    ['put under an escaped id', 'PUT', '/db/_design%2Fnew', { body: {} }],
    ['copied to', 'COPY', '/db/doc', { headers: { Destination: '_design/new' } }],
    ['written in bulk', 'POST', '/db/_bulk_docs', { body: { docs: [{ _id: '_design/new' }] } }],
    [
      'replicated to',
      'POST',
      '/db/_bulk_docs',
      { body: { new_edits: false, docs: [{ _id: '_design/new', _rev: '1-a' }] } },
    ],
    ['given an attachment', 'PUT', '/db/_design/new/file', { body: 'x', headers: TEXT }],
    ['indexed', 'POST', '/db/_index', { body: { index: { fields: ['b'] } } }],
    ['deleted as an index', 'DELETE', '/db/_index/i/json/n', {}],
    ['deleted as indexes', 'POST', '/db/_index/_bulk_delete', { body: { docids: ['_design/i'] } }],
    ['put in a batch', 'PUT', '/db/_design/new?batch=ok', { body: {} }],
  ]
  for (const [how, method, path, options] of attempts) {
    it(`changes none: ${how}`, async () => {
      await server.ask(method, path, { ...options, ...member })
      assert.equal(await designs(), revs)
    })
  }

  it('and the admin of the database may', async () => {
    const put = await server.ask('PUT', '/db/_design/own', { body: {}, ...as('databaseAdmin') })
    assert.equal(put.status, 201)
    assert.notEqual(await designs(), revs)
  })
})
