/** What the main database takes from whom, whichever way it comes in: every rule and its words. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { as, startApplication, type TestApplication } from '../../../support/application.ts'

type Json = Record<string, unknown>

const OFFICER = as('officer')
const SETTINGS = {
  _id: 'org.svc.user:officer',
  name: 'officer',
  type: 'user-settings',
  roles: ['program_officer', 'mm-online'],
}

let app: TestApplication
before(async () => {
  app = await startApplication()
  await app.store(SETTINGS, { _id: 'form:old', type: 'form' }, { _id: 'plain', type: 'person' })
})
after(() => app.close())

async function put(document: Json, user?: string): Promise<[number, unknown]> {
  const id = encodeURIComponent(String(document._id))
  const stored = await app.ask('GET', `/svc/${id}`)
  const rev = stored.status === 200 ? { _rev: (stored.json as Json)._rev } : {}
  const options = user === undefined ? {} : { user }
  const { status, json } = await app.ask('PUT', `/svc/${id}`, {
    body: { ...document, ...rev },
    ...options,
  })
  return [status, (json as Json).reason]
}

const ADMIN_ONLY = 'You are not authorized to edit admin only docs'

describe('writing into the main database', () => {
  it('is refused with the reason, rule by rule', async () => {
    const rows: [string, Json, string][] = [
      ...[
        'resources',
        'service-worker-meta',
        'zscore-charts',
        'settings',
        'branding',
        'partners',
        'privacy-policies',
        'extension-libs',
      ].map((_id): [string, Json, string] => [_id, { _id }, ADMIN_ONLY]),
      ['a design document', { _id: '_design/mine' }, 'You are not a db or server admin.'],
      ['a form', { _id: 'form:new', type: 'form' }, ADMIN_ONLY],
      ['what was a form', { _id: 'form:old', type: 'person' }, ADMIN_ONLY],
      ['translations', { _id: 'messages-xx', type: 'translations' }, ADMIN_ONLY],
      ['a token', { _id: 'token:login:x', type: 'token_login' }, ADMIN_ONLY],
      [
        'what a device has purged',
        { _id: 'p', purged: true },
        'Purged documents should not be written to CouchDB!',
      ],
      [
        'settings of a user under another id',
        { ...SETTINGS, _id: 'x' },
        '_id must be prefixed with "org.svc.user:".',
      ],
      [
        'settings of a user in capitals',
        { ...SETTINGS, _id: 'org.svc.user:Officer', name: 'Officer' },
        '_id must be lower case.',
      ],
      [
        'settings of another name',
        { ...SETTINGS, name: 'other' },
        'name property must be equivalent to username. e.g. "officer"',
      ],
      ['known that is no boolean', { ...SETTINGS, known: 'yes' }, 'known is not a boolean.'],
      ['roles that are no list', { ...SETTINGS, roles: 'all' }, 'roles is a required array'],
      ['other roles', { ...SETTINGS, roles: [] }, 'You are not authorized to edit roles'],
      [
        'roles in another order',
        { ...SETTINGS, roles: ['mm-online', 'program_officer'] },
        'You are not authorized to edit roles',
      ],
      [
        'settings of a new user',
        { ...SETTINGS, _id: 'org.svc.user:new', name: 'new' },
        'You are not authorized to create user-settings',
      ],
    ]
    for (const [what, document, reason] of rows) {
      assert.deepEqual(await put(document, OFFICER), [403, reason], what)
    }
  })

  it('is left to editors otherwise, and to admins in nearly every way', async () => {
    assert.deepEqual(await put({ ...SETTINGS, known: true, fullname: 'O' }, OFFICER), [
      201,
      undefined,
    ])
    assert.deepEqual(await put({ _id: 'plain', type: 'clinic' }, OFFICER), [201, undefined])
    assert.deepEqual(await put({ ...SETTINGS, roles: [] }), [201, undefined])
    assert.deepEqual(await put({ _id: 'branding', title: 'x' }), [201, undefined])
    const purged = await put({ _id: 'p', purged: true })
    assert.deepEqual(purged, [403, 'Purged documents should not be written to CouchDB!'])
  })

  it('by a batch is refused document by document', async () => {
    const docs = [{ _id: 'batch', type: 'person' }, { _id: 'resources' }, { _id: 'b', purged: 1 }]
    const { json } = await app.ask('POST', '/svc/_bulk_docs', { user: OFFICER, body: { docs } })
    assert.deepEqual(
      (json as Json[]).map(({ ok, error, reason }) => [ok, error, reason]),
      [
        [true, undefined, undefined],
        [undefined, 'forbidden', ADMIN_ONLY],
        [undefined, 'forbidden', 'Purged documents should not be written to CouchDB!'],
      ],
    )
  })

  it('is for those who are logged in', async () => {
    const open = { members: { names: [], roles: [] }, admins: { names: [], roles: ['_admin'] } }
    const before = (await app.ask('GET', '/svc/_security')).json
    await app.ask('PUT', '/svc/_security', { body: open })
    const { status, json } = await app.ask('PUT', '/svc/anonymous', { user: null, body: {} })
    await app.ask('PUT', '/svc/_security', { body: before })
    const told = [status, (json as Json).reason]
    assert.deepEqual(told, [403, 'You must be logged in to edit documents'])
  })
})
