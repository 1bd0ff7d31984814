/** Compaction once overwrote the stamp of design documents, and validation functions were no longer asked. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startServer } from '../../../support/start-server.ts'

it('validation functions and views still count after a compaction', async () => {
  const server = await startServer()
  try {
    await server.ask('PUT', '/d')
    const design = {
      validate_doc_update: 'function (doc) { if (doc.bad) throw {forbidden: "no"} }',
      views: { all: { map: 'function (doc) { emit(doc._id) }' } },
    }
    assert.equal((await server.ask('PUT', '/d/_design/rules', { body: design })).status, 201)
    assert.equal((await server.ask('PUT', '/d/good', { body: {} })).status, 201)
    const compact = { body: {}, headers: { 'Content-Type': 'application/json' } }
    assert.equal((await server.ask('POST', '/d/_compact', compact)).status, 202)
    const deadline = Date.now() + 10_000
    while (Date.now() < deadline) {
      const { json } = await server.ask('GET', '/d')
      if (!(json as { compact_running: boolean }).compact_running) break
      await new Promise(done => setTimeout(done, 20))
    }
    assert.equal((await server.ask('PUT', '/d/evil', { body: { bad: true } })).status, 403)
    const { json } = await server.ask('GET', '/d/_design/rules/_view/all')
    assert.equal((json as { total_rows: number }).total_rows, 1)
  } finally {
    await server.close()
  }
})
