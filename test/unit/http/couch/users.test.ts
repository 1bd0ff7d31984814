/** The users database over HTTP: every way to read or change an account that is not one's own. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  type Answer,
  type AskOptions,
  startServer,
  type TestServer,
} from '../../../support/start-server.ts'

const SETTINGS = { svc_httpd_auth: { secret: 's', iterations: '1' } }
const ANN = '/_users/org.couchdb.user:ann'
const BOB = '/_users/org.couchdb.user:bob'
const SECRETS = /derived_key|salt|iterations|password_scheme|pbkdf2_prf|c2VjcmV0|"secret"/

async function withPeople(
  settings: Readonly<Record<string, string>> = {},
  dialect: 'spec' | 'couchdb' = 'spec',
): Promise<TestServer> {
  const merged = { svc_httpd_auth: { ...SETTINGS.svc_httpd_auth, ...settings } }
  const server = await startServer({ dialect, settings: merged })
  await server.ask('PUT', '/_users')
  for (const name of ['ann', 'bob']) {
    const file = { content_type: 'text/plain', data: Buffer.from('secret').toString('base64') }
    const body = {
      name,
      password: 'pw',
      roles: [],
      type: 'user',
      city: 'Rome',
      _attachments: { file },
    }
    const made = await server.ask('PUT', `/_users/org.couchdb.user:${name}`, { body })
    assert.equal(made.status, 201)
  }
  await server.ask('PUT', '/_users/_design/d', {
    body: { views: { v: { map: 'function (doc) { emit(doc.name, doc) }' } } },
  })
  await server.ask('PUT', '/_users/_local/x', { body: { secret: 1 } })
  return server
}

/** The same questions about somebody who exists and about nobody. */
const QUESTIONS: [string, string, (id: string) => string, ((id: string) => unknown)?][] = [
  ['a document', 'GET', id => `/_users/${id}`],
  ['a revision', 'GET', id => `/_users/${id}?rev=1-00000000000000000000000000000000`],
  ['all leaves', 'GET', id => `/_users/${id}?open_revs=all`],
  ['leaves', 'GET', id => `/_users/${id}?open_revs=["1-00000000000000000000000000000000"]`],
  ['an attachment', 'GET', id => `/_users/${id}/file`],
  ['documents in bulk', 'POST', () => '/_users/_bulk_get', id => ({ docs: [{ id }] })],
  ['a query', 'POST', () => '/_users/_find', id => ({ selector: { _id: id } })],
  ['differences', 'POST', () => '/_users/_revs_diff', id => ({ [id]: ['9-a'] })],
  ['missing revisions', 'POST', () => '/_users/_missing_revs', id => ({ [id]: ['9-a'] })],
  ['a copy', 'COPY', id => `/_users/${id}`],
  ['a deletion', 'DELETE', id => `/_users/${id}?rev=1-00000000000000000000000000000000`],
  ['an attachment written', 'PUT', id => `/_users/${id}/file`, () => 'x'],
]

describe('what others learn of an account', () => {
  let server: TestServer
  before(async () => {
    server = await withPeople()
    const { rev } = (
      await server.ask('PUT', '/_users/org.couchdb.user:gone', {
        body: { name: 'gone', roles: [], type: 'user' },
      })
    ).json as { rev: string }
    await server.ask('DELETE', `/_users/org.couchdb.user:gone?rev=${rev}`)
  })
  after(() => server.close())

  for (const [what, method, url, body] of QUESTIONS) {
    for (const user of ['bob:pw', null]) {
      it(`asking for ${what} as ${user ?? 'nobody'}: the same as of a name nobody has`, async () => {
        const ask = async (name: string): Promise<string> => {
          const id = `org.couchdb.user:${name}`
          const options: AskOptions = {
            user,
            headers: { Destination: 'x', ...(body && { 'Content-Type': 'application/json' }) },
            ...(body && { body: body(id) }),
          }
          const { status, text } = await server.ask(method, url(id), options)
          return `${status} ${text}`.replaceAll(name, 'NAME').replace(/"bookmark": *"[^"]*"/, '')
        }
        const nobody = await ask('nobody')
        assert.doesNotMatch(nobody, SECRETS)
        assert.equal(await ask('ann'), nobody)
        assert.equal(await ask('gone'), nobody)
      })
    }
  }

  it('oneself is there', async () => {
    const own = (await server.ask('GET', BOB, { user: 'bob:pw' })).json as Record<string, unknown>
    assert.equal(own.name, 'bob')
    assert.equal((await server.ask('GET', `${BOB}/file`, { user: 'bob:pw' })).text, 'secret')
  })
})

