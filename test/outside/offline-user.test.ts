/**
 * An offline user's device, with PouchDB as it comes from npm: it asks which documents are its own, fetches those it has
 * not, lets go what is gone, and pushes what was made meanwhile. It holds exactly the allowed documents, and what was
 * never its own to write stays out of the server.
 */
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import { HIERARCHY, startApplication, type TestApplication } from '../support/application.ts'
import { INSIDE, NURSE, OUTSIDE } from '../support/offline-area.ts'

interface Row {
  readonly id: string
  readonly value: { readonly rev: string }
}
interface Pouch {
  put(document: object): Promise<{ rev: string }>
  get(id: string): Promise<Record<string, unknown>>
  allDocs(): Promise<{ rows: Row[] }>
  bulkDocs(documents: object[], options?: object): Promise<unknown[]>
  bulkGet(options: object): Promise<{ results: { docs: { ok?: object }[] }[] }>
  purge?(id: string, rev: string): Promise<unknown>
  destroy(): Promise<void>
  readonly replicate: {
    to(remote: Pouch): Promise<{ ok: boolean; docs_written: number; doc_write_failures: number }>
    from(remote: Pouch): Promise<{ ok: boolean; docs_written: number }>
  }
}
type PouchClass = new (name: string, options?: object) => Pouch

const require = createRequire(import.meta.url)
const PouchDB = (require('pouchdb') as { plugin(plugin: unknown): PouchClass }).plugin(
  require('pouchdb-adapter-memory'),
)

const PASSWORD = 'Secret1.x9'
const RITA = `rita:${PASSWORD}`

let app: TestApplication
let address: string
let local: Pouch
let remote: Pouch
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
  assert.equal((await app.ask('POST', '/api/v1/users', { body: rita })).status, 200)
  address = await app.server.listen()
  local = new PouchDB(`device-${Date.now()}`, { adapter: 'memory' })
  const auth = { username: 'rita', password: PASSWORD }
  remote = new PouchDB(`${address}/svc`, { skip_setup: true, auth })
})
after(async () => {
  await local.destroy()
  await app.close()
})

async function ask(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(address + path, {
    method,
    headers: {
      Authorization: `Basic ${Buffer.from(RITA).toString('base64')}`,
      Accept: 'application/json',
      'Content-Type': 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  assert.equal(response.status, 200)
  return (await response.json()) as Record<string, unknown>
}

/** What a device does to have what it should have. */
async function pull(): Promise<void> {
  const { doc_ids_revs: wanted } = await ask('GET', '/api/v1/replication/get-ids')
  const held = new Map((await local.allDocs()).rows.map(({ id, value }) => [id, value.rev]))
  const missing = (wanted as { id: string; rev: string }[]).filter(
    ({ id, rev }) => held.get(id) !== rev,
  )
  const { results } = await remote.bulkGet({ docs: missing, revs: true, attachments: true })
  const found = results.flatMap(({ docs }) =>
    docs.flatMap(({ ok }) => (ok === undefined ? [] : [ok])),
  )
  assert.equal(found.length, missing.length)
  await local.bulkDocs(found, { new_edits: false })
  const ids = [...held.keys()]
  const { doc_ids: lost } = await ask('POST', '/api/v1/replication/get-deletes', { doc_ids: ids })
  const gone = (lost as string[]).map(_id => ({
    _id,
    _rev: held.get(_id),
    _deleted: true,
    purged: true,
  }))
  await local.bulkDocs(gone)
}

const heldIds = async (): Promise<string[]> =>
  (await local.allDocs()).rows.map(({ id }) => id).sort()

const allowed = (): string[] =>
  [
    '_design/svc-client',
    'org.svc.user:rita',
    'settings',
    ...['center', 'clinic', 'nurse', 'mother', 'child', 'report', 'message', 'form:visit'],
    ...INSIDE.map(({ _id }) => _id as string),
  ].sort()

describe('an offline user with PouchDB', () => {
  it('holds exactly the documents he may see', async () => {
    await pull()
    assert.deepEqual(await heldIds(), allowed())
    for (const { _id } of OUTSIDE) {
      await assert.rejects(remote.get(_id as string), { status: 403 })
    }
  })

  it('gets by plain replication the few documents that say that something is new', async () => {
    const other = new PouchDB(`other-${Date.now()}`, { adapter: 'memory' })
    const { ok } = await other.replicate.from(remote)
    assert.equal(ok, true)
    const ids = (await other.allDocs()).rows.map(({ id }) => id)
    assert.deepEqual(ids.sort(), [
      '_design/svc-client',
      'org.svc.user:rita',
      'service-worker-meta',
      'settings',
    ])
    await other.destroy()
  })

  it('pushes what is his, and what is not stays out', async () => {
    const report = { type: 'data_record', form: 'visit', reported_date: 2, contact: NURSE }
    await local.bulkDocs([
      { ...report, _id: 'pushed', fields: { patient_id: '7007' } },
      {
        _id: 'newborn',
        type: 'person',
        name: 'N',
        patient_id: '7007',
        parent: { _id: 'clinic', parent: { _id: 'center' } },
      },
      { ...report, _id: 'not-his', fields: { patient_id: 'stranger' } },
    ])
    const {
      ok,
      docs_written: written,
      doc_write_failures: failures,
    } = await local.replicate.to(remote)
    assert.deepEqual([ok, written, failures], [true, 2, 1])
    assert.equal((await app.ask('GET', '/svc/pushed')).status, 200)
    assert.equal((await app.ask('GET', '/svc/newborn')).status, 200)
    assert.equal((await app.ask('GET', '/svc/not-his')).status, 404)
  })

  it('follows changes, deletions and moves', async () => {
    const mother = (await app.ask('GET', '/svc/mother')).json as Record<string, unknown>
    await app.store({ ...mother, name: 'Mary Jones' })
    const child = (await app.ask('GET', '/svc/child')).json as Record<string, unknown>
    await app.ask('DELETE', `/svc/child?rev=${child._rev}`)
    await app.store({
      _id: 'neighbour',
      type: 'person',
      name: 'New',
      parent: { _id: 'clinic', parent: { _id: 'center' } },
    })
    await pull()
    assert.equal((await local.get('mother')).name, 'Mary Jones')
    const expected = [...allowed(), 'pushed', 'newborn', 'neighbour', 'not-his']
    assert.deepEqual(await heldIds(), expected.filter(id => id !== 'child').sort())
  })
})
