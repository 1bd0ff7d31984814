/** `/api/v1/settings`, what the first start installs, and what later starts leave alone. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { DEFAULT_PERMISSIONS } from '../../../../src/app/settings/default-settings.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'
import { startApplication, type TestApplication } from '../../../support/application.ts'
import { startServer } from '../../../support/start-server.ts'

type Object_ = Record<string, unknown>

describe('settings', () => {
  let app: TestApplication
  before(async () => {
    app = await startApplication()
  })
  after(() => app.close())

  const get = async (): Promise<Object_> =>
    (await app.ask('GET', '/api/v1/settings')).json as Object_
  const put = (body: unknown, query = '') => app.ask('PUT', `/api/v1/settings${query}`, { body })

  it('are the defaults at first', async () => {
    const settings = await get()
    assert.deepEqual(settings.permissions, DEFAULT_PERMISSIONS)
    const types = settings.contact_types as { id: string; parents?: string[] }[]
    assert.deepEqual(
      types.map(({ id }) => id),
      ['district_hospital', 'health_center', 'clinic', 'person'],
    )
    assert.deepEqual((settings.roles as Object_).chw, { name: 'usertype.chw', offline: true })
  })

  it('merge into objects, and arrays and the rest replace', async () => {
    const answer = await put({ own: { a: { b: 1 }, list: [1, 2] }, locale: 'fr' })
    assert.deepEqual(answer.json, { success: true, upgraded: true, updated: true })
    await put({ own: { a: { c: null }, list: [3] } })
    const settings = await get()
    assert.deepEqual(settings.own, { a: { b: 1, c: null }, list: [3] })
    assert.equal(settings.locale, 'fr')
    assert.ok(settings.roles)
  })

  it('are not written when nothing changes', async () => {
    await put({ same: { x: 1 } })
    const { _rev } = (await app.ask('GET', '/svc/settings')).json as { _rev: string }
    const answer = await put({ same: { x: 1 } })
    assert.deepEqual(answer.json, { success: true, upgraded: false, updated: false })
    assert.equal(((await app.ask('GET', '/svc/settings')).json as { _rev: string })._rev, _rev)
  })

  it('replace whole members on demand', async () => {
    await put({ part: { a: 1, b: 2 } })
    await put({ part: { c: 3 } }, '?replace=true')
    assert.deepEqual((await get()).part, { c: 3 })
    await put({ part: { d: 4 } }, '?replace=false')
    assert.deepEqual((await get()).part, { c: 3, d: 4 })
    await put({ part: { e: 5 } }, '?replace=1')
    assert.deepEqual((await get()).part, { e: 5 })
    assert.ok((await get()).contact_types)
  })

  it('can be overwritten, but known permissions come back', async () => {
    const before = await get()
    await put({ a: 1 }, '?overwrite=true&replace=true')
    assert.deepEqual(await get(), { a: 1, permissions: DEFAULT_PERMISSIONS })
    await put({ permissions: { can_edit: [] } })
    assert.deepEqual(((await get()).permissions as Object_).can_edit, [])
    await put(before, '?overwrite=true')
    assert.deepEqual(await get(), before)
  })

  it('take a member called __proto__ as any other', async () => {
    const body = '{"odd":{"__proto__":{"polluted":true}}}'
    const headers = { 'Content-Type': 'application/json' }
    await app.ask('PUT', '/api/v1/settings', { body, headers })
    await app.ask('PUT', '/api/v1/settings', { body, headers })
    assert.match(
      (await app.ask('GET', '/api/v1/settings')).text,
      /"odd":\{"__proto__":\{"polluted":true\}\}/,
    )
    assert.equal(({} as Object_).polluted, undefined)
  })

  it('refuse what is no object', async () => {
    for (const body of [[], 'text']) {
      const answer = await app.ask('PUT', '/api/v1/settings', {
        body: JSON.stringify(body),
        headers: { 'Content-Type': 'application/json' },
      })
      assert.deepEqual(answer.json, { code: 400, error: 'Settings must be a JSON object.' })
    }
  })

  it('are also at their older paths, under both names of the product', async () => {
    for (const name of ['svc', 'medic']) {
      const settings = await get()
      const path = `/${name}/_design/${name}/_rewrite`
      const whole = await app.ask('GET', `${path}/app_settings/${name}`)
      assert.deepEqual(whole.json, { settings, meta: {}, schema: {} })
      const part = await app.ask('GET', `${path}/app_settings/${name}/roles/chw`)
      assert.deepEqual(part.json, {
        settings: { name: 'usertype.chw', offline: true },
        meta: {},
        schema: {},
      })
      const absent = await app.ask('GET', `${path}/app_settings/${name}/roles.nobody.x`)
      assert.deepEqual((absent.json as Object_).settings, {})
      const written = await app.ask('PUT', `${path}/update_settings/${name}?replace=1`, {
        body: { [`by_${name}`]: true },
      })
      assert.equal((written.json as Object_).updated, true)
      assert.equal((await get())[`by_${name}`], true)
    }
    const deprecated = (await app.ask('GET', '/api/v1/settings/deprecated-transitions')).json
    assert.deepEqual(
      (deprecated as Object_[]).map(item => [item.name, item.deprecated, item.deprecatedIn]),
      [
        ['generate_patient_id_on_people', true, '3.8.x'],
        ['update_notifications', true, '3.2.x'],
      ],
    )
  })

  it('make every role a member of the main database', async () => {
    const { members } = (await app.ask('GET', '/svc/_security')).json as {
      members: { roles: string[] }
    }
    for (const role of ['_admin', 'chw', 'program_officer']) assert.ok(members.roles.includes(role))
    await put({ roles: { midwife: { name: 'Midwife' } } })
    const later = (await app.ask('GET', '/svc/_security')).json as typeof Object & {
      members: { roles: string[] }
    }
    assert.ok(later.members.roles.includes('midwife'))
  })

  it('written as a document are completed and count at once', async () => {
    const document = (await app.ask('GET', '/svc/settings')).json as Object_
    const settings = { ...(document.settings as Object_), direct: true, permissions: {} }
    await app.ask('PUT', '/svc/settings', { body: { ...document, settings } })
    assert.equal((await get()).direct, true)
    for (let attempt = 0; attempt < 100; attempt++) {
      if (Object.keys((await get()).permissions as Object_).length > 0) break
      await delay(20)
    }
    assert.deepEqual((await get()).permissions, DEFAULT_PERMISSIONS)
  })

  it('of the main database guard documents that are for admins only', async () => {
    const put = (id: string, body: object) =>
      app.ask('PUT', `/svc/${id}`, { body, user: 'officer:secret' })
    const refused = await put('form:x', { type: 'form' })
    assert.deepEqual(refused.json, {
      error: 'forbidden',
      reason: 'You are not authorized to edit admin only docs',
    })
    assert.equal((await put('plain', { type: 'clinic' })).status, 201)
    assert.equal((await put('purged', { purged: true })).status, 403)
  })
})

/** Outlives the servers over it. */
class LastingEngine extends MemoryEngine {
  override async close(): Promise<void> {}
}