describe('accounts that are public', () => {
  let server: TestServer
  before(async () => {
    server = await withPeople({ users_db_public: 'true', public_fields: 'name, city, salt' })
  })
  after(() => server.close())

  const listings: [string, string, string, unknown?][] = [
    ['the document', 'GET', ANN],
    ['its leaves', 'GET', `${ANN}?open_revs=all`],
    ['a list', 'GET', '/_users/_all_docs?include_docs=true'],
    ['a list with attachments', 'GET', '/_users/_all_docs?include_docs=true&attachments=true'],
    ['a list with conflicts', 'GET', '/_users/_all_docs?include_docs=true&conflicts=true'],
    [
      'a list of names',
      'POST',
      '/_users/_all_docs?include_docs=true',
      { keys: ['org.couchdb.user:ann'] },
    ],
    ['lists', 'POST', '/_users/_all_docs/queries', { queries: [{ include_docs: true }] }],
    ['changes', 'GET', '/_users/_changes?include_docs=true'],
    ['changes with attachments', 'GET', '/_users/_changes?include_docs=true&attachments=true'],
    ['documents in bulk', 'POST', '/_users/_bulk_get', { docs: [{ id: 'org.couchdb.user:ann' }] }],
    ['a query', 'POST', '/_users/_find', { selector: { _id: 'org.couchdb.user:ann' } }],
  ]
  for (const [what, method, url, body] of listings) {
    it(`show the public fields and nothing more in ${what}`, async () => {
      const { status, text } = await server.ask(method, url, {
        user: null,
        headers: { Accept: 'application/json' },
        ...(body === undefined ? {} : { body }),
      })
      assert.equal(status, 200, text)
      assert.match(text, /"city": ?"Rome"/)
      assert.doesNotMatch(text, SECRETS)
      assert.doesNotMatch(text, /"_id": ?"_design|_local|function/)
    })
  }

  it('cannot be searched by what is not public', async () => {
    for (const selector of [
      { type: 'user' },
      { derived_key: { $gt: null } },
      { salt: { $gt: '' } },
    ]) {
      const { json } = await server.ask('POST', '/_users/_find', { user: null, body: { selector } })
      assert.deepEqual((json as { docs: unknown[] }).docs, [])
    }
    const { json } = await server.ask('POST', '/_users/_changes?filter=_selector', {
      user: null,
      body: { selector: { derived_key: { $gt: null } } },
    })
    assert.deepEqual((json as { results: unknown[] }).results, [])
  })

  it('give away no attachment, view, local document or purged name', async () => {
    const refused: [string, string][] = [
      [`${ANN}/file`, '404'],
      ['/_users/_design/d', '403'],
      ['/_users/_design/d/_view/v', '403'],
      ['/_users/_design/d/_info', '403'],
      ['/_users/_design_docs', '401'],
      ['/_users/_local_docs', '401'],
      ['/_users/_local/x', '404'],
      ['/_users/_changes?filter=_view&view=d/v', '403'],
    ]
    for (const [url, status] of refused) {
      assert.equal(
        `${url} ${(await server.ask('GET', url, { user: null })).status}`,
        `${url} ${status}`,
      )
    }
    const named = { keys: ['_local/x', '_design/d'] }
    const { json } = await server.ask('POST', '/_users/_all_docs?include_docs=true', {
      user: null,
      body: named,
    })
    const { rows } = json as { rows: { error?: string }[] }
    assert.deepEqual(
      rows.map(row => row.error),
      ['not_found', 'not_found'],
    )
  })

  it('are whole for their owner and for admins', async () => {
    for (const user of ['ann:pw', 'admin:pass']) {
      const { json } = await server.ask('GET', '/_users/_all_docs?include_docs=true', { user })
      const { rows } = json as { rows: { id: string; doc: Record<string, unknown> }[] }
      const ann = rows.find(row => row.id === 'org.couchdb.user:ann')
      assert.equal(typeof ann?.doc.derived_key, 'string')
      assert.deepEqual(Object.keys(ann?.doc._attachments as object), ['file'])
    }
  })

  it('are changed by their owner only', async () => {
    const { _rev } = (await server.ask('GET', ANN)).json as { _rev: string }
    const body = { _rev, name: 'ann', roles: [], type: 'user', password: 'taken' }
    assert.equal((await server.ask('PUT', ANN, { user: 'bob:pw', body })).status, 404)
    assert.equal((await server.ask('PUT', ANN, { user: null, body })).status, 403)
    assert.equal((await server.ask('GET', '/_session', { user: 'ann:pw' })).status, 200)
  })
})

describe('writing accounts', () => {
  let server: TestServer
  before(async () => {
    server = await withPeople()
    const value = '[{".{4,}", "Four at least."}]'
    server.configuration.apply({ section: 'svc_httpd_auth', key: 'password_regexp', value })
  })
  after(() => server.close())
  const put = (name: string, more: object, options: AskOptions = {}): Promise<Answer> =>
    server.ask('PUT', `/_users/org.couchdb.user:${name}`, {
      ...options,
      body: { name, roles: [], type: 'user', ...more },
    })
  const reason = (answer: Answer): unknown => (answer.json as { reason: unknown }).reason

  it('keeps a null password and hashes others, which must be as configured', async () => {
    assert.equal((await put('null', { password: null })).status, 201)
    const kept = (await server.ask('GET', '/_users/org.couchdb.user:null')).json
    assert.equal((kept as { password: unknown }).password, null)
    const short = await put('short', { password: 'abc' })
    assert.equal(
      `${short.status} ${reason(short)}`,
      '400 Password does not conform to requirements. Four at least.',
    )
    assert.equal((await put('number', { password: 5 })).status, 403)
    assert.equal((await put('long', { password: 'abcd' })).status, 201)
    const { text } = await server.ask('GET', '/_users/org.couchdb.user:long')
    assert.doesNotMatch(text, /abcd|"password"/)
  })

  it('refuses to log in with rounds out of bounds', async () => {
    const stored = {
      password_scheme: 'pbkdf2',
      salt: 's',
      iterations: 99_999_999,
      derived_key: 'x',
    }
    assert.equal((await put('slow', stored)).status, 201)
    const slow = await server.ask('GET', '/_session', { user: 'slow:any' })
    assert.equal(
      `${slow.status} ${reason(slow)}`,
      '403 Iteration count is too high for this server',
    )
    server.configuration.apply({ section: 'svc_httpd_auth', key: 'min_iterations', value: '5' })
    const weak = await server.ask('GET', '/_session', { user: 'bob:pw' })
    assert.equal(`${weak.status} ${reason(weak)}`, '403 Iteration count is too low for this server')
    server.configuration.apply({ section: 'svc_httpd_auth', key: 'min_iterations', value: '1' })
  })

  it('lets one of two spellings win, however close they come', async () => {
    for (let round = 0; round < 20; round++) {
      const name = `twin${round}`
      const body = { name, roles: [], type: 'user', password: 'abcd' }
      const tries = await Promise.all(
        ['org.couchdb.user:', 'org.svc.user:', 'org.couchdb.user:', 'org.svc.user:'].map(prefix =>
          server.ask('PUT', `/_users/${prefix}${name}`, { body, user: null }),
        ),
      )
      assert.deepEqual(tries.map(({ status }) => status).sort(), [201, 409, 409, 409])
    }
  })

  it('does not let a replicated revision slip past the check of a new account', async () => {
    for (let round = 0; round < 10; round++) {
      const name = `race${round}`
      const id = `org.couchdb.user:${name}`
      const doc = { _id: id, _rev: '9-ff', name, roles: [], type: 'user', password: 'mine' }
      const [, made] = await Promise.all([
        server.ask('POST', '/_users/_bulk_docs', {
          user: null,
          body: { new_edits: false, docs: [doc] },
        }),
        put(name, { password: 'right', roles: ['r'] }),
      ])
      const { text } = await server.ask('GET', `/_users/${id}?conflicts=true`)
      // One of the two came first; never both.
      assert.doesNotMatch(text, /_conflicts/)
      assert.equal(text.includes('"roles":["r"]'), made.status === 201)
    }
  })

  it('takes all leaves of an account that is replicated', async () => {
    const leaf = (n: number) => ({
      _id: 'org.couchdb.user:leafy',
      _rev: `2-${String(n).repeat(32)}`,
      name: 'leafy',
      roles: [],
      type: 'user',
    })
    const docs = [1, 2, 3, 4, 5, 6, 7].map(leaf)
    const { status } = await server.ask('POST', '/_users/_bulk_docs', {
      body: { new_edits: false, docs },
    })
    assert.equal(status, 201)
    const { json } = await server.ask('GET', '/_users/org.couchdb.user:leafy?open_revs=all')
    assert.equal((json as unknown[]).length, 7)
    const locked = await server.ask('GET', '/_session', { user: 'leafy:any' })
    assert.equal(locked.status, 401)
  })

  it('renews an old hash at login, but never brings an old password back', async () => {
    server.configuration.apply({ section: 'svc_httpd_auth', key: 'iterations', value: '3' })
    const changed = async () => {
      const { _rev, ...rest } = (await server.ask('GET', BOB)).json as Record<string, unknown>
      await server.ask('PUT', `${BOB}?rev=${_rev}`, { body: { ...rest, password: 'other' } })
    }
    await Promise.all([server.ask('GET', '/_session', { user: 'bob:pw' }), changed()])
    await new Promise(resolve => setTimeout(resolve, 100))
    assert.equal((await server.ask('GET', '/_session', { user: 'bob:other' })).status, 200)
    assert.equal((await server.ask('GET', '/_session', { user: 'bob:pw' })).status, 401)
    await server.ask('GET', '/_session', { user: 'ann:pw' })
    await new Promise(resolve => setTimeout(resolve, 100))
    const renewed = (await server.ask('GET', ANN)).json as Record<string, unknown>
    assert.equal(renewed.iterations, 3)
    assert.deepEqual(Object.keys(renewed._attachments as object), ['file'])
  })

  it('forgets an account that was purged at once', async () => {
    const { rev } = (await put('purged', { password: 'abcd' })).json as { rev: string }
    const purged = { user: 'purged:abcd' }
    assert.equal((await server.ask('GET', '/_session', purged)).status, 200)
    const headers = {
      Cookie: String(
        (await server.ask('POST', '/_session', { body: { name: 'purged', password: 'abcd' } }))
          .headers['set-cookie'],
      ).split(';')[0] as string,
    }
    await server.ask('POST', '/_users/_purge', { body: { 'org.couchdb.user:purged': [rev] } })
    assert.equal((await server.ask('GET', '/_session', purged)).status, 401)
    const { json } = await server.ask('GET', '/_session', { user: null, headers })
    assert.equal((json as { userCtx: { name: unknown } }).userCtx.name, null)
  })
})
