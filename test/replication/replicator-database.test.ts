/** Documents that ask for replications: what becomes of them, who may touch them, and what the scheduler shows. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  type ReplicationServer,
  startReplicationServer,
  until,
} from '../support/replication-pair.ts'

let server: ReplicationServer
before(async () => {
  server = await startReplicationServer({
    settings: { replicator: { interval: '300', retries_per_request: '0' } },
  })
  await server.make('_users', '_replicator')
  for (const name of ['jan', 'eve']) {
    const user = { name, password: 'x', roles: [], type: 'user' }
    await server.ask('PUT', `/_users/org.couchdb.user:${name}`, user)
  }
  const everybody = { admins: { roles: ['_admin'] }, members: {} }
  await server.ask('PUT', '/_replicator/_security', everybody)
})
after(() => server.close())

let round = 0
async function newPair(): Promise<{
  id: string
  source: string
  target: string
  s: string
  t: string
}> {
  const [s, t] = [`s${++round}`, `t${round}`]
  await server.make(s, t)
  await server.ask('PUT', `/${s}/a`, { n: 1 })
  return { id: `rep${round}`, source: server.url(s), target: server.url(t), s, t }
}

type Document = Readonly<Record<string, unknown>>
const read = async (id: string, user?: string): Promise<Document> =>
  (await server.ask('GET', `/_replicator/${id}`, undefined, user)).json as Document
const stateOf = async (id: string): Promise<unknown> =>
  ((await server.ask('GET', `/_scheduler/docs/_replicator/${id}`)).json as Document).state
const has = async (path: string): Promise<boolean> => (await server.ask('GET', path)).status === 200

describe('a document in _replicator', () => {
  it('is replicated once, says how it went, and again after it was edited', async () => {
    const { id, source, target, s, t } = await newPair()
    await server.ask('PUT', `/_replicator/${id}`, { source, target })
    await until('it is completed', async () => (await read(id))._replication_state === 'completed')
    const done = await read(id)
    const stats = done._replication_stats as Document
    assert.deepEqual([stats.docs_written, stats.doc_write_failures, done.owner], [1, 0, 'admin'])
    assert.match(String(done._replication_state_time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.equal(await stateOf(id), 'completed')
    const { json } = await server.ask('GET', '/_scheduler/jobs')
    assert.equal(
      (json as { jobs: { doc_id: string }[] }).jobs.some(job => job.doc_id === id),
      false,
    )
    await server.ask('PUT', `/${s}/b`, {})
    const { _replication_state, _replication_state_time, _replication_stats, ...asked } = done
    await server.ask('PUT', `/_replicator/${id}`, asked)
    await until('the second document is there', () => has(`/${t}/b`))
  })

  it('runs for as long as it exists when it is continuous', async () => {
    const { id, source, target, s, t } = await newPair()
    const body = { source, target, continuous: true }
    await server.ask('PUT', `/_replicator/${id}`, body)
    await until('the first document is there', () => has(`/${t}/a`))
    assert.equal(await stateOf(id), 'running')
    await server.ask('PUT', `/${s}/b`, {})
    await until('the second document is there', () => has(`/${t}/b`))
    const { _rev } = await read(id)
    await server.ask('DELETE', `/_replicator/${id}?rev=${_rev}`)
    await until('its job is gone', async () => (await jobOf(id)) === undefined)
    await server.ask('PUT', `/${s}/c`, {})
    await new Promise(resolve => setTimeout(resolve, 150))
    assert.equal(await has(`/${t}/c`), false)
  })

  it('waits and tries again when it fails, and shows no password', async () => {
    const { id, target } = await newPair()
    const source = server.url('nowhere')
    await server.ask('PUT', `/_replicator/${id}`, { source, target })
    await until('it crashes', async () => (await stateOf(id)) === 'crashing')
    const { text, json } = await server.ask('GET', `/_scheduler/docs/_replicator/${id}`)
    const state = json as { error_count: number; info: { error: string } }
    assert.equal(state.error_count, 1)
    assert.match(state.info.error, /^db_not_found: could not open http:/)
    assert.equal(text.includes('pass'), false)
    const job = (await jobOf(id)) as unknown as { history: { type: string }[] }
    assert.deepEqual(
      job.history.map(({ type }) => type),
      ['crashed', 'started', 'added'],
    )
    assert.equal('_replication_state' in (await read(id)), false)
  })

  it('cannot be asked for twice', async () => {
    const { id, source, target } = await newPair()
    const body = { source, target, continuous: true }
    await server.ask('PUT', `/_replicator/${id}`, body)
    await until('it runs', async () => (await stateOf(id)) === 'running')
    await server.ask('PUT', `/_replicator/${id}-twin`, body)
    await until('the twin failed', async () => (await stateOf(`${id}-twin`)) === 'failed')
    assert.match(String((await read(`${id}-twin`))._replication_state_reason), /already triggered/)
    assert.equal(await stateOf(id), 'running')
  })

  it('belongs to its owner', async () => {
    const { id, source, target } = await newPair()
    const put = async (body: object, user: string) =>
      (await server.ask('PUT', `/_replicator/${id}`, body, user)).status
    assert.equal(await put({ source, target, continuous: true }, 'jan:x'), 201)
    const own = await read(id, 'jan:x')
    assert.equal(own.owner, 'jan')
    assert.equal(own.source, source)
    const seen = await read(id, 'eve:x')
    assert.equal(JSON.stringify(seen).includes('pass'), false)
    assert.notEqual(seen._rev, own._rev)
    assert.equal(await put({ ...own, doc_ids: [] }, 'eve:x'), 403)
    const gone = await server.ask(
      'DELETE',
      `/_replicator/${id}?rev=${own._rev}`,
      undefined,
      'eve:x',
    )
    assert.equal(gone.status, 403)
    assert.equal(
      (await server.ask('GET', '/_replicator/_all_docs', undefined, 'eve:x')).status,
      401,
    )
    assert.equal((await server.ask('GET', '/_replicator/_changes', undefined, 'eve:x')).status, 401)
    assert.equal(await put({ ...own, doc_ids: [] }, 'jan:x'), 201)
  })

  it('is one of many in any database of that name', async () => {
    const { source, target, t } = await newPair()
    await server.make('some%2F_replicator')
    await server.ask('PUT', '/some%2F_replicator/r', { source, target })
    await until('the document is there', () => has(`/${t}/a`))
    for (const path of ['some%2F_replicator/r', 'some/_replicator/r']) {
      const { json } = await server.ask('GET', `/_scheduler/docs/${path}`)
      assert.equal((json as Document).database, 'some/_replicator')
    }
    await server.ask('DELETE', '/some%2F_replicator')
  })
})

describe('the scheduler', () => {
  it('lists documents by state and page', async () => {
    const all = (await server.ask('GET', '/_scheduler/docs')).json as Listing
    assert.ok(all.total_rows >= 5)
    const running = (await server.ask('GET', '/_scheduler/docs?states=running')).json as Listing
    assert.ok(running.docs.length > 0)
    assert.ok(running.docs.every(({ state }) => state === 'running'))
    const page = (await server.ask('GET', '/_scheduler/docs?skip=1&limit=2')).json as Listing
    assert.deepEqual(
      [page.offset, page.docs.map(({ doc_id }) => doc_id)],
      [1, all.docs.slice(1, 3).map(({ doc_id }) => doc_id)],
    )
    assert.equal((await server.ask('GET', '/_scheduler/docs?states=odd')).status, 400)
    assert.equal((await server.ask('GET', '/_scheduler/docs/odd/path')).status, 400)
    assert.equal((await server.ask('GET', '/_scheduler/docs/no/_replicator')).status, 404)
  })

  it('lets more replications take turns than may run at once', async () => {
    server.server.configuration.apply({ section: 'replicator', key: 'max_jobs', value: '2' })
    const pairs = []
    for (let n = 0; n < 5; n++) pairs.push(await newPair())
    for (const { id, source, target } of pairs) {
      await server.ask('PUT', `/_replicator/${id}`, { source, target, continuous: true })
    }
    for (const { t } of pairs) await until(`${t} had its turn`, () => has(`/${t}/a`))
    const jobs = (
      (await server.ask('GET', '/_scheduler/jobs')).json as { jobs: { pid: unknown }[] }
    ).jobs
    assert.ok(jobs.filter(({ pid }) => pid !== null).length <= 2)
  })
})

interface Listing {
  readonly total_rows: number
  readonly offset: number
  readonly docs: readonly { readonly state: string; readonly doc_id: string }[]
}

async function jobOf(id: string): Promise<Document | undefined> {
  const { json } = await server.ask('GET', '/_scheduler/jobs?limit=1000')
  return (json as { jobs: Document[] }).jobs.find(({ doc_id }) => doc_id === id)
}
