import assert from 'node:assert/strict'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { type FailureCode, isFailure } from '../../../src/base/errors.ts'
import { openEngine } from '../../../src/engine/open-engine.ts'

const failsWith = (code: FailureCode) => (error: unknown) => {
  assert.ok(isFailure(error), `${error}`)
  assert.equal(error.code, code)
  return true
}

describe('openEngine', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'gurney-open-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('makes the folder and its FORMAT, and opens them again', async () => {
    const inner = path.join(folder, 'new', 'data')
    const engine = await openEngine({ kind: 'embedded', folder: inner, exclusive: true })
    await engine.createStore('s')
    await engine.forget('s')
    assert.equal(engine.snapshot().createStore.count, 1)
    await engine.close()
    const text = await readFile(path.join(inner, 'FORMAT'), 'utf8')
    assert.deepEqual(JSON.parse(text), { format: 1, engine: 'embedded' })
    const again = await openEngine({ kind: 'embedded', folder: inner, openStoresMax: 2 })
    assert.deepEqual(await again.listStores(), ['s'])
    await again.close()
  })

  it('opens many at once on a new folder', async () => {
    const options = { kind: 'embedded', folder: path.join(folder, 'shared') }
    const engines = await Promise.all([1, 2, 3].map(() => openEngine(options)))
    for (const engine of engines) await engine.close()
  })

  it('needs no folder for memory', async () => {
    const engine = await openEngine({ kind: 'memory' })
    assert.equal(engine.name, 'memory')
    await engine.close()
  })

  it('refuses what it does not know', async () => {
    await assert.rejects(openEngine({ kind: 'paper' }), failsWith('config_invalid'))
    await assert.rejects(openEngine({ kind: 'embedded' }), failsWith('config_invalid'))
    const bad = { kind: 'embedded', folder, openStoresMax: 0 }
    await assert.rejects(openEngine(bad), failsWith('config_invalid'))
  })

  it('refuses folders of newer versions, of other engines, and garbage', async () => {
    const cases: [string, FailureCode][] = [
      ['{"format":2,"engine":"embedded"}', 'storage_newer'],
      ['{"format":1,"engine":"paper"}', 'storage_corrupt'],
      ['{"format":"x"}', 'storage_corrupt'],
      ['null', 'storage_corrupt'],
      ['', 'storage_corrupt'],
    ]
    for (const [text, code] of cases) {
      await writeFile(path.join(folder, 'FORMAT'), text)
      await assert.rejects(openEngine({ kind: 'embedded', folder }), failsWith(code))
    }
  })

  it('refuses data whose FORMAT is lost', async () => {
    await (await openEngine({ kind: 'embedded', folder })).close()
    await rm(path.join(folder, 'FORMAT'))
    await assert.rejects(openEngine({ kind: 'embedded', folder }), failsWith('storage_corrupt'))
  })

  it('says when the folder cannot be made or written', async t => {
    const file = path.join(folder, 'file')
    await writeFile(file, '')
    const under = { kind: 'embedded', folder: path.join(file, 'x') }
    await assert.rejects(openEngine(under), failsWith('storage_unwritable'))
    if (process.getuid?.() === 0) return t.skip('root may write anywhere')
    await chmod(folder, 0o500)
    await assert.rejects(openEngine({ kind: 'embedded', folder }), failsWith('storage_unwritable'))
    await chmod(folder, 0o700)
  })
})
