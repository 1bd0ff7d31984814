/**
 * What the port does not say: limits on open files, several users of a folder, leftovers, and a
 * lost catalog.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import { EmbeddedEngine } from '../../../../src/engine/embedded/embedded-engine.ts'
import { LmdbEnvironment } from '../../../../src/engine/embedded/lmdb-environment.ts'
import { StoreCatalog } from '../../../../src/engine/embedded/store-catalog.ts'
import { parseStoreFile, storePath } from '../../../../src/engine/embedded/store-files.ts'
import {
  DELETED,
  encodeState,
  LIVE,
  STATE_KEY,
} from '../../../../src/engine/embedded/store-state.ts'
import type { Store } from '../../../../src/engine/engine.ts'

const b = (text: string): Buffer => Buffer.from(text)
const put = (store: Store, key: string, value: string) =>
  store.write(function* (tx) {
    tx.put(b(key), b(value))
  })
const failsWith = (code: Parameters<typeof isFailure>[1]) => (error: unknown) =>
  isFailure(error, code)

describe('EmbeddedEngine', () => {
  let folder = ''
  const engines: EmbeddedEngine[] = []
  const open = async (options: { openStoresMax?: number; sweep?: boolean } = {}) => {
    const engine = await EmbeddedEngine.open({ folder, ...options })
    engines.push(engine)
    return engine
  }
  const storeFiles = async () => (await readdir(folder)).flatMap(name => parseStoreFile(name) ?? [])

  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'gurney-embedded-'))
  })
  afterEach(async () => {
    for (const engine of engines.splice(0)) await engine.close()
    await rm(folder, { recursive: true, force: true })
  })

  it('serves more stores than it keeps open, all at once', async () => {
    const engine = await open({ openStoresMax: 4 })
    const ids = Array.from({ length: 25 }, (_, i) => `s${i}`)
    await Promise.all(ids.map(id => engine.createStore(id)))
    await Promise.all(ids.map(id => put(engine.store(id), 'id', id)))
    for (let round = 0; round < 3; round++) {
      const values = await Promise.all(ids.map(id => engine.store(id).get(b('id'))))
      assert.deepEqual(values.map(String), ids)
    }
    await Promise.all(ids.map(id => put(engine.store(id), 'again', id)))
    assert.ok(engine.openStoreCount <= 4, `${engine.openStoreCount} open`)
  })

  it('a store deleted by another engine is missing, and writes to it are refused', async () => {
    const [one, two] = [await open(), await open()]
    const mine = await one.createStore('s')
    await put(mine, 'a', '1')
    const theirs = two.store('s')
    assert.equal(String(await theirs.get(b('a'))), '1')
    await one.deleteStore('s')
    await assert.rejects(async () => theirs.get(b('a')), failsWith('store_missing'))
    await assert.rejects(put(theirs, 'a', '2'), failsWith('store_missing'))
    await one.createStore('s')
    assert.equal(await theirs.get(b('a')), undefined)
    await put(theirs, 'a', '3')
    assert.equal(String(await mine.get(b('a'))), '3')
  })

  it('a store compacted by another engine is followed', async () => {
    const [one, two] = [await open(), await open()]
    const mine = await one.createStore('s')
    const theirs = two.store('s')
    await put(mine, 'a', '1')
    assert.equal(String(await theirs.get(b('a'))), '1')
    await mine.compact()
    await put(mine, 'a', '2')
    assert.equal(String(await theirs.get(b('a'))), '2')
    await put(theirs, 'b', '3')
    assert.equal(String(await mine.get(b('b'))), '3')
    await two.forget('s')
    assert.equal(String(await theirs.get(b('b'))), '3')
    assert.equal((await storeFiles()).length, 1)
  })

  it('two who compact a store in one process share the work', async () => {
    const engine = await open()
    const store = await engine.createStore('s')
    await store.write(function* (tx) {
      for (let i = 0; i < 3000; i++) tx.put(b(`k${i}`), Buffer.alloc(100))
    })
    await Promise.all([store.compact(), store.compact(), engine.store('s').compact()])
    assert.equal((await storeFiles()).length, 1)
  })

  it('deleting a store ends its compaction and leaves no file', async () => {
    const engine = await open()
    const store = await engine.createStore('s')
    await store.write(function* (tx) {
      for (let i = 0; i < 20_000; i++) tx.put(b(`k${i}`), Buffer.alloc(300))
    })
    const compacting = store.compact()
    const deleting = new Promise(resolve => setTimeout(resolve, 15)).then(() =>
      engine.deleteStore('s'),
    )
    const [compacted] = await Promise.allSettled([compacting, deleting])
    if (compacted?.status === 'rejected')
      assert.ok(isFailure(compacted.reason), `${compacted.reason}`)
    await deleting
    assert.deepEqual(await storeFiles(), [])
    await assert.rejects(async () => store.get(b('k1')), failsWith('store_missing'))
  })

  it('a sweep finishes deletions and compactions and removes what is worthless', async () => {
    const engine = await open()
    await put(await engine.createStore('kept'), 'a', '1')
    await put(await engine.createStore('half-deleted'), 'a', '1')
    await engine.close()
    const catalog = new StoreCatalog(folder)
    await catalog.update('half-deleted', row => row && { ...row, deleting: true })
    await catalog.update('kept', row => row && { ...row, compactingTo: 900, compactingPid: 1 })
    const row = catalog.get('kept')
    await catalog.close()
    const old = new LmdbEnvironment(storePath(folder, 'kept', row?.generation ?? 0))
    const state = { kind: 'journaling', generation: 900, pid: 1 } as const
    await old.write(writer => writer.put(STATE_KEY, encodeState(state)))
    await old.close()
    await makeFile(900, 'kept', true)
    await makeFile(901, 'empty', false)
    await makeFile(902, 'unknown', true)
    const swept = await open({ sweep: true })
    assert.deepEqual(await swept.listStores(), ['kept'])
    assert.equal(String(await swept.store('kept').get(b('a'))), '1')
    const left = (await storeFiles()).map(file => file.id).sort()
    assert.deepEqual(left, ['kept', 'unknown'], 'a file with rows is never removed unasked')
  })

  it('a lost catalog is made anew from the files', async () => {
    const engine = await open()
    const store = await engine.createStore('s')
    await put(store, 'a', '1')
    await store.compact()
    await put(await engine.createStore('t'), 'b', '2')
    await engine.close()
    for (const name of ['catalog.mdb', 'catalog.mdb-lock'])
      await rm(path.join(folder, name), { force: true })
    const again = await open({ sweep: true })
    assert.deepEqual((await again.listStores()).sort(), ['s', 't'])
    assert.equal(String(await again.store('s').get(b('a'))), '1')
    await again.createStore('u')
    assert.equal(new Set((await storeFiles()).map(file => file.generation)).size, 3)
  })

  it('creating finishes a deletion that was cut off', async () => {
    const engine = await open()
    await put(await engine.createStore('s'), 'a', '1')
    await engine.close()
    const catalog = new StoreCatalog(folder)
    await catalog.update('s', row => row && { ...row, deleting: true })
    await catalog.close()
    const again = await open()
    assert.deepEqual(await again.listStores(), [])
    await assert.rejects(async () => again.store('s').get(b('a')), failsWith('store_missing'))
    await again.createStore('s')
    assert.equal(await again.store('s').get(b('a')), undefined)
    assert.equal((await storeFiles()).length, 1)
  })

  it('a catalog that names a missing or broken file says so', async () => {
    const engine = await open()
    await engine.createStore('gone')
    await engine.createStore('broken')
    await engine.close()
    for (const file of await storeFiles()) {
      const name = storePath(folder, file.id, file.generation)
      if (file.id === 'gone') await rm(name)
      else await writeFile(name, Buffer.alloc(20_000, 7))
    }
    const again = await open()
    await assert.rejects(async () => again.store('gone').get(b('a')), failsWith('storage_corrupt'))
    await assert.rejects(
      async () => again.store('broken').get(b('a')),
      failsWith('storage_corrupt'),
    )
  })

  async function makeFile(generation: number, id: string, withRows: boolean): Promise<void> {
    const environment = new LmdbEnvironment(storePath(folder, id, generation))
    await environment.write(writer => {
      writer.put(STATE_KEY, encodeState(id === 'dead' ? DELETED : LIVE))
      if (withRows) writer.put(b('row'), b('1'))
    })
    await environment.close()
  }
})
