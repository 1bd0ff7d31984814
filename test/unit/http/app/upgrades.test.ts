/** `/api/v1/upgrade`: staged beside what is in use, swapped, given up; and gone on with by whoever comes next. */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'
import { mapBy, startTestBuilds, type TestBuilds } from '../../../support/builds.ts'
import { startServer, type TestServer } from '../../../support/start-server.ts'

type Json = Record<string, unknown>

interface Upgrade {
  readonly action: string
  readonly user: string
  readonly staging_complete?: boolean
  readonly upgrade_log_id: string
  readonly log: readonly {
    readonly type: string
    readonly message?: { readonly key: string; readonly message: string }
    readonly indexers?: readonly { readonly ddoc: string; readonly progress: number }[]
  }[]
}

const REFUSE = `function (doc, old, user) { if (doc.type === 'thing' && !doc.size) throw { forbidden: 'size' } }`

const NEXT = {
  version: '4.99.0',
  files: {
    'medic.json': [
      { _id: '_design/medic', views: { things_by_name: mapBy('doc.name') }, version: '4.99.0' },
      { _id: '_design/medic-client', views: { contacts_by_phone: mapBy('doc.phone') } },
      { _id: '_design/medic-extra', views: { all: mapBy('doc._id') } },
    ],
    'logs.json': [{ _id: '_design/logs', views: { entries: mapBy('1') } }],
    'users.json': [{ _id: '_design/users', views: { names: mapBy('doc.name') } }],
  },
  buildInfo: { namespace: 'svc', application: 'svc', version: '4.99.0', author: 'somebody' },
}
const STRICT = {
  version: 'strict',
  files: {
    'svc.json': [
      {
        _id: '_design/svc',
        validate_doc_update: REFUSE,
        views: {
          things_by_size: { ...mapBy('doc.size'), reduce: '_sum' },
          lib: { a: 'exports.b=1' },
        },
      },
    ],
  },
}
const BROKEN = {
  version: 'broken',
  files: { 'svc.json': [{ _id: '_design/svc', views: { bad: { map: 'function (doc) {' } } }] },
}
const EMPTY = { version: 'empty', files: {} }

const build = (version: string): Json => ({
  build: { namespace: 'svc', application: 'svc', version },
})

let builds: TestBuilds
before(async () => {
  builds = await startTestBuilds(NEXT, STRICT, BROKEN, EMPTY)
})
after(() => builds.close())

let server: TestServer
let engine: MemoryEngine

async function start(buildsUrl = builds.url): Promise<void> {
  server = await startServer({
    application: true,
    engine,
    settings: { svc: { builds_url: buildsUrl } },
  })
}

const begin = async (): Promise<void> => {
  engine = new MemoryEngine()
  await start()
  const docs = Array.from({ length: 30 }, (_, number) => ({
    _id: `thing-${number}`,
    type: 'thing',
    name: `name ${number}`,
    size: number,
  }))
  await server.ask('POST', '/svc/_bulk_docs', { body: { docs } })
}

async function json(path: string): Promise<Json> {
  return (await server.ask('GET', path)).json as Json
}

const upgradeDocument = async (): Promise<Upgrade | undefined> => {
  const { status, json: document } = await server.ask('GET', '/svc/svc-upgrade')
  return status === 200 ? (document as Upgrade) : undefined
}

async function until(condition: (upgrade: Upgrade | undefined) => boolean): Promise<void> {
  for (let turn = 0; turn < 600; turn++) {
    if (condition(await upgradeDocument())) return
    await delay(25)
  }
  assert.fail(`it never came: ${JSON.stringify(await upgradeDocument())}`)
}

const isStaged = (upgrade: Upgrade | undefined): boolean => upgrade?.staging_complete === true
const isGone = (upgrade: Upgrade | undefined): boolean => upgrade === undefined
const hasFailed = (upgrade: Upgrade | undefined): boolean => upgrade?.log.at(-1)?.type === 'error'
const keysOf = (upgrade: Upgrade | undefined): string[] =>
  (upgrade?.log ?? []).flatMap(({ type, message }) =>
    type === 'stage' ? [(message?.key ?? '').replace('horti.stage.', '')] : [],
  )

