/** Lists and the other functions share few processes: the real sandbox with two of them. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Catalog } from '../../../../src/core/database/catalog.ts'
import { DesignCache } from '../../../../src/core/design/design-cache.ts'
import { ListGate } from '../../../../src/core/design/list-gate.ts'
import { fromParts } from '../../../../src/core/document/incoming-document.ts'
import { Notices } from '../../../../src/core/notices/notices.ts'
import { readDocument } from '../../../../src/core/operations/read-document.ts'
import {
  type DesignFunctions,
  type FunctionHost,
  openDesign,
} from '../../../../src/core/operations/run-design-function.ts'
import { DenoSandbox } from '../../../../src/core/sandbox/deno-sandbox.ts'
import { MemoryEngine } from '../../../../src/engine/memory/memory-engine.ts'

const gate = new ListGate({ runningMax: 1, waitersMax: 10, waitMsMax: 60_000 })
const sandbox = new DenoSandbox({
  processesMax: 2,
  waitMsMax: 2000,
  warn: () => {},
  onLog: () => {},
})
let design: DesignFunctions

before(async () => {
  const engine = new MemoryEngine()
  await Catalog.prepare(engine)
  const properties = { createdMs: 0, partitioned: false, q: 1, n: 1, security: '{}' }
  const database = await new Catalog(engine, new Notices()).create('db', properties)
  const body = {
    lists: { rows: 'function () { while (getRow()) send("r"); return "end" }', bad: '5' },
    shows: { text: 'function () { return "plain" }' },
  }
  const id = '_design/d'
  await database.write([{ id, document: fromParts({ id, body }), mode: 'interactive' }], 100)
  const unused = () => Promise.reject(new Error('these functions do not ask for it'))
  const host: FunctionHost = {
    database,
    readDocument: (name, options) => readDocument(database, name, options),
    readLocalDocument: unused,
    prepareAttachments: unused,
    writeDocuments: unused,
  }
  const parts = { designs: new DesignCache(), sandbox: () => sandbox, lists: gate }
  design = await openDesign(host, parts, 'd')
})
after(() => sandbox.close())

const NOTHING = Buffer.from('{}')

test('a list that nobody reads leaves a process to other functions', async () => {
  const held = await design.list('rows', NOTHING, NOTHING)
  let hasBegun = false
  const next = design.list('rows', NOTHING, NOTHING).then(list => {
    hasBegun = true
    return list
  })
  const response = await design.show('text', undefined, NOTHING)
  assert.deepEqual(JSON.parse(response.toString()), { body: 'plain' })
  assert.equal(hasBegun, false)
  assert.equal((await held.feed(Buffer.from('[1,2]'), true)).toString(), 'rrend')
  held.close()
  const list = await next
  list.close()
  assert.equal(gate.running, 0)
})

test('a list that cannot begin takes no place', async () => {
  await assert.rejects(design.list('bad', NOTHING, NOTHING))
  await assert.rejects(design.list('none', NOTHING, NOTHING))
  assert.equal(gate.running, 0)
})
