/**
 * Two nodes, each with its tree of processes, on one PostgreSQL server: any of them answers anything, and what one does the
 * other knows. Run with messages between nodes and without, where each has to look for itself.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { isOwnPostgres, startPostgres, type TestPostgres } from '../support/postgres.ts'
import { type RunningServer, startProcess } from '../support/start-process.ts'

const ADMIN = 'admin:pass'
const authorization = `Basic ${Buffer.from(ADMIN).toString('base64')}`

interface Answer {
  readonly status: number
  readonly text: string
  readonly json: never
  readonly headers: Headers
}

async function ask(
  server: RunningServer,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = { Authorization: authorization },
): Promise<Answer> {
  const answer = await fetch(`${server.url()}${path}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    text,
    get json() {
      return JSON.parse(text) as never
    },
    headers: answer.headers,
  }
}

let postgres: TestPostgres
const folders: string[] = []

before(async () => {
  postgres = await startPostgres()
})

after(async () => {
  await postgres.stop()
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

async function startNode(
  address: string,
  name: string,
  workers: readonly string[] = ['--workers', '1'],
): Promise<RunningServer> {
  const folder = await mkdtemp(join(tmpdir(), 'gurney-node-'))
  folders.push(folder)
  const flags = ['--admin', ADMIN, '--node-name', `${name}@127.0.0.1`, ...workers]
  return await startProcess(folder, flags, { GURNEY_ENGINE: address })
}

for (const [how, parameters] of [
  ['that tell each other', {}],
  ['that look for themselves', { listen: 'off' }],
] as const) {
  describe(`two nodes ${how}`, () => {
    let one: RunningServer
    let two: RunningServer
    let address: string

    before(async () => {
      address = postgres.address(parameters)
      const both = await Promise.all([startNode(address, 'one'), startNode(address, 'two')])
      one = both[0]
      two = both[1]
    })

    after(async () => {
      await Promise.all([one.stop(), two.stop()])
    })

    it('are members of one cluster', async () => {
      for (const server of [one, two]) {
        const { json } = await ask(server, 'GET', '/_membership')
        const names = ['one@127.0.0.1', 'two@127.0.0.1']
        assert.deepEqual(json, { all_nodes: names, cluster_nodes: names })
      }
      const named = await ask(two, 'GET', '/_node/_local')
      assert.deepEqual(named.json, { name: 'two@127.0.0.1' })
      const other = await ask(two, 'GET', '/_node/one@127.0.0.1')
      assert.deepEqual(other.json, { name: 'one@127.0.0.1' })
      assert.equal((await ask(two, 'GET', '/_node/one@127.0.0.1/_system')).status, 501)
      assert.equal((await ask(two, 'GET', '/_node/none@127.0.0.1/_system')).status, 404)
      const setup = {
        action: 'add_node',
        host: '127.0.0.1',
        port: 5984,
        username: 'a',
        password: 'b',
      }
      assert.equal((await ask(one, 'POST', '/_cluster_setup', setup)).status, 201)
      const stranger = { ...setup, host: '192.0.2.7' }
      assert.equal((await ask(one, 'POST', '/_cluster_setup', stranger)).status, 400)
    })

    it('answer for each other’s databases and documents at once', async () => {
      assert.equal((await ask(one, 'PUT', '/shared')).status, 201)
      assert.equal((await ask(two, 'PUT', '/shared')).status, 412)
      assert.equal((await ask(two, 'PUT', '/shared/a', { n: 1 })).status, 201)
      assert.equal((await ask(one, 'PUT', '/shared/a', { n: 2 })).status, 409)
      const read = await ask(one, 'GET', '/shared/a')
      assert.equal((read.json as { n: number }).n, 1)
    })

    it('wake feeds that wait on the other node', async () => {
      const { json } = await ask(one, 'GET', '/shared')
      const since = encodeURIComponent((json as { update_seq: string }).update_seq)
      const path = `/shared/_changes?feed=longpoll&timeout=60000&since=${since}`
      const waiting = ask(one, 'GET', path)
      await new Promise(resolve => setTimeout(resolve, 300))
      await ask(two, 'PUT', '/shared/woken', {})
      const { results } = (await waiting).json as { results: { id: string }[] }
      assert.deepEqual(
        results.map(({ id }) => id),
        ['woken'],
      )
    })

    it('tell of databases that the other made and deleted', async () => {
      const feed = await ask(one, 'GET', '/_db_updates')
      const since = encodeURIComponent((feed.json as { last_seq: string }).last_seq)
      const waiting = ask(one, 'GET', `/_db_updates?feed=longpoll&timeout=60&since=${since}`)
      await ask(two, 'PUT', '/shortlived')
      assert.ok((await waiting).text.includes('shortlived'))
      await ask(one, 'DELETE', '/shortlived')
      assert.equal((await ask(two, 'GET', '/shortlived')).status, 404)
    })

    it('agree on the configuration, on admins and on sessions', async () => {
      await ask(one, 'PUT', '/_node/_local/_config/couchdb/max_document_size', '5000')
      await until(async () => {
        const { json } = await ask(two, 'GET', '/_node/_local/_config/couchdb/max_document_size')
        return json === '5000'
      })
      await ask(two, 'PUT', '/_node/_local/_config/admins/second', 'secret')
      const second = { Authorization: `Basic ${Buffer.from('second:secret').toString('base64')}` }
      // Not by trying to log in: who fails too often is locked out.
      await until(async () => {
        const { json } = await ask(one, 'GET', '/_node/_local/_config/admins')
        return 'second' in (json as object)
      })
      assert.equal((await ask(one, 'GET', '/_all_dbs', undefined, second)).status, 200)
      const login = await ask(one, 'POST', '/_session', { name: 'admin', password: 'pass' }, {})
      const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
      const session = await ask(two, 'GET', '/_session', undefined, { Cookie: cookie })
      assert.equal((session.json as { userCtx: { name: string } }).userCtx.name, 'admin')
      await ask(one, 'DELETE', '/_node/_local/_config/couchdb/max_document_size')
    })

    it('build an index once and both answer from it', async () => {
      const docs = Array.from({ length: 500 }, (_, n) => ({ _id: `doc-${n}`, n }))
      await ask(one, 'POST', '/shared/_bulk_docs', { docs })
      const views = { by_n: { map: 'function (doc) { emit(doc.n, 1) }', reduce: '_sum' } }
      await ask(two, 'PUT', '/shared/_design/d', { views })
      const both = await Promise.all(
        [one, two].map(server => ask(server, 'GET', '/shared/_design/d/_view/by_n')),
      )
      for (const { json } of both) {
        assert.equal((json as { rows: { value: number }[] }).rows[0]?.value, 502)
      }
      for (let n = 0; n < 6; n++) {
        const [writer, reader] = n % 2 === 0 ? [one, two] : [two, one]
        await ask(writer, 'PUT', `/shared/more-${n}`, { n })
        const { json } = await ask(reader, 'GET', '/shared/_design/d/_view/by_n')
        assert.equal((json as { rows: { value: number }[] }).rows[0]?.value, 503 + n)
      }
    })

    it('run a replication that a document asks for on one of them', async () => {
      await ask(one, 'PUT', '/_replicator')
      const document = { source: `${one.url(ADMIN)}/shared`, target: `${one.url(ADMIN)}/copy` }
      await ask(two, 'PUT', '/_replicator/r', { ...document, create_target: true })
      await until(async () => (await ask(two, 'GET', '/copy/a')).status === 200, 30_000)
      const live = { source: `${one.url(ADMIN)}/shared`, target: `${one.url(ADMIN)}/live` }
      await ask(two, 'PUT', '/_replicator/live', { ...live, create_target: true, continuous: true })
      for (const server of [one, two]) {
        await until(async () => {
          const jobs = await ask(server, 'GET', '/_scheduler/jobs')
          const docs = await ask(server, 'GET', '/_scheduler/docs/_replicator/live')
          const { total_rows } = jobs.json as { total_rows: number }
          return total_rows === 1 && (docs.json as { state?: string }).state === 'running'
        }, 30_000)
      }
      const { _rev } = (await ask(one, 'GET', '/_replicator/live')).json as { _rev: string }
      await ask(one, 'DELETE', `/_replicator/live?rev=${_rev}`)
    })

    it('show the password neither in the list of processes nor in the log', () => {
      const password = new URL(address).password
      for (const server of [one, two]) {
        const line = readFileSync(`/proc/${server.process.pid}/cmdline`, 'latin1')
        assert.ok(!line.includes(password))
        assert.ok(!server.log().includes(password))
      }
    })

    it('refuse a third of the same name', async () => {
      await assert.rejects(startNode(address, 'one'), /a node named one@127\.0\.0\.1 is up already/)
    })
  })
}

describe('a node that is started with the address on its command line', () => {
  it('hides it from the list of processes', async () => {
    const address = postgres.address()
    const server = await startNode(address, 'shy', ['--workers', '1', '--engine', address])
    try {
      const line = readFileSync(`/proc/${server.process.pid}/cmdline`, 'latin1')
      assert.ok(!line.includes(new URL(address).password), line)
    } finally {
      await server.stop()
    }
  })
})

describe('a node whose PostgreSQL is away', () => {
  it('says so to its load balancer, and is up again by itself', {
    skip: !isOwnPostgres(),
  }, async () => {
    const server = await startNode(postgres.address(), 'lonely')
    try {
      assert.equal((await ask(server, 'GET', '/_up', undefined, {})).status, 200)
      await postgres.halt()
      try {
        assert.equal((await ask(server, 'GET', '/_up', undefined, {})).status, 503)
      } finally {
        await postgres.resume()
      }
      await until(async () => (await ask(server, 'GET', '/_up', undefined, {})).status === 200)
    } finally {
      await server.stop()
    }
  })
})

async function until(isTrue: () => Promise<boolean>, limitMs = 15_000): Promise<void> {
  const endMs = Date.now() + limitMs
  while (!(await isTrue())) {
    assert.ok(Date.now() < endMs, 'it does not happen')
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
