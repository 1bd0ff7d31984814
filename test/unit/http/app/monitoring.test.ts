/** Every metric of `/api/v1/monitoring` and `/api/v2/monitoring` follows the data, and fails alone. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { startServer, type TestServer } from '../../../support/start-server.ts'

const NOW = Date.UTC(2026, 4, 20, 12)
const DAY_MS = 24 * 60 * 60 * 1000

interface Sizes {
  readonly active: number
  readonly file: number
}

interface Figures {
  readonly name: string
  readonly update_sequence: number
  readonly doc_count: number
  readonly doc_del_count: number
  readonly fragmentation: number
  readonly sizes: Sizes
  readonly view_indexes: readonly { readonly name: string; readonly sizes: Sizes }[]
}

type Counts = Record<string, number>

interface Monitored {
  readonly version: Record<string, string>
  readonly svc: Record<string, Figures>
  readonly couchdb: Record<string, Figures>
  readonly date: { readonly current: number; readonly uptime: number }
  readonly messaging: {
    readonly outgoing: {
      readonly state?: Counts
      readonly total: Counts
      readonly seven_days: Counts
      readonly last_hundred: Record<string, Counts>
    }
  }
  readonly sentinel: { readonly backlog: number }
  readonly outbound_push: { readonly backlog: number }
  readonly feedback: { readonly count: number }
  readonly conflict: { readonly count: number }
  readonly replication_limit: { readonly count: number }
  readonly connected_users: { readonly count: number }
}

let server: TestServer
let now = NOW

async function start(): Promise<void> {
  now = NOW
  server = await startServer({ application: true, clock: () => now })
}

async function monitored(version = 'v2', query = ''): Promise<Monitored> {
  const { status, json } = await server.ask('GET', `/api/${version}/monitoring${query}`, {
    user: null,
  })
  assert.equal(status, 200)
  return json as Monitored
}

async function store(database: string, ...docs: Record<string, unknown>[]): Promise<void> {
  const { text } = await server.ask('POST', `/${database}/_bulk_docs`, { body: { docs } })
  assert.doesNotMatch(text, /"error"/)
}

const task = (state: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  state,
  messages: [{ uuid: `u-${state}`, to: '+1', message: 'hello' }],
  ...more,
})

describe('monitoring: versions, dates and databases', () => {
  before(start)
  after(() => server.close())

  it('tells versions', async () => {
    const { version } = await monitored()
    const api = (await server.ask('GET', '/api/info')).json as { version: string }
    const welcome = (await server.ask('GET', '/')).json as { version: string }
    assert.equal(version.app, api.version)
    assert.equal(version.node, process.version)
    assert.equal(version.svc, welcome.version)
    const path = '/svc/_design/svc'
    const design = (await server.ask('GET', path)).json as Record<string, unknown>
    const build_info = { ...(design.build_info as object), version: '4.99.1' }
    await server.ask('PUT', path, { body: { ...design, build_info } })
    assert.equal((await monitored()).version.app, '4.99.1')
  })

  it('tells the time, and for how long the server runs', async () => {
    const first = await monitored()
    assert.equal(first.date.current, now)
    now += 90_500
    const later = await monitored()
    assert.equal(later.date.current, now)
    assert.equal(later.date.uptime - first.date.uptime, 90.5)
  })

  it('has all watched databases and indexes, under both families of names', async () => {
    const { svc, couchdb } = await monitored()
    assert.deepEqual(Object.keys(svc), ['svc', 'svc-sentinel', 'svc-users-meta', '_users'])
    assert.deepEqual(
      Object.entries(svc).map(([key, { name }]) => [key, name]),
      Object.keys(svc).map(key => [key, key]),
    )
    assert.deepEqual(Object.values(couchdb), Object.values(svc))
    assert.deepEqual(Object.keys(couchdb), ['medic', 'sentinel', 'usersmeta', 'users'])
    const indexes = Object.values(svc).map(each => each.view_indexes.map(({ name }) => name))
    assert.deepEqual(indexes, [
      ['svc', 'svc-admin', 'svc-client', 'svc-conflicts', 'svc-scripts', 'svc-sms'],
      ['sentinel'],
      ['users-meta'],
      ['users'],
    ])
  })

  for (const name of ['svc', 'svc-sentinel', 'svc-users-meta']) {
    it(`counts documents, deletions, changes and bytes of ${name}`, async () => {
      const before = (await monitored()).svc[name] as Figures
      const filler = 'x'.repeat(50_000)
      await store(name, { _id: 'one', filler }, { _id: 'two', filler })
      const { _rev } = (await server.ask('GET', `/${name}/two`)).json as { _rev: string }
      await store(name, { _id: 'two', _rev, _deleted: true })
      const figures = (await monitored()).svc[name] as Figures
      assert.equal(figures.doc_count - before.doc_count, 1)
      assert.equal(figures.doc_del_count - before.doc_del_count, 1)
      assert.equal(figures.update_sequence - before.update_sequence, 3)
      assert.ok(figures.sizes.active > before.sizes.active)
      assert.ok(figures.sizes.file >= figures.sizes.active)
    })
  }

  it('counts accounts', async () => {
    const before = (await monitored()).svc._users as Figures
    const body = { name: 'ann', type: 'user', roles: [], password: 'pw' }
    await server.ask('PUT', '/_users/org.svc.user:ann', { body })
    const figures = (await monitored()).svc._users as Figures
    assert.equal(figures.doc_count - before.doc_count, 1)
  })

  it('tells the bytes of indexes, which grow with what is indexed', async () => {
    const sizeOf = async (): Promise<number> => {
      const { view_indexes } = (await monitored()).svc.svc as Figures
      return view_indexes.find(({ name }) => name === 'svc-client')?.sizes.active ?? -1
    }
    const before = await sizeOf()
    const people = Array.from({ length: 200 }, (_, number) => ({
      type: 'person',
      name: `Person ${number}`,
    }))
    await store('svc', ...people)
    await server.ask('GET', '/svc/_design/svc-client/_view/contacts_by_type?limit=1')
    assert.ok((await sizeOf()) > before)
  })

  it('tells fragmentation as bytes of files for bytes in use', async () => {
    const { sizes, view_indexes, fragmentation } = (await monitored()).svc.svc as Figures
    const used = [sizes, ...view_indexes.map(index => index.sizes)].filter(
      ({ active }) => active > 0,
    )
    const sum = (pick: (each: Sizes) => number) =>
      used.reduce((total, each) => total + pick(each), 0)
    assert.equal(fragmentation, sum(each => each.file) / sum(each => each.active))
  })
})

describe('monitoring: counts', () => {
  before(start)
  after(() => server.close())

  it('counts changes that the background processor has not seen', async () => {
    const { update_seq } = (await server.ask('GET', '/svc')).json as { update_seq: string }
    const body = { value: update_seq }
    const path = '/svc-sentinel/_local/transitions-seq'
    const before = (await monitored()).sentinel.backlog
    const changes = (await server.ask('GET', '/svc/_changes')).json as { results: unknown[] }
    assert.equal(before, changes.results.length, 'all of them while it never ran')
    await server.ask('PUT', path, { body })
    assert.equal((await monitored()).sentinel.backlog, 0)
    await store('svc', { _id: 'new-1' }, { _id: 'new-2' })
    assert.equal((await monitored()).sentinel.backlog, 2)
  })

  it('counts what waits to be pushed', async () => {
    assert.equal((await monitored()).outbound_push.backlog, 0)
    const waiting = { type: 'task:outbound', doc_id: 'd', queue: ['a', 'b'] }
    await store('svc-sentinel', { _id: 'task:outbound:d', ...waiting }, { _id: 'other' })
    assert.equal((await monitored()).outbound_push.backlog, 1)
  })

  it('counts feedback', async () => {
    assert.equal((await monitored()).feedback.count, 0)
    const meta = { time: '2026-05-01T00:00:00Z' }
    await store('svc-users-meta', { type: 'feedback', meta }, { type: 'telemetry', meta })
    assert.equal((await monitored()).feedback.count, 1)
  })

  it('counts documents in conflict until they are resolved', async () => {
    assert.equal((await monitored()).conflict.count, 0)
    const docs = [
      { _id: 'torn', _rev: '1-a', a: 1 },
      { _id: 'torn', _rev: '1-b', a: 2 },
    ]
    await server.ask('POST', '/svc/_bulk_docs', { body: { new_edits: false, docs } })
    assert.equal((await monitored()).conflict.count, 1)
    await server.ask('DELETE', '/svc/torn?rev=1-a')
    assert.equal((await monitored()).conflict.count, 0)
  })

  it('counts users over the replication limit', async () => {
    assert.equal((await monitored()).replication_limit.count, 0)
    await store(
      'svc-logs',
      { _id: 'replication-count-ann', user: 'ann', count: 10_001 },
      { _id: 'replication-count-bob', user: 'bob', count: 10_000 },
    )
    assert.equal((await monitored()).replication_limit.count, 1)
  })

  it('counts users who were connected within an interval', async () => {
    assert.equal((await monitored()).connected_users.count, 0)
    const seen = (name: string, days: number) => ({
      _id: `connected-user-${name}`,
      user: name,
      timestamp: now - days * DAY_MS,
    })
    await store('svc-logs', seen('ann', 1), seen('bob', 6), seen('cleo', 8))
    assert.equal((await monitored()).connected_users.count, 2)
    assert.equal((await monitored('v1', '?connected_user_interval=2')).connected_users.count, 1)
    assert.equal((await monitored('v2', '?connected_user_interval=9')).connected_users.count, 3)
    assert.equal((await monitored('v2', '?connected_user_interval=x')).connected_users.count, 2)
  })
})

describe('monitoring: messages', () => {
  beforeEach(start)
  afterEach(() => server.close())

  it('counts by what became of them', async () => {
    const none = { due: 0, scheduled: 0, muted: 0, delivered: 0, failed: 0 }
    assert.deepEqual((await monitored()).messaging.outgoing.total, none)
    const states = ['pending', 'sent', 'delivered', 'failed', 'muted', 'denied', 'cleared']
    await store('svc', {
      type: 'data_record',
      reported_date: now,
      tasks: states.map(state => task(state)),
      scheduled_tasks: [
        { state: 'scheduled', due: new Date(now + DAY_MS).toISOString(), message_key: 'later' },
      ],
    })
    const counts = { due: 4, scheduled: 1, muted: 3, delivered: 2, failed: 1 }
    assert.deepEqual((await monitored()).messaging.outgoing.total, counts)
    assert.deepEqual((await monitored('v1')).messaging.outgoing, { state: counts })
  })

  it('counts those of the last seven days', async () => {
    const record = (days: number, state: string) => ({
      type: 'data_record',
      reported_date: now - days * DAY_MS,
      tasks: [task(state)],
    })
    await store(
      'svc',
      record(1, 'pending'),
      record(6, 'delivered'),
      record(9, 'failed'),
      record(2, 'muted'),
      record(-1, 'scheduled'),
    )
    const { seven_days, total } = (await monitored()).messaging.outgoing
    assert.deepEqual(seven_days, { due: 2, scheduled: 0, muted: 1, delivered: 1, failed: 0 })
    assert.deepEqual(total, { due: 3, scheduled: 1, muted: 1, delivered: 1, failed: 1 })
  })

  it('counts the latest hundred of each group by state', async () => {
    const at = (ms: number, state: string) =>
      task(state, { state_history: [{ state, timestamp: new Date(ms).toISOString() }] })
    const old = Array.from({ length: 5 }, (_, index) => at(now - DAY_MS - index, 'delivered'))
    const fresh = Array.from({ length: 98 }, (_, index) => at(now - index, 'failed'))
    const coming = at(now + DAY_MS, 'sent')
    const others = ['pending', 'unrecognised', 'denied', 'duplicate', 'scheduled'].map(state =>
      at(now, state),
    )
    await store('svc', {
      type: 'data_record',
      reported_date: now,
      tasks: [...old, ...fresh, coming, ...others],
    })
    const { last_hundred } = (await monitored()).messaging.outgoing
    assert.deepEqual(last_hundred.final, { sent: 0, delivered: 2, failed: 98 })
    assert.deepEqual(last_hundred.muted, { denied: 1, cleared: 0, muted: 0, duplicate: 1 })
    assert.deepEqual(last_hundred.pending, {
      pending: 1,
      'forwarded-to-gateway': 0,
      'received-by-gateway': 0,
      'forwarded-by-gateway': 0,
      unrecognised: 1,
    })
  })
})

describe('monitoring: what fails', () => {
  beforeEach(start)
  afterEach(() => server.close())

  it('is told as -1 or an empty text, and the rest still answers', async () => {
    for (const name of ['svc-logs', 'svc-users-meta']) await server.ask('DELETE', `/${name}`)
    const all = await monitored()
    assert.equal(all.replication_limit.count, -1)
    assert.equal(all.connected_users.count, -1)
    assert.equal(all.feedback.count, -1)
    assert.deepEqual(all.svc['svc-users-meta'], {
      name: '',
      update_sequence: -1,
      doc_count: -1,
      doc_del_count: -1,
      fragmentation: -1,
      sizes: { active: -1, file: -1 },
      view_indexes: [],
    })
    assert.equal(all.conflict.count, 0)
    assert.equal(all.svc.svc?.name, 'svc')
  })

  it('is one view alone where one is missing', async () => {
    for (const name of ['svc-conflicts', 'svc-sms', 'svc-admin']) {
      const path = `/svc/_design/${name}`
      const { _rev } = (await server.ask('GET', path)).json as { _rev: string }
      await server.ask('DELETE', `${path}?rev=${_rev}`)
    }
    const all = await monitored()
    assert.equal(all.conflict.count, -1)
    assert.deepEqual(all.messaging.outgoing.last_hundred.muted, {
      denied: -1,
      cleared: -1,
      muted: -1,
      duplicate: -1,
    })
    const failed = { due: -1, scheduled: -1, muted: -1, delivered: -1, failed: -1 }
    assert.deepEqual(all.messaging.outgoing.total, failed)
    assert.deepEqual(all.messaging.outgoing.seven_days, failed)
    assert.deepEqual((await monitored('v1')).messaging.outgoing.state, failed)
    const names = all.svc.svc?.view_indexes.map(({ name }) => name)
    assert.deepEqual(names, ['svc', 'svc-client', 'svc-scripts'])
  })

  it('is everything of the application where it is gone, and yet there is an answer', async () => {
    await server.ask('DELETE', '/svc')
    const all = await monitored()
    assert.equal(all.version.app, '')
    assert.equal(all.sentinel.backlog, -1)
    assert.equal(all.outbound_push.backlog, 0)
  })
})