const post = (path: string, body?: unknown, user?: string) =>
  server.ask('POST', `/api/${path}`, {
    ...(body === undefined ? {} : { body }),
    ...(user === undefined ? {} : { user }),
  })

async function stagedIds(): Promise<string[]> {
  const range = 'startkey="_design/:staged:"&endkey="_design/:staged:\ufff0"'
  const ids: string[] = []
  for (const name of ['svc', 'svc-logs', 'svc-users-meta', 'svc-sentinel', '_users']) {
    const { rows } = (await json(`/${name}/_all_docs?${encodeURI(range)}`)) as {
      rows: { id: string }[]
    }
    ids.push(...rows.map(({ id }) => `${name}/${id}`))
  }
  return ids
}

const liveViews = async (design: string): Promise<string[]> =>
  Object.keys((await json(`/svc/_design/${design}`)).views as object)

async function states(): Promise<string[]> {
  const { rows } = (await json(
    '/svc-logs/_all_docs?include_docs=true&startkey="upgrade_log:"&endkey="upgrade_log:z"',
  )) as { rows: { doc: { state_history: { state: string }[] } }[] }
  return rows.at(-1)?.doc.state_history.map(({ state }) => state) ?? []
}

describe('upgrades: what is refused', () => {
  before(begin)
  after(() => server.close())

  const wrong: [string, unknown, string][] = [
    ['no build', {}, 'You must provide a build info body'],
    ['another product', { build: { namespace: 'x', application: 'svc', version: '1' } }, 'svc'],
    ['another application', { build: { namespace: 'svc', application: 1, version: '1' } }, 'svc'],
    ['no version', { build: { namespace: 'svc', application: 'medic' } }, 'version'],
  ]
  for (const [what, body, told] of wrong) {
    it(what, async () => {
      for (const path of ['v1/upgrade', 'v1/upgrade/stage', 'v2/upgrade']) {
        const { status, json: answer } = await post(path, body)
        assert.equal(status, 400)
        assert.ok((answer as { error: string }).error.includes(told))
      }
    })
  }

  it('completing what was never staged', async () => {
    const { status, json: answer } = await post('v1/upgrade/complete')
    assert.equal(status, 404)
    assert.deepEqual(answer, {
      code: 404,
      error: 'Cannot find a staged upgrade that is ready for completion',
    })
  })

  it('those without permission, and one of two is enough', async () => {
    for (const [name, role] of [
      ['ann', 'nobody'],
      ['bea', 'upgrader'],
      ['cleo', 'configurer'],
    ]) {
      const body = { name, type: 'user', roles: [role, 'mm-online'], password: 'pw' }
      await server.ask('PUT', `/_users/org.svc.user:${name}`, { body })
    }
    const permissions = { can_upgrade: ['upgrader'], can_configure: ['configurer'] }
    await server.ask('PUT', '/api/v1/settings', { body: { permissions } })
    assert.equal((await post('v1/upgrade/complete', {}, 'ann:pw')).status, 403)
    assert.equal((await post('v1/upgrade/complete', {}, 'bea:pw')).status, 404)
    assert.equal((await post('v1/upgrade/complete', {}, 'cleo:pw')).status, 404)
  })
})

