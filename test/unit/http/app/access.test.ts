/** Who may come to the application, and how it says no. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isApplicationTarget } from '../../../../src/http/app/app-target.ts'
import { APP_ROUTES } from '../../../../src/http/app/routes.ts'
import {
  as,
  type PersonName,
  startApplication,
  type TestApplication,
} from '../../../support/application.ts'

describe('access to the application', () => {
  let app: TestApplication
  before(async () => {
    app = await startApplication()
  })
  after(() => app.close())

  const pathOf = (path: string): string => path.replace(/\{[^}]+\}/g, 'some-id')

  it('is refused to strangers on every route that is not open', async () => {
    for (const { path, methods, access, bareErrors } of APP_ROUTES) {
      for (const method of Object.keys(methods)) {
        if (access[method]?.everybody || !isApplicationTarget(pathOf(path))) continue
        const answer = await app.ask(method, pathOf(path), { user: null })
        assert.equal(answer.status, 401, `${method} ${path}`)
        const told = bareErrors ? { error: 'Not logged in' } : { code: 401, error: 'unauthorized' }
        assert.deepEqual(answer.json, told)
        assert.equal(answer.headers['logout-authorization'], 'Svc API')
      }
    }
  })

  it('is refused to those without the permission on every route that names one', async () => {
    // Online, with no role that any permission is given to.
    const body = { name: 'powerless', type: 'user', roles: ['mm-online'], password: 'secret' }
    const made = await app.ask('PUT', '/_users/org.svc.user:powerless', { body })
    assert.equal(made.status, 201)
    for (const { path, methods, access, bareErrors } of APP_ROUTES) {
      for (const method of Object.keys(methods)) {
        const rule = access[method] ?? {}
        if (rule.all === undefined && rule.any === undefined) continue
        const answer = await app.ask(method, pathOf(path), { user: 'powerless:secret' })
        assert.equal(answer.status, 403, `${method} ${path}`)
        const told = { error: 'Insufficient privileges' }
        assert.deepEqual(answer.json, bareErrors ? told : { code: 403, ...told })
      }
    }
  })

  const OFFLINE = {
    code: 403,
    error: 'forbidden',
    details: 'Offline users are not allowed access to this endpoint',
  }

  it('is refused to offline users where only online ones may come', async () => {
    for (const { path, methods, access } of APP_ROUTES) {
      for (const method of Object.keys(methods)) {
        const online = access[method]?.online
        if (online === undefined) continue
        const answer = await app.ask(method, pathOf(path), {
          user: as('worker'),
          headers: { Accept: 'text/plain' },
        })
        assert.equal(answer.status, 403, `${method} ${path}`)
        if (online === 'firewall') assert.deepEqual(answer.json, OFFLINE)
        else assert.equal(answer.text, 'Insufficient privileges')
      }
    }
  })

  it('is as the table of permissions says', async () => {
    const rows: [PersonName, string, string, number][] = [
      ['officer', 'GET', '/api/v1/settings', 200],
      ['worker', 'GET', '/api/v1/settings', 200],
      ['officer', 'GET', '/api/v1/contact/none', 404],
      ['officer', 'GET', '/api/v1/report/none', 404],
      // An offline user may create people, though not read them.
      ['worker', 'POST', '/api/v1/people', 400],
      ['worker', 'POST', '/api/v1/places', 400],
      ['worker', 'POST', '/api/v1/places/x', 400],
      ['worker', 'GET', '/api/v1/person?type=person', 403],
      ['worker', 'PUT', '/api/v1/settings', 403],
      ['analyst', 'GET', '/api/v1/hydrate?doc_ids=[]', 200],
      // Nobody holds can_update_people by default; can_edit is as good.
      ['officer', 'PUT', '/api/v1/person/x', 400],
    ]
    for (const [name, method, url, status] of rows) {
      const body = method === 'GET' ? {} : { body: {} }
      const answer = await app.ask(method, url, { user: as(name), ...body })
      assert.equal(answer.status, status, `${name} ${method} ${url}: ${answer.text}`)
    }
  })

  it('follows a change of the settings at once', async () => {
    const url = '/api/v1/contact/none'
    const grant = (roles: string[]) =>
      app.ask('PUT', '/api/v1/settings', { body: { permissions: { can_view_contacts: roles } } })
    assert.equal((await app.ask('GET', url, { user: as('analyst') })).status, 403)
    await grant(['analytics'])
    assert.equal((await app.ask('GET', url, { user: as('analyst') })).status, 404)
    assert.equal((await app.ask('GET', url, { user: as('officer') })).status, 403)
    await grant(['program_officer'])
    assert.equal((await app.ask('GET', url, { user: as('officer') })).status, 404)
  })

  it('says no in JSON unless somebody asks for text and not for JSON', async () => {
    const url = '/api/v1/contact/none'
    const forms: [string | undefined, 'json' | 'text'][] = [
      ['*/*', 'json'],
      ['application/json', 'json'],
      ['application/json, text/plain, */*', 'json'],
      ['text/plain', 'text'],
      ['text/plain, */*', 'text'],
    ]
    for (const [accept, form] of forms) {
      const headers = accept === undefined ? {} : { Accept: accept }
      const answer = await app.ask('GET', url, { headers })
      const type = answer.headers['content-type']
      if (form === 'json') {
        assert.equal(type, 'application/json; charset=utf-8')
        assert.deepEqual(answer.json, { code: 404, error: 'Contact not found' })
      } else {
        assert.equal(type, 'text/plain; charset=utf-8')
        assert.equal(answer.text, 'Contact not found')
      }
    }
  })

  it('prompts on some routes, and sends browsers to the login page', async () => {
    const settings = await app.ask('GET', '/api/v1/settings', { user: null })
    assert.equal(settings.headers['www-authenticate'], 'Basic realm="Svc Web Services"')
    const contact = await app.ask('GET', '/api/v1/contact/x', { user: null })
    assert.equal(contact.headers['www-authenticate'], undefined)
    const text = await app.ask('GET', '/api/v1/settings', {
      user: null,
      headers: { Accept: 'text/plain' },
    })
    assert.equal(text.text, 'not logged in')
    const page = await app.ask('GET', '/api/v1/settings?a=b', {
      user: null,
      headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    })
    assert.equal(page.status, 302)
    assert.equal(page.headers.location, '/svc/login?redirect=%2Fapi%2Fv1%2Fsettings%3Fa%3Db')
    assert.match(String(page.headers['set-cookie']), /^login=force/)
  })

  it('knows unknown paths, other methods, and what needs no login', async () => {
    assert.equal((await app.ask('GET', '/api/v1/nothing', { user: null })).status, 401)
    const unknown = await app.ask('GET', '/api/v1/nothing')
    assert.deepEqual([unknown.status, unknown.json], [404, { code: 404, error: 'not_found' }])
    const method = await app.ask('DELETE', '/api/v1/settings')
    assert.equal(method.status, 405)
    assert.equal(method.headers.allow, 'GET, PUT')
    const info = await app.ask('GET', '/api/info', { user: null })
    assert.deepEqual(info.json, { version: '4.18.0' })
    assert.equal((await app.ask('GET', '/api/info', { user: 'officer:wrong' })).status, 200)
    assert.equal((await app.ask('GET', '//api//v1/settings')).status, 200)
  })

  it('is not given to those who guess passwords, and they are told to wait', async () => {
    const statuses: number[] = []
    for (let attempt = 0; attempt < 8; attempt++) {
      const answer = await app.ask('GET', '/api/v1/settings', { user: `guessed:wrong${attempt}` })
      statuses.push(answer.status)
      if (answer.status === 429) {
        assert.deepEqual(answer.json, { code: 429, error: 'Too Many Requests' })
      }
    }
    assert.equal(statuses[0], 401)
    assert.equal(statuses.at(-1), 429)
  })

  it('refuses bodies that are not JSON, too large, or of another type', async () => {
    const url = '/api/v1/people'
    const typed = (type: string, body: string | Buffer) =>
      app.ask('POST', url, { body, headers: { 'Content-Type': type } })
    const broken = await typed('application/json', '{"name":')
    assert.deepEqual([broken.status, broken.json], [500, { code: 500, error: 'Server error' }])
    const other = await typed('text/plain', '{}')
    assert.deepEqual(other.json, { code: 400, error: 'Content-Type must be application/json' })
    const charset = await typed('application/json; charset=utf-8', '{"name":"A"}')
    assert.equal(charset.status, 200)
    const large = await typed('application/json', Buffer.alloc(33 * 1024 * 1024, 0x20))
    assert.deepEqual([large.status, large.json], [413, { code: 413, error: 'Payload Too Large' }])
  })
})

describe('a server without the application', () => {
  it('has neither its databases nor its paths', async () => {
    const { startServer } = await import('../../../support/start-server.ts')
    const server = await startServer()
    try {
      assert.deepEqual((await server.ask('GET', '/_all_dbs')).json, [])
      assert.equal((await server.ask('GET', '/api/v1/settings')).status, 404)
      await server.ask('PUT', '/medic')
      assert.equal((await server.ask('GET', '/medic')).status, 200)
      assert.equal((await server.ask('GET', '/svc')).status, 404)
    } finally {
      await server.close()
    }
  })
})