describe('installation', () => {
  it('finds its databases at a later start, and keeps what others changed', async () => {
    const shared = new LastingEngine()
    const first = await startServer({ application: true, engine: shared })
    const names = (await first.ask('GET', '/_all_dbs')).json
    assert.deepEqual(names, [
      '_users',
      'svc',
      'svc-logs',
      'svc-sentinel',
      'svc-users-meta',
      'svc-vault',
    ])
    const url = '/svc/_design/svc-client'
    const design = (await first.ask('GET', url)).json as Object_ & {
      views: Object_
      deploy_info: Object_
    }
    const views = {
      ...design.views,
      mine: { map: 'function (doc) { emit(1, 1) }' },
      contacts_by_phone: { map: 'function (doc) { emit(doc.fax, null) }' },
      of_an_old_version: { map: 'function (doc) {}' },
    }
    const deployed = design.deploy_info.views as string[]
    const changed = {
      ...design,
      note: 'kept',
      views,
      deploy_info: { ...design.deploy_info, views: [...deployed, 'of_an_old_version'] },
    }
    assert.equal((await first.ask('PUT', url, { body: changed })).status, 201)
    await first.ask('PUT', '/api/v1/settings', { body: { locale: 'sw' } })
    await first.close()

    const second = await startServer({ application: true, engine: shared })
    const after = (await second.ask('GET', url)).json as Object_ & { views: Object_ }
    assert.equal(after.note, 'kept')
    assert.deepEqual(after.views, { ...design.views, mine: views.mine })
    assert.equal(((await second.ask('GET', '/api/v1/settings')).json as Object_).locale, 'sw')
    const revs = (await second.ask('GET', '/svc/_all_docs')).text
    await second.close()

    const third = await startServer({ application: true, engine: shared })
    assert.equal((await third.ask('GET', '/svc/_all_docs')).text, revs)
    await third.close()
  })

  it('done by two servers at the same time leaves one of everything', async () => {
    const shared = new LastingEngine()
    const servers = await Promise.all([
      startServer({ application: true, engine: shared }),
      startServer({ application: true, engine: shared }),
    ])
    const rows = (await servers[0].ask('GET', '/svc/_all_docs')).json as {
      rows: { id: string; value: { rev: string } }[]
    }
    assert.deepEqual(
      rows.rows.map(({ id, value }) => `${id} ${value.rev.split('-')[0]}`),
      [
        '_design/svc 1',
        '_design/svc-admin 1',
        '_design/svc-client 1',
        '_design/svc-conflicts 1',
        '_design/svc-lookup 1',
        '_design/svc-scripts 1',
        '_design/svc-sms 1',
        'settings 1',
      ],
    )
    await Promise.all(servers.map(server => server.close()))
  })
})
