/** How a replication logs in to the servers at its ends: sessions, and Basic where there are none. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { Log } from '../../src/base/log.ts'
import { type Front, type FrontRequest, startFront } from '../support/front-server.ts'
import { type ReplicationServer, startReplicationServer } from '../support/replication-pair.ts'
import { ADMIN } from '../support/start-server.ts'

let shiftMs = 0
let logged = ''
let server: ReplicationServer
let front: Front

before(async () => {
  const sink = {
    write: (line: string) => {
      logged += `${line}\n`
    },
  }
  const log = new Log({ level: 'debug', format: 'text', sink })
  server = await startReplicationServer({
    dialect: 'couchdb',
    clock: () => Date.now() + shiftMs,
    log,
    settings: { replicator: { retries_per_request: '2' } },
  })
  front = await startFront(server.address)
})
after(async () => {
  front.close()
  await server.close()
})

let round = 0
let source: string
let target: string
beforeEach(async () => {
  front.seen = []
  front.meddle = () => false
  round++
  source = `s${round}`
  target = `t${round}`
  await server.make(source, target)
  await server.ask('PUT', `/${source}/a`, {})
  const data = Buffer.alloc(200_000, 'x').toString('base64')
  const _attachments = { f: { content_type: 'image/png', data } }
  await server.ask('PUT', `/${source}/file`, { _attachments })
})
afterEach(() =>
  server.server.configuration.apply({
    section: 'replicator',
    key: 'auth_plugins',
    value: undefined,
  }),
)

const replicate = (login = `${ADMIN}@`, more: object = {}) =>
  server.replicate({
    source: server.url(source),
    target: { url: `http://${login}${front.place}/${target}`, ...more },
  })
const has = async (id: string): Promise<boolean> =>
  (await server.ask('GET', `/${target}/${id}`)).status === 200
const logins = (): FrontRequest[] => front.seen.filter(({ path }) => path === '/_session')
const others = (): FrontRequest[] => front.seen.filter(({ path }) => path !== '/_session')

describe('the login of a replication', () => {
  it('is one session for all requests, and no password with them', async () => {
    const answer = await replicate()
    assert.equal(answer.status, 200, answer.text)
    assert.deepEqual([await has('a'), await has('file')], [true, true])
    assert.equal(logins().length, 1)
    assert.equal(logins()[0]?.method, 'POST')
    assert.ok(others().length > 5)
    assert.ok(others().every(({ cookie }) => /^AuthSession=./.test(cookie ?? '')))
    assert.ok(front.seen.every(({ authorization }) => authorization === undefined))
  })

  it('takes name and password from `auth`, and keeps cookies that were given', async () => {
    const [username, password] = ADMIN.split(':')
    const answer = await replicate('', {
      auth: { basic: { username, password } },
      headers: { cookie: 'route=7' },
    })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(logins().length, 1)
    assert.ok(others().every(({ cookie }) => /^route=7; AuthSession=./.test(cookie ?? '')))
  })

  it('is Basic where there are no sessions', async () => {
    for (const status of [404, 405, 200]) {
      front.seen = []
      front.meddle = ({ url }, response) => {
        if (url !== '/_session') return false
        response.writeHead(status).end('{}')
        return true
      }
      const answer = await replicate()
      assert.equal(answer.status, 200, answer.text)
      assert.equal(logins().length, 1)
      const basic = `Basic ${Buffer.from(ADMIN).toString('base64')}`
      assert.ok(others().length > 3 && others().every(each => each.authorization === basic))
      await server.ask('PUT', `/${source}/more${status}`, {})
    }
    assert.equal(await has('more405'), true)
  })

  it('is Basic where that is asked for, or even sessions need it', async () => {
    front.meddle = ({ url, headers }, response) => {
      if (url !== '/_session' || headers.authorization !== undefined) return false
      response.writeHead(401, { 'WWW-Authenticate': 'Basic' }).end('{}')
      return true
    }
    assert.equal((await replicate()).status, 200)
    assert.equal(await has('file'), true)
    front.seen = []
    const value = 'couch_replicator_auth_noop'
    server.server.configuration.apply({ section: 'replicator', key: 'auth_plugins', value })
    assert.equal((await replicate()).status, 200)
    assert.ok(front.seen.length > 1 && logins().length === 0)
  })

  it('leaves a header that says who it is alone', async () => {
    const bearer = 'Bearer not-a-token'
    await replicate('', { headers: { Authorization: bearer } })
    assert.equal(logins().length, 0)
    assert.ok(
      front.seen.length > 0 && front.seen.every(({ authorization }) => authorization === bearer),
    )
  })

  it('is tried again when the other server stumbles', async () => {
    let failures = 1
    front.meddle = ({ url }, response) => {
      if (url !== '/_session' || failures-- <= 0) return false
      response.writeHead(503).end()
      return true
    }
    assert.equal((await replicate()).status, 200)
    assert.equal(logins().length, 2)
  })

  it('fails with a wrong password, which is shown to nobody', async () => {
    const answer = await replicate('admin:wrong-secret@')
    assert.equal(answer.status, 401)
    assert.match(answer.text, /unauthorized to access or create database/)
    assert.equal(`${answer.text}${logged}`.includes('wrong-secret'), false)
    assert.ok(logins().length >= 1 && others().every(({ status }) => status === 401))
  })
})

describe('a session that is over', () => {
  const HOUR_MS = 3_600_000
  /** The clock jumps when the first of these requests comes. */
  const jumpAt = (pattern: RegExp): void => {
    let isDone = false
    front.meddle = ({ url = '' }) => {
      if (!isDone && pattern.test(url)) {
        isDone = true
        shiftMs += HOUR_MS
      }
      return false
    }
  }

  it('is renewed when the other server refuses it, for streams too', async () => {
    const change = { section: 'replicator', key: 'session_refresh_interval_sec' }
    server.server.configuration.apply({ ...change, value: '100000000' })
    for (const pattern of [/_revs_diff/, /_bulk_docs/, /file\?new_edits/]) {
      front.seen = []
      await server.ask('PUT', `/${source}/x${shiftMs}`, {})
      await server.ask('DELETE', `/${target}`)
      await server.make(target)
      jumpAt(pattern)
      const answer = await replicate()
      assert.equal(answer.status, 200, answer.text)
      const { history } = answer.json as { history: { doc_write_failures: number }[] }
      assert.equal(history[0]?.doc_write_failures, 0)
      assert.deepEqual([await has('a'), await has('file')], [true, true])
      assert.equal(logins().length, 2, String(pattern))
      assert.ok(others().some(({ status }) => status === 401))
    }
    server.server.configuration.apply({ ...change, value: undefined })
  })

  it('is renewed before that when it is old', async () => {
    jumpAt(/_local/)
    assert.equal((await replicate()).status, 200)
    assert.equal(logins().length, 2)
    // The one request under way at the jump is all that could meet the old session.
    assert.ok(others().filter(({ status }) => status === 401).length <= 1)
  })

  it('is not renewed over and over when each new one is refused', async () => {
    front.meddle = ({ url = '' }, response) => {
      if (!url.includes('_revs_diff')) return false
      response.writeHead(401).end('{"error":"unauthorized"}')
      return true
    }
    assert.equal((await replicate()).status, 401)
    assert.equal(logins().length, 1)
  })
})
