/** Replications between databases of servers that listen, asked for by `POST /_replicate`. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import {
  contentsOf,
  type ReplicationServer,
  startReplicationServer,
  until,
} from '../support/replication-pair.ts'

interface Result {
  readonly ok: boolean
  readonly no_changes?: boolean
  readonly _local_id?: string
  readonly error?: string
  readonly reason?: string
  readonly source_last_seq?: unknown
  readonly history?: readonly Readonly<Record<string, unknown>>[]
}

let here: ReplicationServer
let there: ReplicationServer
before(async () => {
  here = await startReplicationServer({ dialect: 'spec' })
  there = await startReplicationServer({
    dialect: 'couchdb',
    settings: { couchdb: { default_security: 'everyone' } },
  })
})
after(async () => {
  await here.close()
  await there.close()
})

let round = 0
let s: string
let t: string
beforeEach(async () => {
  round++
  s = `s${round}`
  t = `t${round}`
  await here.make(s, t)
  await there.make(s, t)
})

const run = async (body: object, status = 200): Promise<Result> => {
  const answer = await here.replicate(body)
  assert.equal(answer.status, status, answer.text)
  return answer.json as Result
}

/** Conflicts, tombstones, attachments large and small, design documents, odd ids. */
async function fill(server: ReplicationServer, name: string): Promise<void> {
  const put = async (id: string, body: object, query = '') =>
    (await server.ask('PUT', `/${name}/${id}${query}`, body)).json as { rev: string }
  const first = await put('a', { n: 1 })
  await put('a', { _rev: first.rev, n: 2 })
  const conflict = { _id: 'a', _rev: '2-ff', n: 3, _revisions: { start: 2, ids: ['ff', '0a'] } }
  await put('a', conflict, '?new_edits=false')
  const gone = await put('gone', { n: 1 })
  await server.ask('DELETE', `/${name}/gone?rev=${gone.rev}`)
  await put('_design/d', { filters: { odd: 'function (doc) { return doc.n % 2 === 1 }' } })
  await put('%2F%20%3F%2Bid%F0%9F%98%80', {
    'key "\\ é': [1.0, -0.5e-7, 12345678901234567890n.toString()],
  })
  const data = (text: string) => Buffer.from(text).toString('base64')
  await put('files', {
    _attachments: {
      '2': { content_type: 'text/plain', data: data('plain text '.repeat(1000)) },
      '1': { content_type: 'image/png', data: data('\u0000\r\n--x'.repeat(30_000)) },
      empty: { content_type: 'image/png', data: '' },
    },
  })
  const docs = Array.from({ length: 60 }, (_, n) => ({ _id: `doc${n}`, n, text: 'x'.repeat(n) }))
  await server.ask('POST', `/${name}/_bulk_docs`, { docs })
}

