import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Catalog } from '../../../../src/core/database/catalog.ts'
import type { Database } from '../../../../src/core/database/database.ts'
import { purgeDocuments } from '../../../../src/core/database/purge.ts'
import { DesignCache } from '../../../../src/core/design/design-cache.ts'
import { fromParts } from '../../../../src/core/document/incoming-document.ts'
import type { Revision } from '../../../../src/core/document/revision.ts'
import { Notices } from '../../../../src/core/notices/notices.ts'
import type { Engine } from '../../../../src/engine/engine.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'

const PROPERTIES = { createdMs: 0, partitioned: false, q: 1, n: 1, security: '{}' }

async function openCatalog(engine: Engine): Promise<Catalog> {
  await Catalog.prepare(engine)
  return new Catalog(engine, new Notices())
}

async function put(
  database: Database,
  id: string,
  body: object,
  rest: { rev?: Revision; deleted?: boolean } = {},
): Promise<Revision> {
  const document = fromParts({ id, body, ...rest })
  const [result] = await database.write([{ id, document, mode: 'interactive' }], 100)
  assert.ok(result?.ok)
  return result.rev
}

const VALIDATOR = { validate_doc_update: 'function () {}' }

test('what another process wrote counts at the next question', async () => {
  const engine = new MemoryEngine()
  const here = await (await openCatalog(engine)).create('db', PROPERTIES)
  // Another catalog on the same engine: its own objects, as in another process.
  const there = await (await openCatalog(engine)).open('db')
  const cache = new DesignCache()
  assert.equal((await cache.of(here)).byId.size, 0)
  await put(there, 'plain', {})
  assert.equal(await here.designStamp(), undefined)
  const first = await put(there, '_design/a', { ...VALIDATOR, language: 'javascript' })
  await put(there, '_design/b', { views: {} })
  const set = await cache.of(here)
  assert.deepEqual([...set.byId.keys()], ['_design/a', '_design/b'])
  assert.deepEqual(
    set.validators.map(design => design.id),
    ['_design/a'],
  )
  await put(there, 'plain2', {})
  assert.equal(await cache.of(here), set, 'other documents leave what is kept as it is')
  const second = await put(there, '_design/a', { views: {} }, { rev: first })
  assert.equal((await cache.of(here)).validators.length, 0)
  await put(there, '_design/a', {}, { rev: second, deleted: true })
  assert.equal(await cache.find(here, '_design/a'), undefined)
  assert.notEqual(await cache.find(here, '_design/b'), undefined)
})

test('a purged design document is gone', async () => {
  const engine = new MemoryEngine()
  const database = await (await openCatalog(engine)).create('db', PROPERTIES)
  const cache = new DesignCache()
  const rev = await put(database, '_design/a', VALIDATOR)
  assert.equal((await cache.of(database)).validators.length, 1)
  await database.store.write(purgeDocuments([{ id: '_design/a', revs: [rev] }], 1000))
  assert.equal((await cache.of(database)).validators.length, 0)
})

test('sets of many databases share a bound, the longest unused go', async () => {
  const engine = new MemoryEngine()
  const catalog = await openCatalog(engine)
  const bytesMax = 40_000
  const cache = new DesignCache(bytesMax)
  const databases: Database[] = []
  for (let index = 0; index < 10; index++) {
    const database = await catalog.create(`db${index}`, PROPERTIES)
    await put(database, '_design/a', { text: 'x'.repeat(3000) })
    databases.push(database)
    await cache.of(database)
  }
  assert.ok(cache.bytes <= bytesMax, String(cache.bytes))
  assert.ok(cache.bytes > bytesMax / 2)
  for (const database of databases) assert.equal((await cache.of(database)).byId.size, 1)
  assert.ok(cache.bytes <= bytesMax)
})

test('a database of the same name made anew shares nothing with the old one', async () => {
  const catalog = await openCatalog(new MemoryEngine())
  const cache = new DesignCache()
  const old = await catalog.create('db', PROPERTIES)
  await put(old, '_design/a', VALIDATOR)
  const [before] = (await cache.of(old)).validators
  await catalog.delete('db')
  const anew = await catalog.create('db', PROPERTIES)
  assert.equal((await cache.of(anew)).byId.size, 0)
  await put(anew, '_design/a', VALIDATOR)
  const [after] = (await cache.of(anew)).validators
  assert.notEqual(after?.source.databaseKey, before?.source.databaseKey)
})
