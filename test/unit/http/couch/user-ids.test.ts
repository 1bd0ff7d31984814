/** Documents of users are found by either prefix of their ids, in the databases where users are. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startServer, type TestServer } from '../../../support/start-server.ts'

const OURS = 'org.svc.user:'
const THEIRS = 'org.couchdb.user:'

let server: TestServer
before(async () => {
  server = await startServer({ application: true })
  for (const [prefix, name] of [
    [OURS, 'ann'],
    [THEIRS, 'bob'],
  ]) {
    const account = { name, type: 'user', roles: [], password: 'pw' }
    await server.ask('PUT', `/_users/${prefix}${name}`, { body: account })
    await server.ask('PUT', `/svc/${prefix}${name}`, { body: { type: 'user-settings' } })
  }
  await server.ask('PUT', '/other')
  await server.ask('PUT', `/other/${OURS}ann`, { body: {} })
})
after(() => server.close())

describe('ids of users', () => {
  for (const database of ['_users', 'svc', 'medic']) {
    it(`either prefix in ${database}`, async () => {
      for (const [name, stored] of [
        ['ann', OURS],
        ['bob', THEIRS],
      ]) {
        for (const prefix of [OURS, THEIRS]) {
          const { status, json } = await server.ask('GET', `/${database}/${prefix}${name}`)
          assert.equal(status, 200)
          assert.equal((json as { _id: string })._id, `${stored}${name}`)
        }
      }
      assert.equal((await server.ask('GET', `/${database}/${THEIRS}nobody`)).status, 404)
    })

    it(`either prefix among keys in ${database}`, async () => {
      const keys = [`${THEIRS}ann`, 'settings-of-nobody', `${OURS}bob`, `${THEIRS}nobody`]
      const path = `/${database}/_all_docs?include_docs=true`
      const { json } = await server.ask('POST', path, { body: { keys } })
      const { rows } = json as { rows: { id?: string; error?: string; doc?: { _id: string } }[] }
      assert.deepEqual(
        rows.map(({ doc, error }) => doc?._id ?? error),
        [`${OURS}ann`, 'not_found', `${THEIRS}bob`, 'not_found'],
      )
    })
  }

  it('elsewhere an id is an id', async () => {
    assert.equal((await server.ask('GET', `/other/${OURS}ann`)).status, 200)
    assert.equal((await server.ask('GET', `/other/${THEIRS}ann`)).status, 404)
  })

  it('what is read under the one and written back stays one account', async () => {
    const { json } = await server.ask('GET', `/_users/${THEIRS}ann`)
    const account = json as { _id: string }
    const { status } = await server.ask('PUT', `/_users/${account._id}`, {
      body: { ...account, nickname: 'A' },
    })
    assert.equal(status, 201)
    const { json: again } = await server.ask('GET', `/_users/${THEIRS}ann`)
    assert.equal((again as { nickname: string }).nickname, 'A')
  })

  it('a deleted account is gone under both', async () => {
    const { json } = await server.ask('GET', `/_users/${THEIRS}bob`)
    const { _rev } = json as { _rev: string }
    await server.ask('DELETE', `/_users/${THEIRS}bob?rev=${_rev}`)
    for (const prefix of [OURS, THEIRS]) {
      assert.equal((await server.ask('GET', `/_users/${prefix}bob`)).status, 404)
    }
  })

  it('others see no more of an account than before', async () => {
    const answer = await server.ask('GET', `/_users/${THEIRS}ann`, { user: 'bob:pw' })
    assert.ok(answer.status >= 401)
  })
})