describe('a replication', () => {
  it('makes the target equal to the source, between servers, URLs and bare names', async () => {
    await fill(here, s)
    const expected = await contentsOf(here, s)
    const ends: [ReplicationServer, object][] = [
      [here, { source: s, target: t }],
      [there, { source: here.url(s), target: there.url(t) }],
      [there, { source: s, target: there.url(s) }],
    ]
    for (const [server, body] of ends) {
      const result = await run(body)
      assert.equal(result.history?.[0]?.docs_written, 66)
      assert.equal(result.history?.[0]?.doc_write_failures, 0)
      const target = 'target' in body ? String(body.target).replace(/^.*\//, '') : t
      assert.deepEqual(await contentsOf(server, target), expected)
    }
    await here.make(`${t}-pull`)
    await run({ source: there.url(t), target: `${t}-pull` })
    assert.deepEqual(await contentsOf(here, `${t}-pull`), expected)
  })

  it('brings only what is new the next time, and says when nothing is', async () => {
    await here.ask('POST', `/${s}/_bulk_docs`, { docs: [{ _id: 'a' }, { _id: 'b' }] })
    const body = { source: here.url(s), target: there.url(t) }
    const first = await run(body)
    assert.equal(typeof first.source_last_seq, 'number')
    const again = await run(body)
    assert.equal(again.no_changes, true)
    assert.deepEqual(again.history, first.history)
    await here.ask('PUT', `/${s}/c`, {})
    const third = await run(body)
    assert.equal(third.history?.length, 2)
    assert.equal(third.history?.[0]?.missing_checked, 1)
    assert.equal(third.history?.[0]?.docs_written, 1)
  })

  it('sends of an attachment only what the other end has not', async () => {
    const attach = async (name: string, rev: string) => {
      const query = rev === '' ? '' : `?rev=${rev}`
      const headers = { 'Content-Type': 'image/png' }
      const body = Buffer.alloc(200_000, name)
      const answer = await here.server.ask('PUT', `/${s}/d/${name}${query}`, { headers, body })
      return (answer.json as { rev: string }).rev
    }
    const first = await attach('one', '')
    await run({ source: here.url(s), target: there.url(t) })
    const second = await attach('two', first)
    await run({ source: here.url(s), target: there.url(t) })
    assert.deepEqual(await contentsOf(there, t), await contentsOf(here, s))
    await attach('three', second)
    await run({ source: s, target: there.url(t) })
    assert.deepEqual(await contentsOf(there, t), await contentsOf(here, s))
  })

  it('sends everything again when the other end has less than it seems', async () => {
    const png = { content_type: 'image/png', data: 'AAAA' }
    await here.ask('PUT', `/${s}/d`, { _attachments: { a: png } })
    const { json } = await here.ask('GET', `/${s}/d`)
    const { _rev: rev } = json as { _rev: string }
    // The target knows the parent, but without its attachment.
    const [, hash] = rev.split('-')
    const bare = { _id: 'd', _rev: rev, _revisions: { start: 1, ids: [hash] } }
    await there.ask('PUT', `/${t}/d?new_edits=false`, bare)
    await here.ask('PUT', `/${s}/d`, { _rev: rev, _attachments: { a: { stub: true } } })
    const result = await run({ source: here.url(s), target: there.url(t) })
    assert.equal(result.history?.[0]?.docs_written, 1)
    const { json: copy } = await there.ask('GET', `/${t}/d?attachments=true`)
    const { _attachments: files } = copy as { _attachments: { a: { data: string } } }
    assert.equal(files.a.data, 'AAAA')
  })

  it('can be narrowed by ids, selector, filter function and winners', async () => {
    await fill(here, s)
    const count = async (more: object, name: string, source = here.url(s)): Promise<number> => {
      await there.make(name)
      await run({ source, target: there.url(name), ...more })
      return Object.keys(await contentsOf(there, name)).length
    }
    for (const source of [here.url(s), s]) {
      const at = `${t}-${source === s ? 'bare' : 'url'}`
      assert.equal(await count({ doc_ids: ['a', 'doc1', 'none'] }, `${at}-ids`, source), 2)
      assert.equal(await count({ selector: { n: { $lt: 5 } } }, `${at}-selector`, source), 6)
      assert.equal(await count({ filter: 'd/odd' }, `${at}-filter`, source), 31)
      assert.equal(await count({ filter: '_design' }, `${at}-design`, source), 1)
    }
    await count({ winning_revs_only: true }, `${t}-winners`)
    const { json } = await there.ask('GET', `/${t}-winners/a?open_revs=all`)
    assert.equal((json as unknown[]).length, 1)
  })

  it('begins where it is told to', async () => {
    await here.ask('PUT', `/${s}/a`, {})
    const { json } = await here.ask('GET', `/${s}/_changes`)
    await here.ask('PUT', `/${s}/b`, {})
    const { last_seq: sinceSeq } = json as { last_seq: string }
    await run({ source: here.url(s), target: there.url(t), since_seq: sinceSeq })
    assert.deepEqual(Object.keys(await contentsOf(there, t)), ['b'])
  })

  it('leaves no trace when it is told to use no checkpoints', async () => {
    await here.ask('PUT', `/${s}/a`, {})
    const body = { source: here.url(s), target: there.url(t), use_checkpoints: false }
    assert.deepEqual(await run(body), { ok: true, use_checkpoints: false })
    const { json } = await here.ask('GET', `/${s}/_local_docs`)
    assert.deepEqual((json as { rows: unknown[] }).rows, [])
  })

  it('goes document by document to a server that knows no bulk reads', async () => {
    await fill(here, s)
    await run({ source: here.url(s), target: there.url(t), use_bulk_get: false })
    assert.deepEqual(await contentsOf(there, t), await contentsOf(here, s))
  })

  it('creates its target when it may', async () => {
    await here.ask('PUT', `/${s}/a`, {})
    const target = `${t}-new`
    for (const url of [there.url(target), target]) {
      await run({ source: here.url(s), target: url, create_target: true })
      await run({ source: here.url(s), target: url, create_target: true })
    }
    assert.equal((await there.ask('GET', `/${target}/a`)).status, 200)
    assert.equal((await here.ask('GET', `/${target}/a`)).status, 200)
  })

  it('goes on past documents that the target refuses, and counts them', async () => {
    const validate = 'function (doc) { if (doc.bad) throw({forbidden: "no"}) }'
    await there.ask('PUT', `/${t}/_design/v`, { validate_doc_update: validate })
    const docs = [{ _id: 'a' }, { _id: 'b', bad: true }, { _id: 'c' }]
    await here.ask('POST', `/${s}/_bulk_docs`, { docs })
    for (const source of [here.url(s), s]) {
      const result = await run({ source, target: there.url(t) })
      assert.equal(result.history?.[0]?.doc_write_failures, 1)
    }
    assert.equal((await there.ask('GET', `/${t}/c`)).status, 200)
    assert.equal((await there.ask('GET', `/${t}/b`)).status, 404)
  })

  it('finds the one document that spoils a whole batch', async () => {
    await there.server.ask('PUT', '/_node/_local/_config/couchdb/max_document_size', {
      body: '"2000"',
    })
    const docs = Array.from({ length: 20 }, (_, n) => ({
      _id: `d${n}`,
      text: 'x'.repeat(n === 13 ? 5000 : 10),
    }))
    await here.ask('POST', `/${s}/_bulk_docs`, { docs })
    const result = await run({ source: here.url(s), target: there.url(t) })
    await there.server.ask('DELETE', '/_node/_local/_config/couchdb/max_document_size')
    assert.equal(result.history?.[0]?.docs_written, 19)
    assert.equal(result.history?.[0]?.doc_write_failures, 1)
  })

  it('tells why it cannot be done', async () => {
    const cases: [object, number, string][] = [
      [{ source: here.url('nope'), target: t }, 500, 'db_not_found'],
      [{ source: s, target: there.url('nope') }, 500, 'db_not_found'],
      [{ source: 'nope', target: t }, 500, 'db_not_found'],
      [{ source: s }, 500, 'error'],
      [{ source: s, target: t, filter: 'x/y' }, 404, 'not_found'],
      [{ source: here.url(s), target: t, filter: 'x/y' }, 404, 'not_found'],
      [{ source: s, target: t, doc_ids: 5 }, 400, 'bad_request'],
      [{ source: 'http://:x', target: t }, 400, 'invalid_replication'],
      [{ source: 'http://127.0.0.1:1/x', target: t, retries_per_request: 1 }, 500, 'error'],
    ]
    for (const [body, status, error] of cases) {
      const result = await run(body, status)
      assert.equal(result.error, error, JSON.stringify(body))
      assert.equal(JSON.stringify(result).includes('pass'), false)
    }
  })

  it('has the rights of who asks when a name is bare', async () => {
    const members = { admins: {}, members: { names: ['somebody'] } }
    await here.ask('PUT', `/${s}/_security`, members)
    await here.ask('PUT', '/_users')
    const user = { name: 'jan', password: 'x', roles: [], type: 'user' }
    await here.ask('PUT', '/_users/org.couchdb.user:jan', user)
    const answer = await here.replicate({ source: s, target: t }, 'jan:x')
    assert.equal(answer.status, 401)
    assert.equal((await here.replicate({ source: t, target: t }, 'jan:x')).status, 200)
    assert.equal(
      (await here.ask('POST', '/_replicate', { source: s, target: t }, null)).status,
      401,
    )
  })
})

describe('a continuous replication', () => {
  it('follows the source until it is cancelled, and shows itself meanwhile', async () => {
    await here.ask('PUT', `/${s}/a`, {})
    for (const [source, target] of [
      [here.url(s), there.url(t)],
      [s, t],
    ]) {
      const server = target === t ? here : there
      const body = { source, target, continuous: true }
      const started = await run(body, 202)
      assert.match(String(started._local_id), /^[0-9a-f]{32}\+continuous$/)
      assert.equal((await run(body, 202))._local_id, started._local_id)
      const has = async (id: string) => (await server.ask('GET', `/${t}/${id}`)).status === 200
      await until('the first document is there', () => has('a'))
      const id = target === t ? 'b' : 'c'
      await here.ask('PUT', `/${s}/${id}`, {})
      await until('the next document is there', () => has(id))
      await showsItself(String(started._local_id))
      const cancelled = await run({ ...body, cancel: true })
      assert.equal(cancelled._local_id, started._local_id)
      await run({ ...body, cancel: true }, 404)
      await here.ask('PUT', `/${s}/late-${id}`, {})
      await new Promise(resolve => setTimeout(resolve, 200))
      assert.equal(await has(`late-${id}`), false)
    }
  })

  async function showsItself(id: string): Promise<void> {
    const tasks = (await here.ask('GET', '/_active_tasks')).json as Record<string, unknown>[]
    const task = tasks.find(({ replication_id }) => replication_id === id)
    for (const field of TASK_FIELDS) assert.ok(task && field in task, field)
    assert.equal(typeof task?.source_seq, 'number')
    const jobs = await here.ask('GET', '/_scheduler/jobs')
    assert.equal(`${jobs.text}${JSON.stringify(tasks)}`.includes('pass'), false)
    const job = await here.ask('GET', `/_scheduler/jobs/${encodeURIComponent(id)}`)
    assert.equal((job.json as { id: string }).id, id)
  }

  const TASK_FIELDS =
    'user replication_id database doc_id source target continuous source_seq through_seq checkpoint_interval checkpointed_source_seq changes_pending revisions_checked missing_revisions_found docs_read docs_written doc_write_failures bulk_get_docs bulk_get_attempts node pid process_status type started_on updated_on'.split(
      ' ',
    )

  it('is cancelled by its id, and only by who began it', async () => {
    await here.ask('PUT', '/_users')
    for (const name of ['eve', 'bob']) {
      const user = { name, password: 'x', roles: [], type: 'user' }
      await here.ask('PUT', `/_users/org.couchdb.user:${name}`, user)
    }
    const body = { source: here.url(s), target: there.url(t), continuous: true }
    const started = (await here.replicate(body, 'eve:x')).json as Result
    const cancel = { cancel: true, replication_id: started._local_id }
    assert.equal((await here.replicate(cancel, 'bob:x')).status, 401)
    assert.equal((await here.replicate(cancel, 'eve:x')).status, 200)
  })

  it('writes a checkpoint now and then, and when it is stopped', async () => {
    const body = { source: here.url(s), target: there.url(t), continuous: true }
    await run({ ...body, checkpoint_interval: 100 }, 202)
    await here.ask('PUT', `/${s}/a`, {})
    const rows = async () => {
      const { json } = await there.ask('GET', `/${t}/_local_docs`)
      return (json as { rows: { value: { rev: string } }[] }).rows
    }
    await until('there is a checkpoint', async () => (await rows()).length === 1)
    await run({ ...body, cancel: true })
    await run(body, 202)
    await here.ask('PUT', `/${s}/b`, {})
    await until('b is there', async () => (await there.ask('GET', `/${t}/b`)).status === 200)
    await run({ ...body, cancel: true })
    const once = await run({ source: here.url(s), target: there.url(t) })
    assert.equal(once.no_changes, true)
  })
})
