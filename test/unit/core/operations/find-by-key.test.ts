/**
 * Queries that a JSON index decides by its keys, over an engine that answers later and one that answers at once. What is
 * told must be what the documents say now, however old the index is.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Engine } from '../../../../src/engine/engine.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'
import { openEngine } from '../../../../src/engine/open-engine.ts'
import { startServer, type TestServer } from '../../../support/start-server.ts'

interface Found {
  readonly docs: { readonly [name: string]: unknown }[]
  readonly bookmark: string
  readonly execution_stats?: Record<string, number>
}

const ODD_ID = 'quo"te\\back ünd'
const LONG_ID = 'long-'.repeat(300)
const COUNT = 400

for (const kind of ['memory', 'embedded']) {
  describe(`queries by key, engine ${kind}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'gurney-find-'))
    let engine: Engine
    let server: TestServer

    before(async () => {
      engine =
        kind === 'memory' ? new MemoryEngine() : await openEngine({ kind: 'embedded', folder })
      server = await startServer({ dialect: 'couchdb', engine })
      await server.ask('PUT', '/keyed')
      const docs: object[] = Array.from({ length: COUNT }, (_, n) => ({
        _id: String(n).padStart(4, '0'),
        group: n % 4,
        n,
        text: 'x'.repeat(1000),
      }))
      for (const _id of [ODD_ID, LONG_ID]) docs.push({ _id, group: 'odd', n: 1 })
      await server.ask('POST', '/keyed/_bulk_docs', { body: { docs } })
      const body = { index: { fields: ['group'] }, ddoc: 'g', name: 'g' }
      await server.ask('POST', '/keyed/_index', { body })
    })
    after(async () => {
      await server.close()
      await engine.close()
      rmSync(folder, { recursive: true, force: true })
    })

    const find = async (query: object): Promise<Found> => {
      const { status, json, text } = await server.ask('POST', '/keyed/_find', { body: query })
      assert.equal(status, 200, text)
      return json as Found
    }
    const ids = ({ docs }: Found): unknown[] => docs.map(({ _id }) => _id)
    const change = async (id: string, edit: (doc: Record<string, unknown>) => object) => {
      const path = `/keyed/${encodeURIComponent(id)}`
      const { json } = await server.ask('GET', path)
      const body = edit(json as Record<string, unknown>)
      assert.ok((await server.ask('PUT', path, { body })).status < 300)
    }

    it('show documents as a GET shows them', async () => {
      const { docs } = await find({ selector: { group: 'odd' } })
      assert.equal(docs.length, 2)
      for (const doc of docs) {
        const { json } = await server.ask('GET', `/keyed/${encodeURIComponent(String(doc._id))}`)
        assert.deepEqual(doc, json)
      }
      assert.deepEqual(ids({ docs, bookmark: '' }), [LONG_ID, ODD_ID])
    })

    it('show what is more than the stored bytes', async () => {
      const rev = '1-00000000000000000000000000000000'
      const headers = { 'Content-Type': 'text/plain' }
      await server.ask('PUT', '/keyed/attached', { body: { group: 'more' } })
      const { json } = await server.ask('GET', '/keyed/attached')
      const path = `/keyed/attached/a.txt?rev=${(json as { _rev: string })._rev}`
      await server.ask('PUT', path, { headers, body: 'hello' })
      const other = { _id: 'attached', _rev: rev, group: 'lost' }
      await server.ask('POST', '/keyed/_bulk_docs', { body: { docs: [other], new_edits: false } })
      const { docs } = await find({ selector: { group: 'more' }, conflicts: true })
      assert.deepEqual(docs, [(await server.ask('GET', '/keyed/attached?conflicts=true')).json])
      assert.deepEqual(docs[0]?._conflicts, [rev])
      const plain = await find({ selector: { group: 'more' } })
      assert.deepEqual(plain.docs, [(await server.ask('GET', '/keyed/attached')).json])
    })

    it('believe an old index nothing that has changed since', async () => {
      const query = { selector: { group: 3 }, limit: COUNT, update: false }
      const all = ids(await find({ ...query, update: true }))
      assert.equal(all.length, COUNT / 4)
      await change('0003', doc => ({ ...doc, group: 'elsewhere' }))
      await change('0007', doc => ({ ...doc, n: 'changed' }))
      await change('0011', doc => ({ ...doc, _deleted: true }))
      const { docs } = await find(query)
      assert.deepEqual(
        ids({ docs, bookmark: '' }),
        all.filter(id => id !== '0003' && id !== '0011'),
      )
      assert.equal(docs.find(({ _id }) => _id === '0007')?.n, 'changed')
      const parts = await find({ ...query, fields: ['_id', 'n'] })
      assert.deepEqual(
        parts.docs,
        docs.map(({ _id, n }) => ({ _id, n })),
      )
    })

    it('look at what is not in the key', async () => {
      const found = await find({ selector: { group: 2, n: { $lt: 20 } }, execution_stats: true })
      assert.deepEqual(ids(found), ['0002', '0006', '0010', '0014', '0018'])
      assert.equal(found.execution_stats?.total_docs_examined, COUNT / 4)
    })

    it('tell ids apart that have the same key', async () => {
      const selector = { group: 2, _id: { $in: ['0006', '0010', '0011'] } }
      const found = await find({ selector, use_index: 'g' })
      assert.deepEqual(ids(found), ['0006', '0010'])
    })

    it('of everything in the order of the index leave nobody out', async () => {
      const selector = { group: { $exists: true } }
      const query = { selector, sort: [{ group: 'desc' }], use_index: 'g', limit: 2 * COUNT }
      const { json } = await server.ask('GET', '/keyed/_design/g/_view/g?reduce=false')
      const rows = (json as { rows: { id: string }[] }).rows.map(({ id }) => id)
      assert.deepEqual(ids(await find(query)), rows.toReversed())
    })

    it('answer at length as in pages', async () => {
      const selector = { group: { $gte: 0 } }
      const { text } = await server.ask('POST', '/keyed/_find', {
        body: { selector, limit: 2 * COUNT, sort: ['group'] },
      })
      assert.ok(text.length > 300_000)
      const whole = JSON.parse(text) as Found
      const pages: Found[] = []
      do {
        const bookmark = pages.at(-1)?.bookmark ?? null
        pages.push(await find({ selector, limit: 33, bookmark, sort: ['group'] }))
      } while (pages.at(-1)?.docs.length === 33)
      assert.deepEqual(
        whole.docs,
        pages.flatMap(({ docs }) => docs),
      )
      assert.equal(whole.bookmark, pages.findLast(({ docs }) => docs.length > 0)?.bookmark)
    })
  })
}
