/**
 * Functions that loop, recurse or allocate without end, and processes that are killed: the request
 * fails alone, in time, and the pool answers the next one.
 */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type FailureCode, isFailure } from '../../src/base/errors.ts'
import {
  context,
  designDocument,
  type Fixture,
  json,
  openFixture,
  rowsOf,
  viewGroup,
} from '../conformance/sandbox/sandbox-fixture.ts'

const MEGABYTE = 1_048_576

async function stillAnswers({ sandbox }: Fixture): Promise<void> {
  const batch = await sandbox.mapBatch(viewGroup(['d => { emit(d.n, 1) }']), [json({ n: 5 })])
  assert.deepEqual(rowsOf(batch), [[0, 0, 5, 1]])
}

async function outcome(
  fixture: Fixture,
  body: string,
): Promise<FailureCode | 'threw' | 'answered'> {
  const group = viewGroup([`function (doc) { ${body} }`])
  try {
    const batch = await fixture.sandbox.mapBatch(group, [json({})])
    return batch.throws.length > 0 ? 'threw' : 'answered'
  } catch (thrown) {
    assert.ok(isFailure(thrown), String(thrown))
    assert.equal(thrown.detail.error, 'os_process_error')
    return thrown.code
  }
}

/** The bomb, and how it may end. */
const BOMBS: readonly (readonly [string, string, readonly string[]])[] = [
  ['endless loop', 'for (;;) {}', ['sandbox_timeout']],
  [
    'endless loop that catches',
    'for (;;) { try { for (;;) {} } finally { continue } }',
    ['sandbox_timeout'],
  ],
  ['catastrophic regexp', `/^(a+)+$/.test('a'.repeat(60) + '!')`, ['sandbox_timeout']],
  ['deep recursion', 'function f(){ return f() + 1 } f()', ['threw']],
  [
    'deep JSON',
    'var a = []; for (var i = 0; i < 1e5; i++) a = [a]; emit(a)',
    ['threw', 'answered', 'sandbox_timeout', 'sandbox_crashed'],
  ],
  [
    'arrays',
    'var a = []; for (;;) a.push(new Array(1e5).fill(doc))',
    ['sandbox_crashed', 'sandbox_timeout'],
  ],
  [
    'strings',
    `var a = []; for (var i = 0;; i++) a.push(('x' + i).repeat(1e6).toUpperCase())`,
    ['sandbox_crashed', 'sandbox_timeout', 'threw'],
  ],
  ['one long string', `var s = 'x'; for (;;) s += s`, ['threw']],
  [
    'typed arrays',
    'var a = []; for (;;) a.push(new Uint8Array(1e7).fill(1))',
    ['threw', 'sandbox_crashed'],
  ],
  [
    'endless emits',
    `for (;;) emit('x'.repeat(1e4), null)`,
    ['sandbox_crashed', 'sandbox_timeout', 'threw'],
  ],
  ['endless log', `for (;;) log('x'.repeat(1e4))`, ['sandbox_timeout']],
]

describe('bombs', () => {
  const fixture = openFixture({
    timeoutMs: 600,
    heapBytesMax: 64 * MEGABYTE,
    outsideHeapBytesMax: 64 * MEGABYTE,
  })
  const { sandbox } = fixture
  after(() => sandbox.close())

  for (const [name, body, allowed] of BOMBS) {
    it(`${name}: ends alone`, async () => {
      const result = await outcome(fixture, body)
      assert.ok(allowed.includes(result), `${name} ended as ${result}`)
      await stillAnswers(fixture)
    })
  }

  it('an endless compilation is a time-out too', async () => {
    const source = '(function(){ for (;;) {} })()'
    const endless = sandbox.compile('db', [{ kind: 'map', view: 'v', source }])
    await assert.rejects(endless, thrown => isFailure(thrown, 'sandbox_timeout'))
    await stillAnswers(fixture)
  })

  it('an endless list, an endless validation', async () => {
    const endless = 'function(){ getRow(); for (;;) {} }'
    const design = designDocument({ lists: { endless }, validate_doc_update: endless })
    const run = await sandbox.list(design, 'endless', json({}), json({}))
    const isTimeout = (thrown: unknown): boolean => isFailure(thrown, 'sandbox_timeout')
    await assert.rejects(run.feed(json([1]), false), isTimeout)
    const items = [{ newDocument: json({}), oldDocument: null }]
    await assert.rejects(sandbox.validate(design, items, context), isTimeout)
    await stillAnswers(fixture)
  })

  it('the clock measures one call, not the batch', async () => {
    const busy = 'var end = Date.now() + 150; while (Date.now() < end) {} emit(1, 1)'
    const docs = Array.from({ length: 10 }, () => json({}))
    const batch = await sandbox.mapBatch(viewGroup([`function(d){ ${busy} }`]), docs)
    assert.equal(batch.rowCount, 10)
  })

  it('memory held by promises that never run makes the process retire, not crash', async () => {
    const leak = `var kept = new Array(2000).fill(0).map(function(x, i){ return i + 0.5 })
      Promise.resolve().then(function(){ return kept }); emit(1, 1)`
    const group = viewGroup([`function(d){ ${leak} }`])
    const docs = Array.from({ length: 40 }, () => json({}))
    for (let round = 0; round < 200; round++) {
      assert.equal((await sandbox.mapBatch(group, docs)).rowCount, 40)
    }
  })
})
