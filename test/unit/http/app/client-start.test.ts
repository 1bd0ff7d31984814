/** What clients ask before anything else. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { deployInfoOf } from '../../../../src/app/upgrades/deploy-info.ts'
import { as, startApplication, type TestApplication } from '../../../support/application.ts'

let app: TestApplication
before(async () => {
  app = await startApplication()
})
after(() => app.close())

describe('what clients ask at start', () => {
  it('/api/deploy-info tells what is deployed, to those who are logged in', async () => {
    const { json } = await app.ask('GET', '/api/deploy-info', { user: as('worker') })
    const info = json as Record<string, unknown>
    assert.equal(info.version, '4.18.0')
    assert.equal(info.namespace, 'svc')
    assert.equal(info.views, undefined)
    assert.equal((await app.ask('GET', '/api/deploy-info', { user: null })).status, 401)
  })

  it('/setup/poll tells that everything is there', async () => {
    const { json } = await app.ask('GET', '/setup/poll', { user: null })
    assert.deepEqual(json, {
      ready: true,
      handler: 'svc-api',
      version: '4.18.0',
      detail: 'All required services are running normally',
    })
    const { json: progress } = await app.ask('GET', '/api/v1/startup-progress', { user: null })
    assert.equal((progress as { completed: boolean }).completed, true)
  })

  it('a database called setup is one like any other', async () => {
    assert.equal((await app.ask('PUT', '/setup')).status, 201)
    assert.equal((await app.ask('PUT', '/setup/polls', { body: {} })).status, 201)
  })

  it('/.well-known/assetlinks.json is what the settings say', async () => {
    const path = '/.well-known/assetlinks.json'
    const { status, json } = await app.ask('GET', path, { user: null })
    assert.deepEqual([status, json], [404, { code: 404, error: 'No assetlinks.json configured' }])
    const assetlinks = [{ relation: ['x'], target: { namespace: 'android_app' } }]
    await app.ask('PUT', '/api/v1/settings', { body: { assetlinks } })
    assert.deepEqual((await app.ask('GET', path, { user: null })).json, assetlinks)
  })

  it('/api/couch-config-attachments follows the configuration, for admins', async () => {
    const path = '/api/couch-config-attachments'
    const { json } = await app.ask('GET', path)
    assert.match((json as { compressible_types: string }).compressible_types, /text\/\*/)
    const section = '/_node/_local/_config/attachments'
    await app.ask('PUT', `${section}/compressible_types`, { body: '"text/x-only"' })
    assert.deepEqual((await app.ask('GET', path)).json, {
      compressible_types: 'text/x-only',
      compression_level: '8',
    })
    assert.equal((await app.ask('GET', path, { user: as('officer') })).status, 401)
  })
})

describe('the version that is deployed', () => {
  const cases: [string, object, string][] = [
    ['of the build', { build_info: { version: '4.1.2' }, version: '1.0.0' }, '4.1.2'],
    ['with a mark before it', { build_info: { version: 'v4.1.2-beta.3' } }, '4.1.2-beta.3'],
    [
      'of the deployment where the build is a branch',
      { build_info: { version: 'master' }, deploy_info: { build: '4.2.0' } },
      '4.2.0',
    ],
    ['of the document', { build_info: { version: 'master' }, version: '4.3.0' }, '4.3.0'],
    ['unknown', {}, 'unknown'],
  ]
  for (const [what, design, version] of cases) {
    it(what, () => {
      assert.equal(deployInfoOf({ _id: '_design/svc', ...design }).version, version)
    })
  }
})
