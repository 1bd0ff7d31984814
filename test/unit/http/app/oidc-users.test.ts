/** Users who log in with an identity provider: how their accounts are made and changed. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startApplication, type TestApplication } from '../../../support/application.ts'

type Json = Record<string, unknown>

const PASSWORD = 'Secret1.x9'

let app: TestApplication
before(async () => {
  app = await startApplication()
})
after(() => app.close())

const post = async (url: string, body: Json): Promise<[number, unknown]> => {
  const { status, json } = await app.ask('POST', url, { body })
  return [status, (json as Json).error]
}
const create = (username: string, more: Json) =>
  post('/api/v1/users', { username, roles: ['analytics'], ...more })
const account = async (name: string) =>
  (await app.ask('GET', `/_users/org.svc.user:${name}`)).json as Json
const settings = async (name: string) =>
  (await app.ask('GET', `/svc/org.svc.user:${name}`)).json as Json
const OIDC = { oidc_username: 'ann@example.org' }

describe('an account with an identity provider', () => {
  it('needs one that is configured', async () => {
    assert.deepEqual(await create('ann', OIDC), [
      400,
      'Cannot set oidc_username when OIDC Login is not enabled.',
    ])
    const body = {
      oidc_provider: { discovery_url: 'https://id.example.org', client_id: 'svc' },
      token_login: { enabled: true, message: 'x' },
      app_url: 'https://a.example',
    }
    assert.equal((await app.ask('PUT', '/api/v1/settings', { body })).status, 200)
  })

  it('is made without a password, or any other way in', async () => {
    assert.deepEqual(await create('ann', { ...OIDC, password: PASSWORD }), [
      400,
      'Cannot set password or token_login with oidc_username.',
    ])
    const token = { token_login: true, phone: '+12025550123' }
    assert.deepEqual(await create('ann', { ...OIDC, ...token }), [
      400,
      'Cannot set token_login with oidc_username.',
    ])
    assert.deepEqual(await create('ann', { oidc_username: 7 }), [
      400,
      'The oidc_username must be a string.',
    ])
    assert.deepEqual(await create('ann', OIDC), [200, undefined])
    const made = await account('ann')
    assert.deepEqual(
      [made.oidc_username, made.password_change_required, typeof made.derived_key],
      ['ann@example.org', false, 'string'],
    )
    assert.equal((await settings('ann')).oidc_login, true)
    const { json } = await app.ask('GET', '/api/v2/users/ann')
    assert.equal((json as Json).oidc_username, 'ann@example.org')
  })

  it('has its name at the provider for itself', async () => {
    const taken = 'The oidc_username [ann@example.org] already exists for user [org.svc.user:ann].'
    assert.deepEqual(await create('bob', OIDC), [400, taken])
    await create('bob', { password: PASSWORD })
    assert.deepEqual(await post('/api/v1/users/bob', OIDC), [400, taken])
    assert.deepEqual(await post('/api/v1/users/ann', OIDC), [200, undefined])
  })

  it('can be given to a user and taken from him', async () => {
    assert.deepEqual(await post('/api/v1/users/bob', { oidc_username: 'bob@example.org' }), [
      200,
      undefined,
    ])
    assert.equal((await account('bob')).oidc_username, 'bob@example.org')
    assert.equal((await app.ask('GET', '/_session', { user: `bob:${PASSWORD}` })).status, 401)
    assert.deepEqual(await post('/api/v1/users/bob', { password: PASSWORD }), [
      400,
      'Cannot set password or token_login with oidc_username.',
    ])
    assert.deepEqual(
      await post('/api/v1/users/bob', { token_login: true, phone: '+12025550123' }),
      [400, 'Cannot set token_login with oidc_username.'],
    )
    const back = { oidc_username: null, password: PASSWORD }
    assert.deepEqual(await post('/api/v1/users/bob', back), [200, undefined])
    assert.equal((await account('bob')).oidc_username, undefined)
    assert.equal((await settings('bob')).oidc_login, undefined)
    assert.equal((await app.ask('GET', '/_session', { user: `bob:${PASSWORD}` })).status, 200)
  })

  it('is not for people to change themselves', async () => {
    const { status } = await app.ask('POST', '/api/v1/users/bob', {
      user: `bob:${PASSWORD}`,
      body: OIDC,
    })
    assert.equal(status, 401)
  })
})
