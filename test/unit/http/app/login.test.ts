/** Logging in through the application, for programs. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startApplication, type TestApplication } from '../../../support/application.ts'

let app: TestApplication
before(async () => {
  app = await startApplication({ svc_httpd_auth: { secret: 'of these tests' } })
})
after(() => app.close())

const post = (url: string, body: object) => app.ask('POST', url, { body, user: null })
const cookies = (headers: Readonly<Record<string, unknown>>): string[] =>
  [headers['set-cookie'] ?? []].flat() as string[]

describe('POST login', () => {
  it('opens a session and says where to go', async () => {
    const rows: [string, string | undefined, string][] = [
      ['officer', undefined, '/admin/'],
      ['worker', undefined, '/'],
      ['worker', '/somewhere?a=b#c', '/somewhere?a=b#c'],
      ['worker', 'https://elsewhere.org/', '/'],
      ['worker', '//elsewhere.org/', '/'],
    ]
    for (const [user, redirect, target] of rows) {
      const answer = await post('/svc/login', { user, password: 'secret', redirect, locale: 'fr' })
      assert.deepEqual([answer.status, answer.text], [302, target])
      assert.equal(answer.headers.location, undefined)
      const set = cookies(answer.headers)
      const session = set.find(cookie => cookie.startsWith('AuthSession=')) ?? ''
      assert.match(session, /HttpOnly.*SameSite=Lax/i)
      assert.ok(set.some(cookie => cookie.startsWith('locale=fr;')))
      assert.ok(set.some(cookie => cookie.startsWith('login=;')))
      const context = set.find(cookie => cookie.startsWith('userCtx=')) ?? ''
      const value = decodeURIComponent(context.slice('userCtx='.length, context.indexOf(';')))
      assert.equal(JSON.parse(value).name, user)
      const known = await app.ask('GET', '/api/v1/settings', {
        user: null,
        headers: { Cookie: session.split(';')[0] as string },
      })
      assert.equal(known.status, 200)
    }
    assert.equal((await post('/medic/login', { user: 'worker', password: 'secret' })).status, 302)
  })

  it('refuses wrong names and passwords', async () => {
    for (const body of [{ user: 'worker', password: 'x' }, { user: 'nobody', password: 'x' }, {}]) {
      const answer = await post('/svc/login', body)
      assert.deepEqual([answer.status, answer.json], [401, { error: 'Not logged in' }])
      assert.deepEqual(cookies(answer.headers), [])
    }
  })

  it('renews what pages know about who is logged in', async () => {
    const answer = await app.ask('GET', '/svc/login/identity', { user: 'worker:secret' })
    assert.deepEqual(answer.json, { success: true })
    assert.match(cookies(answer.headers).join(), /^userCtx=/)
    const stranger = await app.ask('GET', '/svc/login/identity', { user: null })
    assert.deepEqual([stranger.status, stranger.text], [401, ''])
  })
})

describe('POST password-reset', () => {
  before(async () => {
    const body = {
      name: 'fresh',
      type: 'user',
      roles: ['chw'],
      password: 'first',
      password_change_required: true,
    }
    await app.ask('PUT', '/_users/org.svc.user:fresh', { body })
  })

  const reset = (body: object) => post('/svc/password-reset', { username: 'fresh', ...body })

  it('is where a first login leads, without a session', async () => {
    const answer = await post('/svc/login', { user: 'fresh', password: 'first' })
    assert.deepEqual([answer.status, answer.text], [302, '/svc/password-reset'])
    assert.doesNotMatch(cookies(answer.headers).join(), /AuthSession/)
  })

  it('refuses passwords that are not good enough, or wrong', async () => {
    const rows: [object, object][] = [
      [
        { currentPassword: 'first', password: 'short' },
        { error: 'password-short', params: { minimum: 8 } },
      ],
      [{ currentPassword: 'first', password: 'password' }, { error: 'password-weak' }],
      [{ currentPassword: 'Sup3r.Good', password: 'Sup3r.Good' }, { error: 'password-same' }],
      [
        { currentPassword: 'wrong', password: 'Sup3r.Good' },
        { error: 'current-password-incorrect' },
      ],
    ]
    for (const [body, expected] of rows) {
      const answer = await reset(body)
      assert.deepEqual([answer.status, answer.json], [400, expected])
    }
    const missing = await reset({ password: 'Sup3r.Good' })
    assert.deepEqual(missing.json, { code: 400, error: 'Missing required fields' })
  })

  it('sets the new password and logs in', async () => {
    const answer = await reset({ currentPassword: 'first', password: 'Sup3r.Good' })
    assert.deepEqual([answer.status, answer.text], [302, '/'])
    assert.match(cookies(answer.headers).join(), /AuthSession=/)
    const again = await post('/svc/login', { user: 'fresh', password: 'Sup3r.Good' })
    assert.equal(again.text, '/')
    const old = await post('/svc/login', { user: 'fresh', password: 'first' })
    assert.equal(old.status, 401)
  })
})
