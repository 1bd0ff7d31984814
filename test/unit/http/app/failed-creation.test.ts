/**
 * Creating a user fails midway, at each of its writes in turn: a validation function refuses that document. Nothing of the
 * others is left then, nobody can log in, and the name is free for the next attempt.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { HIERARCHY, startApplication, type TestApplication } from '../../../support/application.ts'

type Json = Record<string, unknown>

const PASSWORD = 'Secret1.x9'
const settings = { token_login: { enabled: true, message: 'Hello' }, app_url: 'https://a.example' }

let app: TestApplication
before(async () => {
  app = await startApplication()
  await app.store(...HIERARCHY)
  assert.equal((await app.ask('PUT', '/api/v1/settings', { body: settings })).status, 200)
})
after(() => app.close())

async function refuse(database: string, condition: string): Promise<() => Promise<void>> {
  const path = `/${database}/_design/refuse`
  const rule = `function (doc) { if (!doc._deleted && (${condition})) throw { forbidden: 'not today' } }`
  const { status } = await app.ask('PUT', path, { body: { validate_doc_update: rule } })
  assert.equal(status, 201)
  return async () => {
    const { _rev } = (await app.ask('GET', path)).json as { _rev: string }
    assert.equal((await app.ask('DELETE', `${path}?rev=${_rev}`)).status, 200)
  }
}

const idsIn = async (database: string): Promise<string[]> => {
  const { rows } = (await app.ask('GET', `/${database}/_all_docs`)).json as { rows: Json[] }
  return rows.map(({ id }) => String(id)).filter(id => id !== '_design/refuse')
}

const user = {
  username: 'midway',
  type: 'chw',
  phone: '+12025550123',
  token_login: true,
  place: { name: 'New Center', type: 'health_center', parent: 'district' },
  contact: { name: 'New Person' },
}

const steps: readonly [string, string, string][] = [
  ['place', 'svc', "doc.type === 'health_center'"],
  ['person', 'svc', "doc.type === 'person'"],
  ['settings document', 'svc', "doc.type === 'user-settings'"],
  ['token', 'svc', "doc.type === 'token_login'"],
  ['account', '_users', "doc.name === 'midway'"],
]

describe('a creation that fails midway', () => {
  for (const [what, database, condition] of steps) {
    it(`at the ${what} leaves nothing behind`, async () => {
      const before = [await idsIn('svc'), await idsIn('_users')]
      const allowAgain = await refuse(database, condition)
      for (const given of [user, { ...user, token_login: false, password: PASSWORD }]) {
        if (what === 'token' && given.token_login === false) continue
        const { status, json } = await app.ask('POST', '/api/v1/users', { body: given })
        assert.deepEqual([status, (json as Json).error], [403, 'not today'])
        assert.deepEqual([await idsIn('svc'), await idsIn('_users')], before)
      }
      assert.equal((await app.ask('GET', '/_session', { user: `midway:${PASSWORD}` })).status, 401)
      const [row] = (await app.ask('POST', '/api/v1/users', { body: [user] })).json as Json[]
      assert.deepEqual(row, { error: 'not today' })
      assert.deepEqual([await idsIn('svc'), await idsIn('_users')], before)
      await allowAgain()
    })
  }

  it('does not take the name, and the next one makes all of it', async () => {
    const before = [(await idsIn('svc')).length, (await idsIn('_users')).length]
    const { status } = await app.ask('POST', '/api/v1/users', { body: user })
    assert.equal(status, 200)
    const after = [(await idsIn('svc')).length, (await idsIn('_users')).length]
    assert.deepEqual(after, [(before[0] as number) + 4, (before[1] as number) + 1])
  })
})
