/** An offline user asking the database in ways that are wrong, or not for him: the answer to each. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { HIERARCHY, startApplication, type TestApplication } from '../../../support/application.ts'
import { INSIDE, OUTSIDE } from '../../../support/offline-area.ts'

type Json = Record<string, unknown>

const PASSWORD = 'Secret1.x9'
const RITA = `rita:${PASSWORD}`
const REFUSED = { error: 'forbidden', reason: 'Insufficient privileges' }
const FIREWALL = {
  code: 403,
  error: 'forbidden',
  reason: 'forbidden',
  details: 'Offline users are not allowed access to this endpoint',
}

let app: TestApplication
before(async () => {
  app = await startApplication()
  await app.store(...HIERARCHY, ...INSIDE, ...OUTSIDE)
  const person = { username: 'rita', type: 'chw', place: 'center', contact: 'nurse' }
  const body = { ...person, password: PASSWORD }
  assert.equal((await app.ask('POST', '/api/v1/users', { body })).status, 200)
})
after(() => app.close())

async function ask(method: string, url: string, body?: unknown, more: Record<string, string> = {}) {
  const sent = typeof body === 'string' ? { 'Content-Type': 'application/json' } : {}
  const { status, text } = await app.ask(method, url, {
    user: RITA,
    ...(body === undefined ? {} : { body }),
    headers: { ...sent, ...more },
  })
  return { status, json: (text === '' ? undefined : JSON.parse(text)) as Json }
}

describe('an offline user who asks wrongly', () => {
  it('is told what is wrong with his lists', async () => {
    const rows: [string, string, unknown, string][] = [
      ['GET', '_all_docs?keys="x"', undefined, '`keys` parameter must be an array.'],
      ['GET', '_all_docs?keys={"a":1}', undefined, '`keys` parameter must be an array.'],
      ['POST', '_all_docs', { keys: 'x' }, '`keys` body member must be an array.'],
      ['POST', '_bulk_get', '{', 'invalid UTF-8 JSON'],
      ['POST', '_bulk_get', {}, "Missing JSON list of 'docs'."],
      ['POST', '_bulk_get', { docs: 'x' }, "Missing JSON list of 'docs'."],
      ['POST', '_bulk_docs', '{', 'invalid UTF-8 JSON'],
      ['POST', '_bulk_docs', {}, 'POST body must include `docs` parameter.'],
      ['POST', '_bulk_docs', { docs: 'x' }, '`docs` parameter must be an array.'],
    ]
    for (const [method, path, body, reason] of rows) {
      assert.deepEqual(
        await ask(method, `/svc/${path}`, body),
        { status: 400, json: { error: 'bad_request', reason } },
        `${method} ${path} ${JSON.stringify(body)}`,
      )
    }
  })

  it('does not learn whether something exists', async () => {
    for (const id of ['stranger', 'never-was', 'feedback-1', '_design/svc', '_design/nothing']) {
      assert.deepEqual(await ask('GET', `/svc/${id}`), { status: 403, json: REFUSED }, id)
      assert.equal((await ask('HEAD', `/svc/${id}`)).status, 403, id)
      const copy = await ask('COPY', `/svc/${id}`, undefined, { Destination: 'copied' })
      assert.equal(copy.status, 403, id)
    }
    assert.equal((await ask('GET', '/svc/_design/svc-client')).status, 200)
  })

  it('changes no design document, and nothing that is not his', async () => {
    const { _rev } = (await app.ask('GET', '/svc/_design/svc-client')).json as Json
    const refused: [string, string, unknown?][] = [
      ['PUT', '/svc/_design/mine', {}],
      ['PUT', '/svc/_design/svc-client', { _rev }],
      ['DELETE', `/svc/_design/svc-client?rev=${_rev}`],
      ['PUT', '/svc/new-plain', { note: 'of no kind' }],
      ['POST', '/svc/', { type: 'person', name: 'x', parent: { _id: 'other' } }],
      ['DELETE', '/svc/never-was?rev=1-a'],
    ]
    for (const [method, url, body] of refused) {
      const { status } = await ask(method, url, body)
      assert.equal(status, 403, `${method} ${url}`)
    }
  })

  it('keeps checkpoints and compares revisions like everybody', async () => {
    const { rev } = (await ask('PUT', '/svc/_local/checkpoint', { at: 1 })).json
    assert.equal(rev, '0-1')
    assert.equal((await ask('GET', '/svc/_local/checkpoint')).json.at, 1)
    const missing = { stranger: ['9-a'] }
    const difference = (await ask('POST', '/svc/_revs_diff', missing)).json.stranger as Json
    assert.deepEqual(difference.missing, ['9-a'])
    const { missing_revs: found } = (await ask('POST', '/svc/_missing_revs', missing)).json
    assert.deepEqual(found, missing)
  })

  it('stays out of the rest', async () => {
    const other = 'svc-user-somebody-meta'
    assert.equal((await app.ask('PUT', `/${other}`)).status, 201)
    // A database that lets everybody in is still none of his.
    const open = { members: { names: [], roles: [] } }
    assert.equal((await app.ask('PUT', `/${other}/_security`, { body: open })).status, 200)
    assert.deepEqual(await ask('GET', `/${other}`), { status: 403, json: FIREWALL })
    for (const name of ['svc-users-meta', 'svc-vault', 'svc-logs/_all_docs', 'svc-sentinel']) {
      assert.equal((await ask('GET', `/${name}`)).status, 403, name)
    }
    // What is for admins of the server says so itself.
    for (const url of ['/_all_dbs', '/_users/_all_docs', '/_node/_local/_config']) {
      assert.equal((await ask('GET', url)).status, 401, url)
    }
    assert.equal((await ask('POST', '/svc/_purge', {})).status, 401)
  })
})

describe('records about nobody known', () => {
  it('are for those whom the settings and a permission give them to', async () => {
    const ids = async () => {
      const { json } = await ask('GET', '/api/v1/replication/get-ids')
      return (json.doc_ids_revs as Json[]).map(({ id }) => id)
    }
    const set = async (body: Json) => {
      const { status } = await app.ask('PUT', '/api/v1/settings', { body })
      assert.equal(status, 200)
    }
    assert.ok(!(await ids()).includes('out-unassigned'))
    assert.equal((await ask('GET', '/svc/out-unassigned')).status, 403)
    await set({ district_admins_access_unallocated_messages: true })
    assert.ok((await ids()).includes('out-unassigned'))
    assert.equal((await ask('GET', '/svc/out-unassigned')).status, 200)
    await set({ permissions: { can_view_unallocated_data_records: ['program_officer'] } })
    assert.ok(!(await ids()).includes('out-unassigned'))
  })
})
