/**
 * Strangers' functions try to reach the host, the harness, or another call. Each attempt must find
 * nothing, and the same process must answer rightly afterwards.
 */
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  context,
  designDocument,
  emittedBy,
  json,
  openFixture,
  rowsOf,
  viewGroup,
} from '../conformance/sandbox/sandbox-fixture.ts'

/** Evaluated by the attempts once they hold some Function constructor. */
const PROBE = `return [typeof Deno, typeof process, typeof require === 'function' ? 'helper' : '',
  typeof fetch, typeof setTimeout, typeof Worker, typeof Buffer, typeof WebAssembly].join()`

const NOTHING = /^undefined,undefined,(helper)?,undefined,undefined,undefined,undefined,undefined$/

/** Ways to a Function constructor that may belong to the outer realm. */
const CONSTRUCTORS: Readonly<Record<string, string>> = {
  'this.constructor': 'this.constructor.constructor',
  'the document': 'doc.constructor.constructor',
  'an array of the document': 'doc.list.constructor.constructor',
  emit: 'emit.constructor',
  require: 'require.constructor',
  getRow: 'getRow.constructor',
  'a thrown error of a helper':
    '(function(){ try { require("x") } catch (e) { return e.constructor.constructor } })()',
  'an error of too deep recursion in emit': `(function(){
    var caught; function deep(){ try { deep() } catch (e) { try { emit(1, 1) } catch (f) { caught = f }
    if (!caught) caught = e } } deep(); return caught.constructor.constructor })()`,
  'async function': '(async function(){}).constructor("return 1") && Function',
  generator: 'Object.getPrototypeOf(function*(){}).constructor && Function',
  'the prototype of the global': 'Object.getPrototypeOf(globalThis).constructor.constructor',
  'a proxy trap': `(function(){ var got; var p = new Proxy({}, { get: function(t, k, r){
    got = got || r; return undefined } }); emit(0, p); return (got || {}).constructor || Function })()`,
}