describe('upgrades', () => {
  beforeEach(begin)
  afterEach(() => server.close())

  it('stage: everything is there beside what is in use, which stays as it is', async () => {
    const live = await json('/svc/_design/svc')
    const { status, json: answer } = await post('v1/upgrade/stage', build('4.99.0'))
    assert.deepEqual([status, answer], [200, { ok: true }])
    await until(isStaged)
    const upgrade = await upgradeDocument()
    assert.equal(upgrade?.action, 'stage')
    assert.equal(upgrade?.user, 'admin')
    assert.deepEqual(keysOf(upgrade), [
      'init',
      'preCleanup',
      'download',
      'extractingDdocs',
      'warmingViews',
      'readyToDeploy',
    ])
    const warm = upgrade?.log.find(({ type }) => type === 'warm_log')
    assert.ok(warm?.indexers?.every(({ progress }) => progress === 100))
    assert.deepEqual(warm?.indexers?.map(({ ddoc }) => ddoc).sort(), [
      '_design/:staged:logs',
      '_design/:staged:svc',
      '_design/:staged:svc-client',
      '_design/:staged:svc-extra',
      '_design/:staged:users',
    ])
    assert.deepEqual(await json('/svc/_design/svc'), live)
    assert.equal((await json('/medic/horti-upgrade'))._id, 'svc-upgrade')
    assert.deepEqual(await states(), ['initiated', 'staged', 'indexing', 'indexed'])
    const staged = (await json('/svc/_design/:staged:svc')) as { views: object; build_info: Json }
    assert.ok('things_by_name' in staged.views)
    assert.ok('contacts_by_depth' in staged.views, 'what this server asks itself is kept')
    assert.equal(staged.build_info.author, 'somebody')
  })

  it('stage: indexes are built before anybody needs them', async () => {
    await post('v1/upgrade/stage', build('4.99.0'))
    await until(isStaged)
    const path = '/svc/_design/:staged:svc/_view/things_by_name'
    const { rows } = (await json(`${path}?update=false`)) as { rows: unknown[] }
    assert.equal(rows.length, 30)
    const signature = async (name: string): Promise<unknown> =>
      ((await json(`/svc/_design/${name}/_info`)).view_index as Json).signature
    const built = await signature(':staged:svc')
    await post('v1/upgrade/complete')
    await until(isGone)
    assert.equal(await signature('svc'), built)
    const live = '/svc/_design/svc/_view/things_by_name?update=false'
    assert.equal(((await json(live)) as { rows: unknown[] }).rows.length, 30)
  })

  it('stage: a staged validation does not count yet', async () => {
    await post('v1/upgrade/stage', build('strict'))
    await until(isStaged)
    const thing = { type: 'thing' }
    const ann = { name: 'ann', type: 'user', roles: ['program_officer'], password: 'pw' }
    await server.ask('PUT', '/_users/org.svc.user:ann', { body: ann })
    assert.equal((await server.ask('POST', '/svc', { body: thing })).status, 201)
    await post('v1/upgrade/complete')
    await until(isGone)
    assert.equal((await server.ask('POST', '/svc', { body: thing })).status, 403)
    assert.equal((await server.ask('POST', '/svc', { body: { ...thing, size: 1 } })).status, 201)
  })

  it('stage: a second one is in the way of the first', async () => {
    await post('v1/upgrade/stage', build('4.99.0'))
    for (const path of ['v1/upgrade', 'v1/upgrade/stage']) {
      assert.equal((await post(path, build('strict'))).status, 409)
    }
    await until(isStaged)
    assert.equal((await post('v1/upgrade/stage', build('strict'))).status, 409)
  })

  it('complete: swaps, cleans up, and tells the new version', async () => {
    await post('v1/upgrade/stage', build('4.99.0'))
    await until(isStaged)
    const { status, json: answer } = await post('v1/upgrade/complete')
    assert.deepEqual([status, answer], [200, { ok: true }])
    await until(isGone)
    assert.deepEqual(await stagedIds(), [])
    assert.ok((await liveViews('svc')).includes('things_by_name'))
    assert.ok((await liveViews('svc-extra')).includes('all'))
    assert.ok((await liveViews('svc-sms')).includes('messages_by_uuid'), 'not in the build: kept')
    assert.match(JSON.stringify(await json('/_users/_design/users')), /"names"/)
    const phone = (await json('/svc/_design/svc-client')) as { views: Record<string, Json> }
    assert.deepEqual(phone.views.contacts_by_phone, mapBy('doc.phone'))
    const info = await json('/api/deploy-info')
    assert.equal(info.version, '4.99.0')
    assert.equal(info.author, 'somebody')
    assert.equal(info.user, 'admin')
    assert.equal(typeof info.timestamp, 'number')
    const monitoring = (await json('/api/v2/monitoring')) as { version: { app: string } }
    assert.equal(monitoring.version.app, '4.99.0')
    assert.deepEqual((await states()).slice(4), [
      'completing',
      'complete',
      'finalizing',
      'finalized',
    ])
    assert.equal((await post('v1/upgrade/complete')).status, 404)
  })

  it('both in one', async () => {
    assert.equal((await post('v1/upgrade', build('4.99.0'))).status, 200)
    await until(isGone)
    assert.ok((await liveViews('svc')).includes('things_by_name'))
    assert.deepEqual((await states()).at(-1), 'finalized')
    assert.equal((await post('v2/upgrade', build('strict'))).status, 200)
    await until(isGone)
    const views = await liveViews('svc')
    assert.ok(views.includes('things_by_size') && !views.includes('things_by_name'))
  })

  it('abort: nothing of what was staged is left', async () => {
    await post('v1/upgrade/stage', build('4.99.0'))
    await until(isStaged)
    const before = await json('/svc/_design/svc')
    const { status, json: answer } = await server.ask('DELETE', '/api/v2/upgrade')
    assert.deepEqual([status, answer], [200, { ok: true }])
    await until(isGone)
    assert.deepEqual(await stagedIds(), [])
    assert.deepEqual(await json('/svc/_design/svc'), before)
    assert.deepEqual((await states()).slice(-2), ['aborting', 'aborted'])
    assert.equal((await post('v1/upgrade/complete')).status, 404)
    assert.equal((await server.ask('DELETE', '/api/v2/upgrade')).status, 200)
  })

  it('failures are told in the log, and the next try may begin', async () => {
    const broken: [string, RegExp][] = [
      ['unknown', /has no svc:svc:unknown/],
      ['empty', /no design documents/],
      ['broken', /./],
    ]
    for (const [version, told] of broken) {
      assert.equal((await post('v1/upgrade', build(version))).status, 200)
      await until(hasFailed)
      assert.match((await upgradeDocument())?.log.at(-1)?.message?.message ?? '', told)
      assert.equal((await states()).at(-1), 'errored')
      assert.equal((await post('v1/upgrade/complete')).status, 404)
    }
    await post('v1/upgrade', build('4.99.0'))
    await until(isGone)
    assert.ok((await liveViews('svc')).includes('things_by_name'))
  })

  it('are looked at', async () => {
    const none = await json('/api/v2/upgrade')
    assert.deepEqual(none, { indexers: [], buildsUrl: builds.url })
    assert.deepEqual(await json('/api/v2/upgrade/can-upgrade'), { ok: true })
    await post('v2/upgrade/stage', build('4.99.0'))
    await until(isStaged)
    const { upgradeDoc } = (await json('/api/v2/upgrade')) as { upgradeDoc: Json }
    assert.equal(upgradeDoc.action, 'stage')
    assert.equal(upgradeDoc.state, 'indexed')
    assert.equal(upgradeDoc.user, 'admin')
    assert.deepEqual(upgradeDoc.to, (build('4.99.0') as { build: Json }).build)
    assert.equal((upgradeDoc.from as Json).version, '4.18.0')
  })

  it('cannot be begun by writing the document that observers read', async () => {
    const forged = { action: 'install', build_info: (build('4.99.0') as { build: Json }).build }
    const body = { ...forged, upgrade_log_id: 'upgrade_log:1:4.99.0', log: [], user: 'x' }
    await server.ask('PUT', '/svc/svc-upgrade', { body })
    assert.equal((await post('v1/upgrade/complete')).status, 404)
    await post('v1/upgrade/stage', build('strict'))
    await until(isStaged)
    assert.deepEqual(await stagedIds(), ['svc/_design/:staged:svc'])
  })

  it('stay when the server starts anew', async () => {
    await post('v1/upgrade', build('4.99.0'))
    await until(isGone)
    const before = await json('/svc/_design/svc')
    const other = await startServer({ application: true, engine })
    const { json: afterwards } = await other.ask('GET', '/svc/_design/svc')
    assert.deepEqual(afterwards, before)
    await stopKeeping(other)
  })
})

