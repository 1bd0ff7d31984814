/**
 * The scope that is kept for an offline user is the one that a new look at the hierarchy gives, whatever was written
 * since: contacts that come, move, change their codes and kinds, go and come back; reports; purges; other settings, other
 * places of the user. And what a document decides alone, the scope decides in the same way.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Application } from '../../src/app/application.ts'
import type { JsonObject } from '../../src/app/documents/document.ts'
import { loadScope } from '../../src/app/offline-users/load-scope.ts'
import { loadOfflineUser, readOfflineAccount } from '../../src/app/offline-users/offline-user.ts'
import { replicationDepth } from '../../src/app/offline-users/replication-depth.ts'
import { decideAlone } from '../../src/app/offline-users/scope.ts'
import { startApplication, type TestApplication } from '../support/application.ts'
import { makeRandom } from '../support/random-selectors.ts'

const SEED = Number(process.env.GURNEY_SEED ?? Math.floor(Math.random() * 2 ** 31))
const STEPS = 200
const random = makeRandom(SEED)
const { below } = random
const pick = <T>(...values: readonly T[]): T => values[below(values.length)] as T

const ROLES = ['chw']
/** Few, so that they meet: the first of them are places of the user and what others are in. */
const IDS = Array.from({ length: 12 }, (_, index) => `c${index}`)
const PLACES = IDS.slice(0, 4)

let app: TestApplication
let application: Application
before(async () => {
  app = await startApplication()
  application = app.server.application ?? assert.fail('the application is there')
  await setAccount({ facility_id: ['c0'], contact_id: 'c5' })
})
after(() => app.close())

async function setAccount(members: object): Promise<void> {
  const path = '/_users/org.svc.user:rita'
  const before = await app.ask('GET', path)
  const rev = before.status === 200 ? { _rev: (before.json as { _rev: string })._rev } : {}
  const body = { ...rev, name: 'rita', type: 'user', roles: ROLES, password: 'x', ...members }
  assert.equal((await app.ask('PUT', path, { body })).status, 201)
}

function someChain(): object | undefined {
  const ids = Array.from({ length: below(4) }, () => pick(...PLACES))
  return ids.reduceRight<object | undefined>(
    (parent, _id) => (parent === undefined ? { _id } : { _id, parent }),
    undefined,
  )
}

function someDocument(_id: string): JsonObject & { _id: string } {
  const members = {
    type: pick(
      'person',
      'clinic',
      'contact',
      'person',
      'clinic',
      'data_record',
      'task',
      'form',
      'x',
    ),
    form: pick(undefined, 'visit'),
    user: pick(undefined, 'org.svc.user:rita', 'org.svc.user:other', 'c1'),
    parent: someChain(),
    contact: pick<unknown>(undefined, pick(...IDS), { _id: pick(...IDS), parent: someChain() }),
    patient_id: pick<unknown>(undefined, undefined, '7001', '7002', 7003, pick(...IDS)),
    fields: pick<unknown>(undefined, {}, { patient_id: pick('7001', '7002'), private: true }),
  }
  return { _id, ...members }
}

async function write(): Promise<void> {
  const _id = pick(...IDS)
  const stored = await app.ask('GET', `/svc/${_id}`)
  const rev = stored.status === 200 ? { _rev: (stored.json as { _rev: string })._rev } : {}
  const isDeleted = stored.status === 200 && below(4) === 0
  const body = isDeleted ? { ...rev, _deleted: true } : { ...someDocument(_id), ...rev }
  assert.ok((await app.ask('PUT', `/svc/${_id}`, { body })).status < 300)
}

async function purge(): Promise<void> {
  const _id = pick(...IDS)
  const stored = await app.ask('GET', `/svc/${_id}`)
  if (stored.status !== 200) return
  const body = { [_id]: [(stored.json as { _rev: string })._rev] }
  assert.ok((await app.ask('POST', '/svc/_purge', { body })).status < 300)
}

async function writeElsewhere(): Promise<void> {
  const docs = Array.from({ length: below(5) + 1 }, (_, index) => ({
    _id: `report-${below(50)}-${index}-${below(1e9)}`,
    type: 'data_record',
    form: 'visit',
    fields: { patient_id: '7001' },
  }))
  assert.equal((await app.ask('POST', '/svc/_bulk_docs', { body: { docs } })).status, 201)
}

async function changeSettings(): Promise<void> {
  const entry = {
    role: 'chw',
    depth: below(4),
    report_depth: pick<unknown>(undefined, below(3)),
    replicate_primary_contacts: pick(true, false),
  }
  const body = {
    replication_depth: pick<unknown>([], [entry]),
    district_admins_access_unallocated_messages: pick(true, false),
  }
  const { status } = await app.ask('PUT', '/api/v1/settings?replace=true', { body })
  assert.equal(status, 200)
}

const changeAccount = (): Promise<void> =>
  setAccount({
    facility_id: pick<unknown>(['c0'], ['c1', 'c2'], 'c3', null),
    contact_id: pick(...IDS),
  })

async function compare(step: number): Promise<void> {
  const context = await application.context()
  const account = await readOfflineAccount(application.users, { name: 'rita', roles: ROLES })
  const kept = await application.scopes.scopeOf(context, account)
  const { scope: fresh } = await loadScope(context, await loadOfflineUser(context.data, account))
  const told = `seed ${SEED}, step ${step}`
  assert.deepEqual(sorted(kept.subjects), sorted(fresh.subjects), told)
  assert.deepEqual(sorted(kept.user.own), sorted(fresh.user.own), told)
  const depth = replicationDepth(ROLES, context.settings)
  for (let index = 0; index < 20; index++) {
    const { _id, ...document } = someDocument(pick(...IDS, 'settings', 'org.svc.user:rita'))
    const alone = decideAlone(account, depth, _id, document)
    if (alone !== undefined) assert.equal(alone, fresh.allows(_id, document), `${told} ${_id}`)
  }
}

const sorted = (items: Iterable<unknown>): string[] =>
  [...items].map(item => JSON.stringify(item)).sort()

describe('a scope that is kept', () => {
  it(`is the one that would be made (seed ${SEED})`, async () => {
    for (let step = 0; step < STEPS; step++) {
      // Most of all contacts: whatever else changes makes the scope anew in any case.
      const others = [writeElsewhere, purge, changeSettings, changeAccount]
      await (below(10) === 0 ? pick(...others) : write)()
      await compare(step)
    }
  })

  it('is not made again for reports, and is for what concerns it', async () => {
    const body = { replication_depth: [] }
    await app.ask('PUT', '/api/v1/settings?replace=true', { body })
    await setAccount({ facility_id: ['home'] })
    await app.store({ _id: 'home', type: 'clinic', name: 'Home' })
    await compare(-1)
    const before = application.scopes.loadCount
    for (let round = 0; round < 10; round++) {
      await writeElsewhere()
      await app.store({ _id: `far-${round}`, type: 'person', name: 'x', parent: { _id: 'else' } })
      await compare(-1)
    }
    assert.equal(application.scopes.loadCount, before)
    await app.store({ _id: 'near', type: 'person', name: 'x', parent: { _id: 'home' } })
    await compare(-1)
    assert.equal(application.scopes.loadCount, before + 1)
  })
})
