/** List functions: a conversation over rows. */
import assert from 'node:assert/strict'
import { isFailure } from '../../../src/base/errors.ts'
import { designDocument, json } from './sandbox-fixture.ts'
import type { Check } from './suite.ts'

const lists = {
  csv: `function(head, req){ start({headers: {'Content-Type': 'text/csv'}}); send('n=' + head.n)
    var row; while (row = getRow()) send(';' + row.key); return '!end' }`,
  unread: 'function(head, req){ start({code: 202}); send("x"); return "y" }',
  early: 'function(head, req){ getRow(); return "one only" }',
  offers: `function(head, req){ provides('json', function(){
    var n = 0; while (getRow()) n++; return toJSON(n) }) }`,
  boom: 'function(){ throw new Error("before") }',
  late: 'function(){ send("part"); getRow(); getRow(); throw new Error("after") }',
}

export const listChecks: readonly Check[] = [
  [
    'a list reads rows in batches and ends with its return value',
    async ({ sandbox }) => {
      const design = designDocument({ lists })
      const run = await sandbox.list(design, 'csv', json({ n: 3 }), json({}))
      assert.deepEqual(JSON.parse(run.response.toString()), {
        headers: { 'Content-Type': 'text/csv' },
      })
      assert.equal(run.chunk.toString(), 'n=3')
      assert.equal((await run.feed(json([{ key: 1 }, { key: 2 }]), false)).toString(), ';1;2')
      assert.equal((await run.feed(json([]), false)).toString(), '')
      assert.equal(run.wantsRows, true)
      assert.equal((await run.feed(json([{ key: 'é' }]), true)).toString(), ';é!end')
      assert.equal(run.wantsRows, false)
      await assert.rejects(run.feed(json([]), true))
    },
  ],
  [
    'a list that reads no rows, or not all, still starts and ends',
    async ({ sandbox }) => {
      const design = designDocument({ lists })
      const unread = await sandbox.list(design, 'unread', json({}), json({}))
      assert.deepEqual(JSON.parse(unread.response.toString()), { code: 202 })
      assert.equal(unread.chunk.toString() + (await unread.feed(json([{}]), true)), 'xy')
      const early = await sandbox.list(design, 'early', json({}), json({}))
      assert.equal((await early.feed(json([{}, {}, {}]), false)).toString(), 'one only')
      assert.equal(early.wantsRows, false)
    },
  ],
  [
    'a list may provide; its type is in the start',
    async ({ sandbox }) => {
      const request = json({ headers: { Accept: 'application/json' }, query: {} })
      const run = await sandbox.list(designDocument({ lists }), 'offers', json({}), request)
      assert.deepEqual(JSON.parse(run.response.toString()), {
        headers: { 'Content-Type': 'application/json' },
      })
      assert.equal((await run.feed(json([1, 2, 3]), true)).toString(), '3')
    },
  ],
  [
    'errors before and after the start',
    async ({ sandbox }) => {
      const design = designDocument({ lists })
      const isRender = (thrown: unknown): boolean =>
        isFailure(thrown, 'function_failed') && thrown.detail.error === 'render_error'
      await assert.rejects(sandbox.list(design, 'boom', json({}), json({})), isRender)
      const late = await sandbox.list(design, 'late', json({}), json({}))
      assert.equal(late.chunk.toString(), 'part')
      await assert.rejects(late.feed(json([1, 2]), false), isRender)
    },
  ],
  [
    'a list closed early frees its place',
    async ({ sandbox }) => {
      const design = designDocument({ lists })
      const run = await sandbox.list(design, 'csv', json({}), json({}))
      run.close()
      run.close()
      const next = await sandbox.list(design, 'csv', json({ n: 0 }), json({}))
      assert.equal((await next.feed(json([]), true)).toString(), '!end')
    },
  ],
]
