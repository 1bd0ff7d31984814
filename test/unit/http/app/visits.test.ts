/** Visits: who was here, what pages keep knowing, the main database's figures, and an admin who comes for the first time. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { as, startApplication, type TestApplication } from '../../../support/application.ts'
import { ADMIN } from '../../../support/start-server.ts'

type Json = Record<string, unknown>

let nowMs = 1_700_000_000_000
const MINUTE_MS = 60_000

let app: TestApplication
before(async () => {
  app = await startApplication({ svc_httpd_auth: { secret: 'of these tests' } }, () => nowMs)
})
after(() => app.close())

/** The log document of a visitor, once all that was noted is written. */
async function visitOf(name: string): Promise<{ status: number; json: Json }> {
  await app.server.application?.connectedUsers.settle()
  const { status, json } = await app.ask('GET', `/svc-logs/connected-user-${name}`)
  return { status, json: json as Json }
}

describe('a visit', () => {
  it('is written down when somebody asks for his session or the figures of the database', async () => {
    assert.equal((await visitOf('worker')).status, 404)
    assert.equal((await app.ask('GET', '/_session', { user: as('worker') })).status, 200)
    const { json } = await visitOf('worker')
    assert.deepEqual([json.user, json.timestamp], ['worker', nowMs])
    assert.equal((await app.ask('GET', '/dbinfo', { user: as('officer') })).status, 200)
    assert.equal((await visitOf('officer')).json.timestamp, nowMs)
  })

  it('is written down again after half an hour, not before', async () => {
    const first = (await visitOf('worker')).json
    nowMs += 29 * MINUTE_MS
    await app.ask('GET', '/_session', { user: as('worker') })
    assert.equal((await visitOf('worker')).json._rev, first._rev)
    nowMs += MINUTE_MS
    await app.ask('GET', '/_session', { user: as('worker') })
    assert.equal((await visitOf('worker')).json.timestamp, nowMs)
  })

  it('of many requests at once is written once', async () => {
    const asks = Array.from({ length: 10 }, () =>
      app.ask('GET', '/_session', { user: as('analyst') }),
    )
    await Promise.all(asks)
    assert.match(String((await visitOf('analyst')).json._rev), /^1-/)
  })

  it('of strangers and wrong passwords is none', async () => {
    assert.equal((await app.ask('GET', '/dbinfo', { user: null })).status, 401)
    assert.equal((await app.ask('GET', '/_session', { user: 'nobody:x' })).status, 401)
    assert.equal((await visitOf('nobody')).status, 404)
    assert.equal((await app.ask('POST', '/dbinfo', { body: {}, user: as('worker') })).status, 404)
  })

  it('counts for monitoring', async () => {
    const { json } = await app.ask('GET', '/svc-logs/_design/logs/_view/connected_users')
    const [row] = (json as { rows: { value: number }[] }).rows
    assert.ok((row?.value ?? 0) >= 3, JSON.stringify(json))
  })
})

describe('GET /dbinfo', () => {
  it('is the main database, for people online and offline', async () => {
    for (const user of [ADMIN, as('officer'), as('worker')]) {
      const { status, json } = await app.ask('GET', '/dbinfo', { user })
      assert.equal(status, 200, JSON.stringify(json))
      const info = json as Json
      assert.equal(info.db_name, 'svc')
      assert.equal(typeof info.doc_count, 'number')
    }
  })
})

describe('the cookie that pages read', () => {
  it('lasts again whenever the session is asked for', async () => {
    const cookie = 'userCtx=%7B%22name%22%3A%22worker%22%7D'
    const ask = (user: string | null, headers: Record<string, string>) =>
      app.ask('GET', '/_session', { user, headers })
    const renewed = await ask(as('worker'), { Cookie: `a=b; ${cookie}` })
    assert.equal(
      String(renewed.headers['set-cookie']),
      `${cookie}; Path=/; Max-Age=31536000; SameSite=Lax`,
    )
    const without = await ask(as('worker'), {})
    assert.equal(without.headers['set-cookie'], undefined)
    const stranger = await ask(null, { Cookie: cookie })
    assert.equal(stranger.headers['set-cookie'], undefined)
  })
})

describe('an admin of the configuration', () => {
  const login = () =>
    app.ask('POST', '/svc/login', { user: null, body: { user: 'admin', password: 'pass' } })

  it('gets his documents at his first login', async () => {
    for (const path of ['/_users/org.svc.user:admin', '/svc/org.svc.user:admin']) {
      assert.equal((await app.ask('GET', path)).status, 404)
    }
    const both = await Promise.all([login(), login()])
    assert.deepEqual(
      both.map(({ status }) => status),
      [302, 302],
    )
    const account = (await app.ask('GET', '/_users/org.svc.user:admin')).json as Json
    assert.deepEqual([account.name, account.type, account.roles], ['admin', 'user', ['admin']])
    assert.equal(account.derived_key, undefined)
    const settings = (await app.ask('GET', '/svc/org.svc.user:admin')).json as Json
    assert.deepEqual([settings.type, settings.roles], ['user-settings', ['admin']])
    await login()
    const again = (await app.ask('GET', '/_users/org.svc.user:admin')).json as Json
    assert.equal(again._rev, account._rev)
  })

  it('stays an admin, with the password of the configuration', async () => {
    const { json } = await app.ask('GET', '/_session')
    const { roles } = (json as { userCtx: { roles: string[] } }).userCtx
    assert.ok(roles.includes('_admin'))
    assert.equal((await app.ask('GET', '/api/v1/users-doc-count')).status, 200)
    const body = { password: 'Secret1.x9' }
    const refused = await app.ask('POST', '/api/v1/users/admin', { body })
    assert.deepEqual(refused.json, {
      code: 400,
      error: 'Admin passwords must be changed manually in the database',
    })
  })

  it('is not made of somebody else', async () => {
    const body = { user: 'officer', password: 'secret' }
    assert.equal((await app.ask('POST', '/svc/login', { user: null, body })).status, 302)
    assert.equal((await app.ask('GET', '/svc/org.svc.user:officer')).status, 404)
  })
})