describe('upgrades: builds of the older kind', () => {
  let old: TestServer
  before(async () => {
    await begin()
    old = await startServer()
    await old.ask('PUT', '/builds')
    await old.ask('PUT', '/builds/_security', { body: { admins: {}, members: {} } })
    const others = { docs: [{ _id: '_design/medic-client', views: { x: mapBy('2') } }] }
    const data = Buffer.from(JSON.stringify(others)).toString('base64')
    await old.ask('PUT', '/builds/medic:medic:3.17.0', {
      body: {
        views: { old_view: mapBy('doc.size') },
        build_info: { version: '3.17.0' },
        _attachments: { 'ddocs/compiled.json': { content_type: 'application/json', data } },
      },
    })
  })
  after(async () => {
    await server.close()
    await old.close()
  })

  it('have the main design document in themselves', async () => {
    const url = new URL(`${await old.listen()}/builds/`)
    url.username = 'admin'
    url.password = 'pass'
    server.configuration.apply({ section: 'svc', key: 'builds_url', value: url.href })
    const shown = (await json('/api/v2/upgrade')).buildsUrl as string
    assert.doesNotMatch(shown, /pass/)
    const medic = { build: { namespace: 'medic', application: 'medic', version: '3.17.0' } }
    assert.equal((await post('v1/upgrade', medic)).status, 200)
    await until(isGone)
    assert.ok((await liveViews('svc')).includes('old_view'))
    assert.ok((await liveViews('svc-client')).includes('x'))
    assert.equal((await json('/api/deploy-info')).version, '3.17.0')
  })
})

