/** Rules about users that depend on the settings or on time: types, permissions of the new user, tokens that are late. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { HIERARCHY, startApplication, type TestApplication } from '../../../support/application.ts'

type Json = Record<string, unknown>

const PASSWORD = 'Secret1.x9'
const HOUR_MS = 60 * 60 * 1000
let nowMs = 1_700_000_000_000

let app: TestApplication
before(async () => {
  app = await startApplication({ svc_httpd_auth: { secret: 'of these tests' } }, () => nowMs)
  await app.store(...HIERARCHY)
})
after(() => app.close())

const post = async (url: string, body: Json, user?: string | null) => {
  const who = user === undefined ? {} : { user }
  const { status, text } = await app.ask('POST', url, { body, ...who })
  return { status, text, json: (status === 302 ? {} : JSON.parse(text)) as Json }
}
const configure = async (body: Json) =>
  assert.equal((await app.ask('PUT', '/api/v1/settings', { body })).status, 200)
const account = async (name: string) =>
  (await app.ask('GET', `/_users/org.svc.user:${name}`)).json as Json

describe('the roles of a new user', () => {
  it('come from an old type, with what belongs to it', async () => {
    const rows: [string, string[]][] = [
      ['national-manager', ['kujua_user', 'data_entry', 'national_admin', 'mm-online']],
      ['district-manager', ['kujua_user', 'data_entry', 'district_admin', 'mm-online']],
      ['facility-manager', ['kujua_user', 'data_entry', 'mm-online']],
      ['data-entry', ['data_entry', 'mm-online']],
      ['analytics', ['kujua_analytics', 'mm-online']],
      ['gateway', ['kujua_gateway', 'mm-online']],
      ['crfo', ['mm-online']],
    ]
    for (const [type, roles] of rows) {
      const given = { username: type, password: PASSWORD, type, roles: ['chw'] }
      const { status, json } = await post('/api/v1/users', given)
      assert.equal(status, 200, JSON.stringify(json))
      assert.deepEqual((await account(type)).roles, [type, ...roles])
    }
  })

  it('that nobody has heard of are those of somebody who works offline', async () => {
    const given = { username: 'unheard', password: PASSWORD, roles: ['unheard-of', 'mm-online'] }
    const { json } = await post('/api/v1/users', given)
    assert.equal((json.error as Json).message, 'Missing required fields: place, contact')
    const whole = { ...given, place: 'center', contact: 'nurse' }
    assert.equal((await post('/api/v1/users', whole)).status, 200)
    assert.deepEqual((await account('unheard')).roles, ['unheard-of'])
  })
})

describe('permissions of the new user himself', () => {
  it('let him keep his first password', async () => {
    await configure({ permissions: { can_skip_password_change: ['crfo'] } })
    const make = (username: string, more: Json) =>
      post('/api/v1/users', { username, password: PASSWORD, ...more })
    await make('skips', { roles: ['crfo'] })
    await make('changes', { roles: ['analytics'] })
    await make('asked', { roles: ['analytics'], password_change_required: false })
    const required = async (name: string) => (await account(name)).password_change_required
    assert.deepEqual(
      [await required('skips'), await required('changes'), await required('asked')],
      [false, true, false],
    )
  })

  it('let him have several places', async () => {
    await configure({ permissions: { can_have_multiple_places: ['chw'] } })
    const place = ['center', 'clinic']
    const given = { username: 'many', password: PASSWORD, type: 'chw', place, contact: 'nurse' }
    const { status, json } = await post('/api/v3/users', given)
    assert.equal(status, 200, JSON.stringify(json))
    assert.deepEqual((await account('many')).facility_id, place)
    const fewer = await post('/api/v1/users/many', { place: ['clinic'], contact: 'mother' })
    assert.equal(fewer.status, 200)
    assert.deepEqual((await account('many')).facility_id, ['clinic'])
    const users = (await app.ask('GET', '/api/v2/users?facility_id=clinic')).json as Json[]
    assert.deepEqual(
      users.map(({ username }) => username),
      ['many'],
    )
  })
})

describe('what is no person or place', () => {
  it('is refused', async () => {
    const user = { username: 'never', password: PASSWORD, type: 'chw', place: 'center' }
    const rows: [Json, number, string][] = [
      [
        { ...user, contact: { _rev: '1-a', name: 'x' } },
        400,
        'Person must be a new object or string identifier (UUID).',
      ],
      [{ ...user, contact: 7 }, 400, 'Person must be a new object or string identifier (UUID).'],
      [
        { ...user, place: { _id: 'center', _rev: '1-a', name: 'x' }, contact: { name: 'x' } },
        400,
        'Place must be a new object or string identifier (UUID).',
      ],
      [{ ...user, password: 7, contact: 'nurse' }, 400, 'The password must be a string.'],
      [
        { ...user, password: 'Aa1.'.repeat(300), contact: 'nurse' },
        400,
        'The password is too long.',
      ],
    ]
    for (const [given, status, text] of rows) {
      const answer = await post('/api/v1/users', given)
      assert.deepEqual([answer.status, answer.json.error], [status, text], JSON.stringify(given))
    }
    assert.equal((await app.ask('GET', '/svc/org.svc.user:never')).status, 404)
  })
})

describe('a token', () => {
  const make = async (username: string): Promise<string> => {
    const given = { username, roles: ['analytics'], phone: '+12025550123', token_login: true }
    assert.equal((await post('/api/v1/users', given)).status, 200)
    return ((await account(username)).token_login as Json).token as string
  }
  const login = (token: string, user: string | null = null) =>
    post(`/svc/login/token/${encodeURIComponent(token)}`, {}, user)

  it('that comes after a day is late', async () => {
    await configure({ token_login: { enabled: true, message: 'x' }, app_url: 'https://a.example' })
    const token = await make('late')
    nowMs += 24 * HOUR_MS
    const { status, json } = await login(token)
    assert.deepEqual([status, json], [401, { error: 'expired' }])
  })

  it('leaves its traces when it is used', async () => {
    const token = await make('early')
    nowMs += 23 * HOUR_MS
    const { status, text } = await login(token)
    assert.deepEqual([status, text], [302, '/'])
    const settings = (await app.ask('GET', '/svc/org.svc.user:early')).json as Json
    for (const document of [await account('early'), settings]) {
      const { active, login_date: date } = document.token_login as Json
      assert.deepEqual([active, date], [false, nowMs])
    }
  })

  it('is not looked at when somebody is logged in', async () => {
    const { status, text } = await login('anything', 'officer:secret')
    assert.deepEqual([status, text], [302, '/admin/'])
  })
})

describe('lists of users', () => {
  it('take each parameter once', async () => {
    const { status, json } = await app.ask('GET', '/api/v2/users?facility_id=a&facility_id=b')
    assert.deepEqual(
      [status, (json as Json).error],
      [400, 'The parameter facility_id must be given once.'],
    )
    const count = await app.ask('GET', '/api/v1/users-doc-count?user=a&user=b')
    assert.equal(count.status, 400)
  })
})