for (const runtime of ['deno', 'node'] as const) {
  describe(`escapes on ${runtime}`, () => {
    const fixture = openFixture({ runtime, timeoutMs: 3000 })
    const { sandbox } = fixture
    after(() => sandbox.close())

    for (const [name, expression] of Object.entries(CONSTRUCTORS)) {
      it(`${name} leads to no host object`, async () => {
        const body = `var F = ${expression}; emit(null, F(${JSON.stringify(PROBE)})())`
        const group = viewGroup([`function (doc) { ${body} }`])
        const batch = await sandbox.mapBatch(group, [json({ list: [] })])
        assert.deepEqual(batch.throws, [])
        assert.match(String(rowsOf(batch).at(-1)?.[3]), NOTHING)
      })
    }

    it('stack frames give no function and no this of the harness', async () => {
      const body = `var seen = []
        Error.prepareStackTrace = function(e, frames){ frames.forEach(function(frame){
          var inner = String(frame.getFileName()).indexOf('realm') < 0 && frame.isEval()
          seen.push([inner, typeof frame.getFunction(), typeof frame.getThis()]) }); return '' }
        new Error('x').stack; emit(null, seen)`
      const seen = (await emittedBy(fixture, body)) as [boolean, string, string][]
      const leaked = seen.filter(([isOwn, , self]) => !isOwn && self === 'object')
      assert.deepEqual(leaked, [])
    })

    it('the caller of a user function is out of reach', async () => {
      const body = `emit(null, (function g(){
        return [typeof g.caller, g.caller.caller, g.caller.arguments.length] })())`
      assert.deepEqual(await emittedBy(fixture, body), ['function', null, 1])
    })

    it('only the language and the helpers are global', async () => {
      const names = (await emittedBy(
        fixture,
        'emit(null, Object.getOwnPropertyNames(globalThis))',
      )) as string[]
      const helpers = ['emit', 'sum', 'log', 'toJSON', 'isArray', 'require', 'start', 'send']
      const unwanted = names.filter(name =>
        /^(Deno|process|global$|console|fetch|set|clear|Worker|Atomics|Shared|WebAssembly|queue)/.test(
          name,
        ),
      )
      assert.deepEqual(unwanted, [])
      assert.ok(helpers.every(name => names.includes(name)))
    })

    it('dynamic imports and other async tails never run', async () => {
      const urls = ['data:text/javascript,export default 1', 'file:///etc/passwd', 'node:fs']
      const body = `globalThis.late = globalThis.late || []
        ;${JSON.stringify([...urls, 'https://example.org/x.js'])}.forEach(function(url){
          try { import(url).then(function(m){ late.push(url); emit('late', 1) },
            function(){ late.push('rejected'); emit('late', 2) }) } catch (e) {} })
        Promise.resolve().then(function(){ late.push('then'); emit('late', 3) })
        ;(async function(){ await null; late.push('await'); for (;;) {} })()
        emit('now', late.slice())`
      const group = viewGroup([`function (doc) { ${body} }`])
      for (let round = 0; round < 3; round++) {
        const batch = await sandbox.mapBatch(group, [json({}), json({})])
        assert.deepEqual(
          rowsOf(batch).map(row => row.slice(2)),
          [
            ['now', []],
            ['now', []],
          ],
        )
      }
    })

    it('tampering with the language does not change what the harness does', async () => {
      const tamper = `JSON.stringify = function(){ return 'broken' }; JSON.parse = null
        Array.prototype.push = null; Array.isArray = null; String = null; Error = null
        Object.keys = Object.freeze = null; Reflect.apply = null; eval = null
        Object.defineProperty(Array.prototype, 0, { set: function(){}, configurable: true })
        Object.defineProperty(Array.prototype, Symbol.iterator, { value: null })
        String.prototype.split = String.prototype.slice = null
        emit = log = sum = function(){}; Function.prototype.call = Function.prototype.apply = null
        emit('tampered', [1])`
      const maps = [`function(d){ ${tamper} }`, 'function(d){ emit(d.n, {a: [d.n]}) }']
      const group = viewGroup(maps, { reduces: ['function(k, v){ return sum(v) }'] })
      for (let round = 0; round < 2; round++) {
        const batch = await sandbox.mapBatch(group, [json({ n: 1 }), json({ n: 2 })])
        const rows = rowsOf(batch).filter(row => row[1] === 1)
        assert.deepEqual(rows, [
          [0, 1, 1, { a: [1] }],
          [1, 1, 2, { a: [2] }],
        ])
      }
      const results = await sandbox.reduceBatch(group, [{ reduce: 0, values: json([1, 2]) }])
      assert.ok(results[0]?.ok)
      assert.equal(results[0].value.toString(), '3')
    })

    it('another design document sees none of it', async () => {
      await emittedBy(fixture, 'Array.prototype.stolen = 1; globalThis.secret = doc; emit(1, 1)')
      const body = 'emit(null, [typeof secret, typeof [].stolen, typeof JSON.parse("[]").push])'
      assert.deepEqual(await emittedBy(fixture, body), ['undefined', 'undefined', 'function'])
    })

    it('a hostile thrown value is described or not, and harms nobody', async () => {
      const throws = [
        '{ get forbidden(){ throw 1 } }',
        'new Proxy({}, { get: function(){ throw 1 }, ownKeys: function(){ throw 2 } })',
        '{ toJSON: function(){ return undefined } }',
        'Object.create(null)',
        'Symbol("x")',
        '10n',
        'undefined',
        '{ error: { toString: function(){ throw 1 } }, reason: 1 }',
        '{ forbidden: "x".repeat(3e6) }',
      ]
      for (const value of throws) {
        const source = `function(){ throw ${value.startsWith('{') ? `(${value})` : value} }`
        const design = designDocument({ validate_doc_update: source })
        const item = { newDocument: json({}), oldDocument: null }
        const [failure] = await sandbox.validate(design, [item], context)
        assert.equal(failure?.code, 'function_failed', value)
        const batch = await sandbox.mapBatch(viewGroup([source]), [json({})])
        assert.equal(batch.throws.length, 1, value)
      }
    })
  })
}
