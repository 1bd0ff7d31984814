/**
 * An upgrade on a database of 50,000 documents: its indexes are built ahead while the server goes on answering, and
 * whoever is killed at any step of it, the next process brings it to its end.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startTestBuilds, type TestBuilds } from '../support/builds.ts'
import { childrenOf } from '../support/server-children.ts'
import { type RunningServer, startProcess } from '../support/start-process.ts'

const DOCUMENTS = 50_000
const BULK = 2500

const folder = mkdtempSync(join(tmpdir(), 'gurney-upgrade-crash-'))
writeFileSync(join(folder, 'local.ini'), '[svc_httpd_auth]\niterations = 10\n')

/** Slow enough to be caught at it. */
const slowMap = (value: number): string => `function (doc) {
  if (doc.type !== 'thing') return
  for (var i = 0, x = 0; i < 15000; i++) x += i % 7
  emit(doc.n % 10, ${value})
}`

const buildOf = (version: string, value: number) => ({
  version,
  files: {
    'medic.json': [
      { _id: '_design/medic-extra', views: { things: { map: slowMap(value), reduce: '_count' } } },
      { _id: '_design/medic-conflicts', views: { own: { map: slowMap(value) } } },
    ],
  },
})

const VERSIONS = ['5.0.1', '5.0.2', '5.0.3', '5.0.4', '5.0.5']

let builds: TestBuilds
let server: RunningServer
before(async () => {
  builds = await startTestBuilds(...VERSIONS.map((version, index) => buildOf(version, index)))
  server = await start()
  await load()
})
after(async () => {
  await server.stop()
  await builds.close()
  rmSync(folder, { recursive: true, force: true })
})

const start = (): Promise<RunningServer> =>
  startProcess(folder, ['--admin', 'admin:pass', '--workers', '2', '--builds-url', builds.url])

interface Answer {
  readonly status: number
  readonly json: Record<string, unknown>
}

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: {
      Authorization: `Basic ${Buffer.from('admin:pass').toString('base64')}`,
      'Content-Type': 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as Answer['json'] }
}

async function load(): Promise<void> {
  for (let from = 0; from < DOCUMENTS; from += BULK) {
    const docs = Array.from({ length: BULK }, (_, index) => ({
      _id: `thing-${from + index}`,
      type: 'thing',
      n: from + index,
    }))
    assert.equal((await ask('POST', '/svc/_bulk_docs', { docs })).status, 201)
  }
}

interface Entry {
  readonly type: string
  readonly message?: { readonly key: string; readonly message: string }
  readonly indexers?: readonly { readonly progress: number }[]
}

interface Upgrade {
  readonly staging_complete?: boolean
  readonly log: readonly Entry[]
}

async function upgradeDocument(): Promise<Upgrade | undefined> {
  const { status, json } = await ask('GET', '/svc/svc-upgrade')
  const upgrade = status === 200 ? (json as unknown as Upgrade) : undefined
  const last = upgrade?.log.at(-1)
  assert.notEqual(last?.type, 'error', last?.message?.message)
  return upgrade
}

const build = (version: string) => ({
  build: { namespace: 'medic', application: 'medic', version },
})

async function thingsCounted(design: string): Promise<number> {
  const { json } = await ask('GET', `/svc/_design/${design}/_view/things`)
  return (json.rows as { value: number }[])[0]?.value ?? 0
}

async function checkFinished(version: string, extra: number): Promise<void> {
  const { json: info } = await ask('GET', '/svc/_design/svc-extra')
  assert.equal((info.build_info as { version: string }).version, version)
  const value = VERSIONS.indexOf(version)
  const { json: row } = await ask('GET', '/svc/_design/svc-extra/_view/things?reduce=false&limit=1')
  assert.equal((row.rows as { value: number }[])[0]?.value, value)
  assert.equal(await thingsCounted('svc-extra'), DOCUMENTS + extra)
  const { json: own } = await ask('GET', '/svc/_design/svc-conflicts/_view/own?limit=1')
  assert.equal(own.total_rows, DOCUMENTS + extra)
  const { json: kept } = await ask('GET', '/svc/_design/svc-conflicts/_view/conflicts')
  assert.deepEqual(kept.rows, [], 'what the server needs itself is still there')
  const range = 'startkey="_design/:staged:"&endkey="_design/:staged:z"'
  const { json: staged } = await ask('GET', encodeURI(`/svc/_all_docs?${range}`))
  assert.deepEqual(staged.rows, [])
  const logs = 'include_docs=true&startkey="upgrade_log:"&endkey="upgrade_log:z"'
  const { json: found } = await ask('GET', encodeURI(`/svc-logs/_all_docs?${logs}`))
  const states = (found.rows as { doc: { state: string } }[]).map(({ doc }) => doc.state)
  assert.ok(
    states.every(state => state === 'finalized'),
    String(states),
  )
}

