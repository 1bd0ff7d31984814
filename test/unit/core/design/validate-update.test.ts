/** What is settled before any function is asked: such answers are final. Functions themselves: the HTTP tests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Catalog } from '../../../../src/core/database/catalog.ts'
import type { DocumentEdit } from '../../../../src/core/database/commit-edits.ts'
import { DesignCache } from '../../../../src/core/design/design-cache.ts'
import { validateUpdates } from '../../../../src/core/design/validate-update.ts'
import { fromParts, scanDocument } from '../../../../src/core/document/incoming-document.ts'
import { Notices } from '../../../../src/core/notices/notices.ts'
import type { Sandbox } from '../../../../src/core/sandbox/sandbox.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'

const PROPERTIES = { createdMs: 0, partitioned: false, q: 1, n: 1, security: '{}' }
const USER = { name: 'ann', roles: [] }

const noSandbox = (): Sandbox => {
  throw new Error('no function was to be asked')
}

async function openDatabase(withValidator: boolean) {
  const engine = new MemoryEngine()
  await Catalog.prepare(engine)
  const database = await new Catalog(engine, new Notices()).create('db', PROPERTIES)
  const edits = [edit('doc', {})]
  if (withValidator) edits.push(edit('_design/v', { validate_doc_update: 'function () {}' }))
  const [written] = await database.write(edits, 100)
  assert.ok(written?.ok)
  const parts = { database, designs: new DesignCache(), sandbox: noSandbox, user: USER }
  return { parts, rev: written.rev }
}

const edit = (id: string, body: object, rest: Partial<DocumentEdit> = {}): DocumentEdit => ({
  id,
  document: fromParts({ id, body }),
  mode: 'interactive',
  ...rest,
})

test('without validation functions nobody is asked', async () => {
  const { parts } = await openDatabase(false)
  assert.equal(await validateUpdates(parts, [edit('a', {}), edit('doc', {})]), undefined)
})

test('design documents are nobody’s business', async () => {
  const { parts } = await openDatabase(true)
  assert.equal(await validateUpdates(parts, [edit('_design/a', {})]), undefined)
})

test('a conflict is final, so that a deletion in between lets nothing in unasked', async () => {
  const { parts } = await openDatabase(true)
  const results = await validateUpdates(parts, [edit('doc', {}), edit('_design/a', {})])
  const [conflict, design] = results ?? []
  assert.ok(conflict !== undefined && !conflict.ok)
  assert.equal(conflict.failure.code, 'document_conflict')
  assert.equal(design, undefined)
})

test('a replicated revision that is there already is done, without a function', async () => {
  const { parts, rev } = await openDatabase(true)
  const document = fromParts({ id: 'doc', rev, body: {} })
  const results = await validateUpdates(parts, [edit('doc', {}, { document, mode: 'replicated' })])
  assert.deepEqual(results, [{ ok: true, rev }])
})

test('a replicated document without revision fails alone', async () => {
  const { parts } = await openDatabase(true)
  const { document } = scanDocument(Buffer.from('{"a":1}'))
  const [result] =
    (await validateUpdates(parts, [edit('x', {}, { document, mode: 'replicated' })])) ?? []
  assert.ok(result !== undefined && !result.ok)
  assert.equal(result.failure.code, 'request_invalid')
})
