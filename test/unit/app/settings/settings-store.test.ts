/** Settings are read again when their revision is another, and only then; and never an older state after a newer one. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import type { Document } from '../../../../src/app/documents/document.ts'
import { DocumentDatabase } from '../../../../src/app/documents/document-database.ts'
import { SETTINGS_ID, SettingsStore } from '../../../../src/app/settings/settings-store.ts'
import { startApplication, type TestApplication } from '../../../support/application.ts'

const NAME = 'elsewhere'

/** Says what was asked of it; a test may wait, or fail, before an answer is handed out. */
class WatchedDatabase extends DocumentDatabase {
  readonly read: string[] = []
  revisionCount = 0
  beforeAnswer: () => Promise<void> = async () => {}

  override async get(id: string): Promise<Document | undefined> {
    this.read.push(id)
    const document = await super.get(id)
    await this.beforeAnswer()
    return document
  }

  override revisionOf(id: string): Promise<string | undefined> {
    this.revisionCount++
    return super.revisionOf(id)
  }
}

describe('the settings', () => {
  let test: TestApplication
  let data: WatchedDatabase
  let store: SettingsStore
  before(async () => {
    test = await startApplication()
  })
  after(() => test.close())

  beforeEach(async () => {
    await store?.close()
    await test.ask('DELETE', `/${NAME}`)
    assert.equal((await test.ask('PUT', `/${NAME}`)).status, 201)
    assert.ok(test.server.application !== undefined)
    data = new WatchedDatabase(test.server.application.server, NAME)
    const onFailure = (thrown: unknown) => assert.fail(String(thrown))
    store = new SettingsStore({ data, notices: test.server.notices, onFailure })
  })
  after(() => store.close())

  const locale = async () => (await store.current()).all.locale

  async function put(id: string, members: Record<string, unknown>): Promise<void> {
    const _rev = await data.revisionOf(id)
    await data.put({ ...members, _id: id, ...(_rev === undefined ? {} : { _rev }) })
  }

  it('are parsed once, whatever else is written', async () => {
    await put(SETTINGS_ID, { settings: { locale: 'sw' } })
    const known = await store.current()
    assert.equal(known.all.locale, 'sw')
    await put('other', { type: 'person' })
    data.read.length = 0
    assert.equal(await store.current(), known, 'the very same')
    assert.deepEqual(data.read, [])
    await put(SETTINGS_ID, { settings: { locale: 'fr' } })
    assert.equal(await locale(), 'fr')
  })

  it('are not asked for while nothing was written', async () => {
    await put(SETTINGS_ID, { settings: { locale: 'sw' } })
    await store.current()
    data.read.length = 0
    data.revisionCount = 0
    const { notices } = test.server
    notices.publish({ kind: 'updates_recorded', name: NAME, id: 'log', seq: 1 })
    notices.publish({ kind: 'database_updated', name: 'another', id: 'x', seq: 1 })
    assert.equal(await locale(), 'sw')
    assert.deepEqual({ read: data.read, count: data.revisionCount }, { read: [], count: 0 })
  })

  it('are those of long ago as long as there are no others', async () => {
    const old = `_design/${NAME}`
    await put(old, { app_settings: { locale: 'sw' } })
    assert.equal(await locale(), 'sw')
    await put(old, { app_settings: { locale: 'fr' } })
    assert.equal(await locale(), 'fr')
    await put(SETTINGS_ID, { settings: { locale: 'ne' } })
    assert.equal(await locale(), 'ne')
    await put(SETTINGS_ID, { _deleted: true })
    assert.equal(await locale(), 'fr')
  })

  it('stay the newer ones when an older read ends later', async () => {
    await put(SETTINGS_ID, { settings: { locale: 'sw' } })
    let letGo = () => {}
    const isHeld = new Promise<void>(held => {
      data.beforeAnswer = () => {
        held()
        data.beforeAnswer = async () => {}
        return new Promise(resolve => {
          letGo = resolve
        })
      }
    })
    const older = store.current()
    await isHeld
    await put(SETTINGS_ID, { settings: { locale: 'fr' } })
    assert.equal(await locale(), 'fr')
    letGo()
    await older
    assert.equal(await locale(), 'fr')
  })

  it('are read again after a read that failed', async () => {
    await put(SETTINGS_ID, { settings: { locale: 'sw' } })
    data.beforeAnswer = async () => {
      data.beforeAnswer = async () => {}
      throw new Error('out of reach')
    }
    await assert.rejects(locale, /out of reach/)
    assert.equal(await locale(), 'sw')
  })
})