describe('upgrades: a builds server that does not answer', () => {
  let silent: Server
  before(async () => {
    silent = createServer(() => {})
    await new Promise<void>(done => silent.listen(0, '127.0.0.1', () => done()))
    await begin()
    const { port } = silent.address() as AddressInfo
    const value = `http://127.0.0.1:${port}/builds`
    server.configuration.apply({ section: 'svc', key: 'builds_url', value })
  })
  after(async () => {
    await server.close()
    silent.close()
  })

  it('can be given up', async () => {
    await post('v1/upgrade', build('4.99.0'))
    await until(upgrade => keysOf(upgrade).includes('download'))
    assert.equal((await server.ask('DELETE', '/api/v2/upgrade')).status, 200)
    await until(isGone)
    assert.equal((await states()).at(-1), 'aborted')
  })
})

describe('upgrades: gone on with by the next process', () => {
  beforeEach(begin)
  afterEach(() => server.close())

  const steps = ['init', 'download', 'extractingDdocs', 'warmingViews'] as const
  for (const step of steps) {
    it(`stopped while staging, at ${step}`, async () => {
      await post('v1/upgrade', build('4.99.0'))
      await until(upgrade => upgrade === undefined || keysOf(upgrade).includes(step))
      const first = server
      await start()
      // The old one is asked to end while the new one waits for its turn.
      await stopKeeping(first)
      await until(isGone)
      assert.ok((await liveViews('svc')).includes('things_by_name'))
      assert.deepEqual(await stagedIds(), [])
      assert.equal((await states()).at(-1), 'finalized')
    })
  }

  it('stopped while completing', async () => {
    await post('v1/upgrade/stage', build('4.99.0'))
    await until(isStaged)
    await post('v1/upgrade/complete')
    const first = server
    await start()
    await stopKeeping(first)
    await until(isGone)
    assert.ok((await liveViews('svc')).includes('things_by_name'))
    assert.deepEqual(await stagedIds(), [])
  })
})

/** Ends a server whose engine another one goes on with. */
async function stopKeeping(stopped: TestServer): Promise<void> {
  const { close } = engine
  engine.close = async () => {}
  await stopped.close()
  engine.close = close
}
