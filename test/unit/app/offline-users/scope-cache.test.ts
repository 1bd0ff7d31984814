/** How much the cache of scopes keeps, and that what goes wrong is not kept. That it is exact is told by a fuzz test. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Application } from '../../../../src/app/application.ts'
import type { OfflineAccount } from '../../../../src/app/offline-users/offline-user.ts'
import { ScopeCache } from '../../../../src/app/offline-users/scope-cache.ts'
import { HIERARCHY, startApplication, type TestApplication } from '../../../support/application.ts'

let app: TestApplication
let application: Application
before(async () => {
  app = await startApplication()
  application = app.server.application ?? assert.fail('the application is there')
  await app.store(...HIERARCHY)
})
after(() => app.close())

const account = (name: string, facility = 'center'): OfflineAccount => ({
  name,
  roles: ['chw'],
  contactId: 'nurse',
  facilityIds: [facility],
  settingsIds: [`org.svc.user:${name}`],
})

/** Asks for scopes one after another; how many had to be made. */
async function loads(cache: ScopeCache, ...accounts: readonly OfflineAccount[]): Promise<number> {
  const earlier = cache.loadCount
  for (const each of accounts) await cache.scopeOf(await application.context(), each)
  return cache.loadCount - earlier
}

describe('the cache of scopes', () => {
  it('keeps those of the users who came last', async () => {
    const cache = new ScopeCache({ usersMax: 2, subjectsMax: 1000 })
    const [a, b, c] = [account('a'), account('b'), account('c')]
    assert.equal(await loads(cache, a, b, a), 2)
    assert.equal(await loads(cache, c), 1)
    assert.equal(await loads(cache, a, c), 0)
    assert.equal(await loads(cache, b), 1)
  })

  it('keeps no more subjects than it may, and of one large scope nothing', async () => {
    const { subjects } = await new ScopeCache().scopeOf(await application.context(), account('a'))
    const roomy = new ScopeCache({ usersMax: 9, subjectsMax: 2 * (subjects.size + 5) })
    assert.equal(await loads(roomy, account('a'), account('b'), account('a'), account('b')), 2)
    assert.equal(await loads(roomy, account('c'), account('a')), 2)
    const tiny = new ScopeCache({ usersMax: 9, subjectsMax: 3 })
    assert.equal(await loads(tiny, account('a'), account('a')), 2)
  })

  it('makes one scope for many requests at once', async () => {
    const cache = new ScopeCache()
    const context = await application.context()
    const scopes = await Promise.all(
      Array.from({ length: 10 }, () => cache.scopeOf(context, account('a'))),
    )
    assert.equal(cache.loadCount, 1)
    assert.equal(new Set(scopes).size, 1)
  })

  it('knows a user by more than his name', async () => {
    const cache = new ScopeCache()
    const before = await cache.scopeOf(await application.context(), account('a'))
    const elsewhere = account('a', 'clinic')
    const after = await cache.scopeOf(await application.context(), elsewhere)
    assert.ok(before.subjects.has('nurse') && !after.subjects.has('nurse'))
    assert.equal(await loads(cache, elsewhere), 0)
    assert.equal(await loads(cache, { ...elsewhere, roles: ['chw_supervisor'] }), 1)
  })

  it('reads anew when more was written than it looks through', async () => {
    const cache = new ScopeCache()
    await loads(cache, account('a'))
    await app.store(...Array.from({ length: 501 }, (_, index) => ({ _id: `many-${index}` })))
    assert.equal(await loads(cache, account('a')), 1)
    await app.store(...Array.from({ length: 499 }, (_, index) => ({ _id: `more-${index}` })))
    assert.equal(await loads(cache, account('a')), 0)
  })

  it('does not remember a failure', async () => {
    const cache = new ScopeCache()
    const context = await application.context()
    const { data } = context
    const design = (await data.get('_design/svc')) ?? assert.fail('it was installed')
    const { views, ...rest } = design
    await data.put({ ...rest, views: {} })
    await assert.rejects(cache.scopeOf(context, account('a')))
    const broken = await data.get('_design/svc')
    await data.put({ ...design, _rev: broken?._rev ?? '' })
    const scope = await cache.scopeOf(context, account('a'))
    assert.ok(scope.subjects.has('mother'))
  })
})