let written = 0

/** What clients do all the time: read, write, ask a view that is in use. */
async function serveSome(): Promise<void> {
  const [read, wrote, viewed] = await Promise.all([
    ask('GET', `/svc/thing-${written % DOCUMENTS}`),
    ask('PUT', `/svc/new-${written}`, { type: 'thing', n: written }),
    ask('GET', '/svc/_design/svc-conflicts/_view/conflicts'),
  ])
  written++
  assert.deepEqual([read.status, wrote.status, viewed.status], [200, 201, 200])
}

test('builds ahead with progress while the server goes on answering, then swaps', async () => {
  const version = VERSIONS[0] as string
  assert.equal((await ask('POST', '/api/v1/upgrade/stage', build(version))).status, 200)
  const seen = new Set<number>()
  for (;;) {
    const upgrade = await upgradeDocument()
    for (const { indexers = [] } of upgrade?.log ?? []) {
      for (const { progress } of indexers) seen.add(progress)
    }
    if (upgrade?.staging_complete === true) break
    await serveSome()
  }
  assert.ok(
    [...seen].some(progress => progress > 0 && progress < 100),
    [...seen].join(),
  )
  assert.equal((await ask('GET', '/svc/_design/svc-extra')).status, 404)
  assert.equal((await ask('POST', '/api/v1/upgrade/complete')).status, 200)
  while ((await upgradeDocument()) !== undefined) await serveSome()
  for (let turn = 0; turn < 20; turn++) await serveSome()
  await checkFinished(version, written)
})

const STEPS = [
  'init',
  'preCleanup',
  'download',
  'extractingDdocs',
  'warmingViews',
  'warming',
  'readyToDeploy',
  'initDeploy',
  'deploying',
  'postCleanup',
]

/** How far an upgrade has come; -1 when there is none. */
async function stepOf(): Promise<number> {
  const upgrade = await upgradeDocument()
  if (upgrade === undefined) return -1
  const last = upgrade.log.at(-1)
  if (last === undefined) return 0
  if (last.type === 'warm_log') {
    const isAhead = upgrade.staging_complete === true
    return STEPS.indexOf(isAhead ? 'initDeploy' : 'warming')
  }
  return STEPS.indexOf((last.message?.key ?? '').replace(/^.*\./, ''))
}

test('is brought to its end by the next process when the server is killed, at every step', async () => {
  let next = 1
  let hasBegun = false
  const killedAt: string[] = []
  for (const wanted of STEPS.keys()) {
    for (;;) {
      const step = await stepOf()
      if (step === -1) {
        // The end came before the kill: the next one is caught.
        assert.ok(next < VERSIONS.length, 'it cannot be caught')
        if (hasBegun) next++
        hasBegun = true
        assert.equal(
          (await ask('POST', '/api/v1/upgrade', build(VERSIONS[next] as string))).status,
          200,
        )
      } else if (step >= wanted) {
        killedAt.push(STEPS[step] as string)
        break
      }
    }
    await server.kill()
    server = await start()
    assert.equal((await ask('GET', '/svc/thing-1')).status, 200)
  }
  while ((await upgradeDocument()) !== undefined) await delay(100)
  await checkFinished(VERSIONS[next] as string, written)
  assert.ok(new Set(killedAt).size >= 5, killedAt.join())
})

test('goes on when only the process that works on it dies', async () => {
  const version = VERSIONS[0] as string
  assert.equal((await ask('POST', '/api/v1/upgrade', build(version))).status, 200)
  while ((await stepOf()) < STEPS.indexOf('warming')) await delay(50)
  for (const pid of childrenOf(server.process.pid, 'worker')) process.kill(pid, 'SIGKILL')
  const isGone = async (): Promise<boolean> => {
    try {
      return (await upgradeDocument()) === undefined
    } catch (thrown) {
      // The next workers are on their way.
      if (thrown instanceof TypeError) return false
      throw thrown
    }
  }
  while (!(await isGone())) await delay(100)
  await checkFinished(version, written)
})
