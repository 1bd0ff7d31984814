/** What an offline user sees: the ids his devices hold, the counts, and every database request filtered to that. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { purgeDatabaseName } from '../../../../src/app/offline-users/purged-documents.ts'
import {
  as,
  HIERARCHY,
  startApplication,
  type TestApplication,
} from '../../../support/application.ts'
import { INSIDE, NURSE, OUTSIDE } from '../../../support/offline-area.ts'
import type { AskOptions } from '../../../support/start-server.ts'

type Json = Record<string, unknown>

const PASSWORD = 'Secret1.x9'
const RITA = `rita:${PASSWORD}`
const FIREWALL = {
  code: 403,
  error: 'forbidden',
  reason: 'forbidden',
  details: 'Offline users are not allowed access to this endpoint',
}
const REFUSED = { error: 'forbidden', reason: 'Insufficient privileges' }

let app: TestApplication
before(async () => {
  app = await startApplication()
  await app.store(...HIERARCHY, ...INSIDE, ...OUTSIDE)
  const rita = {
    username: 'rita',
    password: PASSWORD,
    type: 'chw',
    place: 'center',
    contact: 'nurse',
  }
  assert.equal((await ask('POST', '/api/v1/users', rita)).status, 200)
})
after(() => app.close())

const ask = async (method: string, url: string, body?: unknown, options: AskOptions = {}) => {
  const { status, text } = await app.ask(method, url, {
    ...(body === undefined ? {} : { body }),
    ...options,
  })
  return { status, json: (text === '' ? undefined : JSON.parse(text)) as Json }
}
const asRita = (
  method: string,
  url: string,
  body?: unknown,
  headers: Record<string, string> = {},
) => ask(method, url, body, { user: RITA, headers })

const OWN_HIERARCHY = [
  'center',
  'clinic',
  'nurse',
  'mother',
  'child',
  'report',
  'message',
  'form:visit',
]
const expectedIds = (): string[] =>
  [
    '_design/svc-client',
    'org.svc.user:rita',
    'settings',
    ...OWN_HIERARCHY,
    ...INSIDE.map(({ _id }) => _id as string),
  ].sort()

describe('GET /api/v1/replication/get-ids', () => {
  it('lists exactly what the user may hold, with revisions', async () => {
    const { status, json } = await asRita('GET', '/api/v1/replication/get-ids')
    assert.equal(status, 200, JSON.stringify(json))
    const found = json.doc_ids_revs as { id: string; rev: string }[]
    assert.deepEqual(
      found.map(({ id }) => id),
      expectedIds(),
    )
    const mother = (await ask('GET', '/svc/mother')).json
    assert.equal(found.find(({ id }) => id === 'mother')?.rev, mother._rev)
    assert.equal(json.limit, 10_000)
    assert.equal(json.warn, false)
    assert.equal(json.warn_docs, found.length - 1)
    assert.equal(json.last_seq, (await ask('GET', '/svc')).json.update_seq)
  })

  it('is not there for people online, and for nobody without a login', async () => {
    assert.equal(
      (await ask('GET', '/api/v1/replication/get-ids', undefined, { user: as('officer') })).status,
      404,
    )
    assert.equal(
      (await ask('GET', '/api/v1/replication/get-ids', undefined, { user: null })).status,
      401,
    )
  })

  it('leaves out what is purged for the roles, and get-deletes tells it', async () => {
    const database = purgeDatabaseName(['chw'])
    await ask('PUT', `/${database}`)
    await ask('PUT', `/${database}/purged:in-own`, {})
    await app.store({ _id: 'short-lived', type: 'person', name: 'x', parent: NURSE })
    const { _rev: rev } = (await ask('GET', '/svc/short-lived')).json
    await ask('DELETE', `/svc/short-lived?rev=${rev}`)
    const { json } = await asRita('GET', '/api/v1/replication/get-ids')
    const ids = (json.doc_ids_revs as Json[]).map(({ id }) => id)
    assert.ok(!ids.includes('in-own'))
    assert.ok(ids.includes('in-by-code'))
    const deletes = (doc_ids: unknown) =>
      asRita('POST', '/api/v1/replication/get-deletes', { doc_ids })
    const local = ['mother', 'in-own', 'short-lived', 'never-was', 'stranger']
    assert.deepEqual(await deletes(local), {
      status: 200,
      json: { doc_ids: ['in-own', 'short-lived'] },
    })
    assert.deepEqual((await deletes([])).json, { doc_ids: [] })
    assert.equal((await deletes('x')).status, 400)
    await ask('DELETE', `/${database}`)
  })

  it('goes as deep as the settings say', async () => {
    const settings = (replication_depth: unknown) =>
      ask('PUT', '/api/v1/settings?replace=true', { replication_depth })
    const ids = async (): Promise<string[]> => {
      const { json } = await asRita('GET', '/api/v1/replication/get-ids')
      return (json.doc_ids_revs as { id: string }[]).map(({ id }) => id)
    }
    await settings([{ role: 'chw', depth: 1 }])
    const shallow = await ids()
    assert.ok(shallow.includes('clinic') && shallow.includes('nurse'))
    assert.ok(!shallow.includes('mother') && !shallow.includes('in-by-code'))
    assert.ok(shallow.includes('in-signoff'), 'needs_signoff goes up the chain of its submitter')
    await settings([{ role: 'chw', depth: 1, replicate_primary_contacts: true }])
    assert.ok((await ids()).includes('mother'), 'the primary contact of a visible place')
    await settings([{ role: 'chw', depth: 2, report_depth: 0 }])
    const own = await ids()
    assert.ok(own.includes('in-by-code'), 'submitted by the user')
    assert.ok(!own.includes('in-by-stranger'), 'too deep')
    assert.ok(own.includes('target~in') && own.includes('task~in'), 'not reports')
    await settings([])
  })
})

describe('GET /api/v1/users-info', () => {
  it('counts for the offline user himself, and writes it down', async () => {
    const { status, json } = await asRita('GET', '/api/v1/users-info?facility_id=other&role=x')
    const count = expectedIds().length
    assert.equal(status, 200)
    assert.deepEqual(json, { total_docs: count, warn_docs: count - 1, warn: false, limit: 10_000 })
    const all = await ask('GET', '/api/v1/users-doc-count')
    const [log] = all.json.users as Json[]
    assert.deepEqual([all.json.limit, log?.user, log?.count], [10_000, 'rita', count - 1])
    const one = await ask('GET', '/api/v1/users-doc-count?user=rita')
    assert.deepEqual(one.json.users, log)
    assert.equal((await ask('GET', '/api/v1/users-doc-count?user=nobody')).status, 404)
    for (const user of [as('officer'), RITA]) {
      const refused = await ask('GET', '/api/v1/users-doc-count', undefined, { user })
      assert.deepEqual(refused, { status: 403, json: { code: 403, error: 'User is not an admin' } })
    }
    assert.equal(
      (await ask('GET', '/api/v1/users-doc-count', undefined, { user: null })).status,
      401,
    )
  })

  it('counts for somebody who might exist', async () => {
    const info = (query: string, user = as('officer')) =>
      ask('GET', `/api/v1/users-info?${query}`, undefined, { user })
    const { json } = await info('facility_id=center&role=chw&contact_id=nurse')
    // without the task, which is kept by user name
    const count = expectedIds().length - 1
    assert.deepEqual(json, { total_docs: count, warn_docs: count, warn: false, limit: 10_000 })
    const roles = encodeURIComponent(JSON.stringify(['chw', 'extra']))
    assert.equal((await info(`facility_id=center&role=${roles}`)).json.total_docs, count)
    const none = await info('facility_id=nowhere&role=chw')
    // form, translations, settings, worker, branding, and the two that always count
    assert.equal(none.json.total_docs, 7)
    const missing = { code: 400, error: 'Missing required query params: role and/or facility_id' }
    for (const query of [
      '',
      'role=chw',
      'facility_id=center',
      'facility_id=center&role=program_officer',
      'facility_id=center&role=mm-online',
      'facility_id=center&role=unheard_of',
    ]) {
      assert.deepEqual(await info(query), { status: 400, json: missing }, query)
    }
    const bad = await info(`facility_id=center&role=${encodeURIComponent('[1]')}`)
    assert.equal(bad.json.error, 'All roles should be strings')
    const broken = await info(`facility_id=center&role=${encodeURIComponent('["x')}`)
    assert.equal(
      broken.json.error,
      'Role parameter must be either a string or a JSON encoded array',
    )
    assert.equal((await info('facility_id=center&role=chw', as('analyst'))).status, 403)
    assert.equal((await ask('GET', '/api/v1/users-info', undefined, { user: null })).status, 401)
  })
})

describe('an offline user reading the database', () => {
  it('gets each document of his set, and no other, whether it exists or not', async () => {
    for (const id of expectedIds()) {
      assert.equal((await asRita('GET', `/svc/${id.replace('~', '%7E')}`)).status, 200, id)
    }
    const others = [
      ...OUTSIDE.map(({ _id }) => _id as string),
      'district',
      'never-was',
      '_design/svc',
      'org.svc.user:officer',
    ]
    for (const id of others) {
      assert.deepEqual(await asRita('GET', `/svc/${id}`), { status: 403, json: REFUSED }, id)
    }
  })

  it('judges the revision that is asked for', async () => {
    const moved = { _id: 'mover', type: 'person', name: 'x', parent: { _id: 'center' } }
    await app.store(moved)
    const { _rev: before } = (await ask('GET', '/svc/mover')).json
    await ask('PUT', '/svc/mover', { ...moved, _rev: before, parent: { _id: 'other' } })
    assert.equal((await asRita('GET', '/svc/mover')).status, 403)
    assert.equal((await asRita('GET', `/svc/mover?rev=${before}`)).status, 200)
    const latest = await asRita('GET', `/svc/mover?rev=${before}&latest=true`)
    assert.equal(latest.json._rev, before)
    const revs = encodeURIComponent(JSON.stringify([before]))
    const opened = await asRita('GET', `/svc/mover?open_revs=${revs}`)
    assert.equal((opened.json as unknown as Json[]).length, 1)
    assert.deepEqual((await asRita('GET', '/svc/mover?open_revs=all')).json, [])
  })

  it('sees four documents in lists and in the feed', async () => {
    const shown = ['_design/svc-client', 'org.svc.user:rita', 'service-worker-meta', 'settings']
    const list = (await asRita('GET', '/svc/_all_docs?startkey="zzz"&include_docs=true')).json
    const rows = list.rows as { id: string; doc: Json }[]
    assert.deepEqual(
      rows.map(({ id }) => id),
      shown,
    )
    assert.ok(rows.every(({ doc }) => doc._id))
    const keyed = (await asRita('POST', '/svc/_all_docs', { keys: ['settings', 'mother'] })).json
    assert.deepEqual(
      (keyed.rows as Json[]).map(({ id, error }) => id ?? error),
      ['settings', 'not_found'],
    )
    const feed = (await asRita('GET', '/svc/_changes?doc_ids=["mother"]&filter=_doc_ids')).json
    assert.deepEqual((feed.results as { id: string }[]).map(({ id }) => id).sort(), shown)
    const body = { doc_ids: ['mother'] }
    const posted = (await asRita('POST', '/svc/_changes?filter=_doc_ids', body)).json
    assert.deepEqual((posted.results as { id: string }[]).map(({ id }) => id).sort(), shown)
    for (const place of ['_design_docs', '_local_docs']) {
      assert.equal((await asRita('GET', `/svc/${place}`)).status, 403, place)
    }
    assert.equal((await asRita('POST', '/svc/_all_docs/queries', { queries: [{}] })).status, 403)
  })

  it('gets many at once without a word about what is not his', async () => {
    const docs = ['mother', 'stranger', 'never-was', 'in-by-code', 'out-private'].map(id => ({
      id,
    }))
    const { json } = await asRita('POST', '/svc/_bulk_get?revs=true', { docs })
    const results = json.results as { id: string; docs: { ok?: Json }[] }[]
    assert.deepEqual(
      results.map(({ id }) => id),
      ['mother', 'in-by-code'],
    )
    assert.ok(results.every(result => result.docs.length === 1 && result.docs[0]?.ok))
  })

  it('gets attachments of his documents', async () => {
    for (const id of ['mother', 'stranger']) {
      const { _rev } = (await ask('GET', `/svc/${id}`)).json
      const put = await app.ask('PUT', `/svc/${id}/photo.txt?rev=${_rev}`, {
        body: 'picture',
        headers: { 'Content-Type': 'text/plain' },
      })
      assert.equal(put.status, 201)
    }
    assert.equal((await app.ask('GET', '/svc/mother/photo.txt', { user: RITA })).text, 'picture')
    assert.deepEqual(await asRita('GET', '/svc/stranger/photo.txt'), {
      status: 404,
      json: { error: 'bad_request', reason: 'Invalid rev format' },
    })
    const { _rev } = (await ask('GET', '/svc/stranger')).json
    assert.deepEqual((await asRita('GET', `/svc/stranger/photo.txt?rev=${_rev}`)).json, REFUSED)
    const put = await app.ask('PUT', `/svc/stranger/x.txt?rev=${_rev}`, {
      user: RITA,
      body: 'x',
      headers: { 'Content-Type': 'text/plain' },
    })
    assert.equal(put.status, 403)
    assert.equal((await asRita('DELETE', `/svc/stranger/photo.txt?rev=${_rev}`)).status, 403)
  })

  it('may not search, nor ask views and functions, nor maintain', async () => {
    const refused: [string, string, unknown?][] = [
      ['POST', '_find', { selector: {} }],
      ['POST', '_explain', { selector: {} }],
      ['GET', '_index'],
      ['POST', '_index', { index: { fields: ['a'] } }],
      ['GET', '_design/svc/_view/contacts_by_depth'],
      ['GET', '_design/svc-client/_view/contacts_by_type'],
      ['GET', '_design/svc-client/_info'],
      ['GET', '_design/svc/_show/x'],
      ['GET', '_design/svc/_list/x/y'],
      ['GET', '_security'],
      ['PUT', '_security', {}],
      ['GET', '_revs_limit'],
      ['GET', '_purged_infos'],
      ['POST', '_compact', {}],
      ['POST', '_view_cleanup', {}],
    ]
    for (const [method, path, body] of refused) {
      const { status, json } = await asRita(method, `/svc/${path}`, body)
      assert.deepEqual([status, json], [403, FIREWALL], path)
    }
    for (const database of ['svc-logs', 'svc-sentinel', 'svc-users-meta']) {
      assert.equal((await asRita('GET', `/${database}`)).status, 403, database)
    }
    assert.equal((await asRita('GET', '/_session')).status, 200)
  })
})

describe('an offline user writing to the database', () => {
  const fresh = (id: string, more: Json = {}): Json => ({
    _id: id,
    type: 'data_record',
    form: 'visit',
    fields: { patient_id: '2001' },
    contact: NURSE,
    ...more,
  })

  it('writes what is his, as it is sent and as it is stored', async () => {
    const made = await asRita('PUT', '/svc/new-report', fresh('new-report'))
    assert.equal(made.status, 201)
    assert.equal((await asRita('POST', '/svc', fresh('posted'))).status, 201)
    const foreign = { fields: { patient_id: 'stranger' } }
    assert.deepEqual(await asRita('PUT', '/svc/foreign', fresh('foreign', foreign)), {
      status: 403,
      json: REFUSED,
    })
    const stale = fresh('new-report', { _rev: '1-0123456789abcdef0123456789abcdef' })
    assert.equal((await asRita('PUT', '/svc/new-report', stale)).status, 409)
    // neither out of his area nor into it
    const mother = (await ask('GET', '/svc/mother')).json
    const out = { ...mother, parent: { _id: 'other', parent: { _id: 'district' } } }
    assert.equal((await asRita('PUT', '/svc/mother', out)).status, 403)
    const stranger = (await ask('GET', '/svc/stranger')).json
    const into = { ...stranger, parent: { _id: 'center', parent: { _id: 'district' } } }
    assert.equal((await asRita('PUT', '/svc/stranger', into)).status, 403)
    assert.equal((await asRita('DELETE', `/svc/stranger?rev=${stranger._rev}`)).status, 403)
    assert.equal((await asRita('DELETE', `/svc/new-report?rev=${made.json.rev}`)).status, 200)
    // everybody reads these, admins write them
    assert.equal((await asRita('PUT', '/svc/form:new', { type: 'form' })).status, 403)
    assert.equal((await asRita('PUT', '/svc/_design/svc-client', { views: {} })).status, 403)
    assert.equal((await asRita('PUT', '/svc/feedback-2', { type: 'feedback' })).status, 403)
  })

  it('writes many at once; contacts of the batch count for the rest', async () => {
    const child = {
      _id: 'newborn',
      type: 'person',
      name: 'N',
      patient_id: '9009',
      parent: { _id: 'clinic', parent: { _id: 'center' } },
    }
    const docs = [
      fresh('about-newborn', { fields: { patient_id: '9009' } }),
      child,
      fresh('about-foreigner', { fields: { patient_id: '9010' } }),
      { ...child, _id: 'foreigner', patient_id: '9010', parent: { _id: 'other' } },
      { type: 'feedback' },
    ]
    const { json } = await asRita('POST', '/svc/_bulk_docs', { docs })
    const results = json as unknown as { id: string; ok?: true; error?: string }[]
    assert.deepEqual(
      results.map(({ ok, error }) => ok ?? error),
      [true, true, 'forbidden', 'forbidden', 'forbidden'],
    )
    assert.equal((await ask('GET', '/svc/about-newborn')).status, 200)
    assert.equal((await ask('GET', '/svc/foreigner')).status, 404)
    const replicated = docs
      .slice(2, 4)
      .map(doc => ({ ...doc, _rev: '1-0123456789abcdef0123456789abcdef' }))
    const pushed = await asRita('POST', '/svc/_bulk_docs', { docs: replicated, new_edits: false })
    assert.equal(pushed.status, 201)
    assert.deepEqual(
      (pushed.json as unknown as Json[]).map(({ id, error }) => [id, error]),
      [
        ['about-foreigner', 'forbidden'],
        ['foreigner', 'forbidden'],
      ],
    )
  })

  it('needs to be an editor, offline and online', async () => {
    const doc = { type: 'person', name: 'x', parent: { _id: 'center' } }
    const put = (user: string) => ask('PUT', `/svc/edited-${user.slice(0, 3)}`, doc, { user })
    assert.equal((await put(as('officer'))).status, 201)
    assert.deepEqual(await put(as('analyst')), { status: 403, json: REFUSED })
    await ask('PUT', '/api/v1/settings', { permissions: { can_edit: ['program_officer'] } })
    assert.deepEqual(await put(RITA), { status: 403, json: REFUSED })
    // checkpoints of replications are anybody's
    assert.equal((await asRita('PUT', '/svc/_local/checkpoint', { seq: 1 })).status, 201)
    assert.equal((await asRita('GET', '/svc/_local/checkpoint')).status, 200)
    await ask('PUT', '/api/v1/settings', { permissions: { can_edit: ['program_officer', 'chw'] } })
  })

  it('does not widen his area by changing his own account', async () => {
    const url = '/_users/org.svc.user:rita'
    const account = (await asRita('GET', url)).json
    const changes = [
      { facility_id: ['district'] },
      { facility_id: 'district' },
      { contact_id: 'stranger' },
      { password_change_required: !account.password_change_required },
    ]
    for (const change of changes) {
      const { status } = await asRita('PUT', url, { ...account, ...change })
      assert.equal(status, 403, JSON.stringify(change))
    }
    const { facility_id: _, ...without } = account
    assert.equal((await asRita('PUT', url, without)).status, 403)
    assert.equal((await asRita('PUT', url, { ...account, note: 'mine' })).status, 201)
    // nor through the settings document, which he may write
    const settings = (await asRita('GET', '/svc/org.svc.user:rita')).json
    const put = await asRita('PUT', '/svc/org.svc.user:rita', {
      ...settings,
      facility_id: ['district'],
    })
    assert.equal(put.status, 201)
    assert.equal((await asRita('GET', '/svc/stranger')).status, 403)
    const roles = { ...settings, _rev: put.json.rev, roles: ['program_officer', 'mm-online'] }
    assert.equal((await asRita('PUT', '/svc/org.svc.user:rita', roles)).status, 403)
  })

  it('has revisions compared for him', async () => {
    const { json } = await asRita('POST', '/svc/_revs_diff', { unknown: ['1-a'] })
    assert.deepEqual(json, { unknown: { missing: ['1-a'] } })
  })
})

describe("a database of one's own", () => {
  it('is made by its user, and used by nobody else', async () => {
    const url = '/svc-user-rita-meta'
    assert.deepEqual(await asRita('PUT', url), { status: 200, json: { ok: true } })
    assert.deepEqual(await asRita('PUT', `${url}/`), { status: 200, json: { ok: true } })
    assert.equal((await asRita('PUT', '/medic-user-rita-meta')).status, 200)
    assert.equal((await asRita('PUT', `${url}/read:report:x`, {})).status, 201)
    const { json } = await asRita('GET', `${url}/_design/svc-user/_view/read?group=true`)
    assert.deepEqual(json.rows, [{ key: 'report', value: 1 }])
    assert.equal(
      (await ask('GET', `${url}/read:report:x`, undefined, { user: as('worker') })).status,
      403,
    )
    assert.deepEqual(await asRita('PUT', '/svc-user-otto-meta'), {
      status: 403,
      json: { code: 403, error: 'Insufficient privileges' },
    })
    assert.equal((await ask('PUT', url, undefined, { user: null })).status, 401)
  })
})
