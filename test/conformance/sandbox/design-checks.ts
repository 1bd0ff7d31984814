/** Validation, filters, updates, rewrites. */
import assert from 'node:assert/strict'
import { type Failure, isFailure } from '../../../src/base/errors.ts'
import { context, designDocument, json } from './sandbox-fixture.ts'
import type { Check } from './suite.ts'

const told = (failure: Failure | undefined): unknown =>
  failure && [failure.code, failure.detail.error, failure.detail.reason]

export const designChecks: readonly Check[] = [
  [
    'validate answers per document, the reason may be any JSON',
    async ({ sandbox }) => {
      const design = designDocument({
        validate_doc_update: `function(n, o, user, sec){
          if (n.f) throw({forbidden: n.f}); if (n.u) throw({unauthorized: 'who are you'})
          if (n.s) throw 'just text'; if (n.one) throw({other: 'text'}); if (n.e) n.none.x()
          if (n.see) throw({forbidden: [o, user.name, sec.admins, this.shared]}) }`,
        shared: 'ddoc',
      })
      const docs = [{}, { f: 'no' }, { f: { a: [1] } }, { u: 1 }, { s: 1 }, { one: 1 }, { e: 1 }]
      const items = docs.map(doc => ({ newDocument: json(doc), oldDocument: null }))
      items.push({ newDocument: json({ see: 1 }), oldDocument: json({ was: 1 }) as never })
      const security = json({ admins: ['x'] })
      const results = await sandbox.validate(design, items, { ...context, security })
      const exception = results[6]
      assert.ok(isFailure(exception, 'function_failed'))
      assert.equal(exception.detail.error, 'TypeError')
      assert.deepEqual([...results.slice(0, 6), results[7]].map(told), [
        undefined,
        ['forbidden', undefined, 'no'],
        ['forbidden', undefined, { a: [1] }],
        ['unauthorized', undefined, 'who are you'],
        ['function_failed', 'unknown_error', 'just text'],
        ['function_failed', 'unknown_error', 'text'],
        ['forbidden', undefined, [{ was: 1 }, 'ann', ['x'], 'ddoc']],
      ])
    },
  ],
  [
    'one validation does not see what another did to its arguments',
    async ({ sandbox }) => {
      const design = designDocument({
        validate_doc_update:
          'function(n, o, user){ user.name = "root"; n.x = 1; if (user.name !== "ann") throw 1 }',
      })
      const item = { newDocument: json({}), oldDocument: null }
      const results = await sandbox.validate(design, [item, item], context)
      assert.deepEqual(results, [undefined, undefined])
    },
  ],
  [
    'filter answers which documents pass, and fails as a whole',
    async ({ sandbox }) => {
      const design = designDocument({
        filters: {
          odd: 'function(doc, req){ return doc.n % req.query.by }',
          boom: 'function(doc){ throw new Error("no filter") }',
          named: 'function(doc){ throw ["error", "my_error", "my reason"] }',
        },
      })
      const docs = [1, 2, 3].map(n => json({ n }))
      const request = json({ query: { by: 2 } })
      assert.deepEqual(await sandbox.filter(design, 'odd', docs, request), [true, false, true])
      await assert.rejects(sandbox.filter(design, 'boom', docs, request), thrown => {
        assert.deepEqual(told(thrown as Failure), ['function_failed', 'Error', 'no filter'])
        return true
      })
      await assert.rejects(sandbox.filter(design, 'named', docs, request), thrown => {
        assert.deepEqual(told(thrown as Failure), ['function_failed', 'my_error', 'my reason'])
        return true
      })
    },
  ],
  [
    'a view filters by whether it emits',
    async ({ sandbox }) => {
      const map = 'function(doc){ if (doc.bad) throw 1; if (doc.yes) emit(null) }'
      const design = designDocument({ views: { v: { map } } })
      const docs = [json({ yes: 1 }), json({}), json({ bad: 1 })]
      assert.deepEqual(await sandbox.filterByView(design, 'v', docs), [true, false, false])
    },
  ],
  [
    'an unknown function is missing, also one named like a member of every object',
    async ({ sandbox }) => {
      const design = designDocument({ shows: { number: 1 } })
      const missing = (name: string) => (thrown: unknown) => {
        assert.ok(isFailure(thrown, 'function_missing'), String(thrown))
        assert.equal(thrown.detail.reason, `missing json key: ${name}`)
        return true
      }
      for (const name of ['none', 'constructor', '__proto__', 'number']) {
        await assert.rejects(sandbox.show(design, name, null, json({})), missing(name))
      }
      await assert.rejects(sandbox.filter(design, 'f', [], json({})), missing('f'))
      await assert.rejects(sandbox.list(design, 'l', json({}), json({})), missing('l'))
      await assert.rejects(sandbox.rewrite(design, json({})), missing('rewrites'))
    },
  ],
  [
    'functions of a design document require from the whole of it',
    async ({ sandbox }) => {
      const design = designDocument({
        code: { greet: 'exports.hello = function(x){ return "hello " + x }' },
        shows: { s: 'function(doc, req){ return require("code/greet").hello(req.who) }' },
      })
      const answer = await sandbox.show(design, 's', null, json({ who: 'ann' }))
      assert.deepEqual(JSON.parse(answer.toString()), { body: 'hello ann' })
    },
  ],
  [
    'update answers the document and the response',
    async ({ sandbox }) => {
      const design = designDocument({
        updates: {
          save: 'function(doc, req){ return [{_id: req.id, was: doc}, {code: 202, body: "x"}] }',
          none: 'function(doc, req){ return [null, "text"] }',
          silent: 'function(doc, req){ return [null] }',
        },
      })
      const request = json({ method: 'PUT', id: 'a' })
      const saved = await sandbox.update(design, 'save', json({ v: 1 }), request)
      assert.deepEqual(JSON.parse(String(saved.document)), { _id: 'a', was: { v: 1 } })
      assert.deepEqual(JSON.parse(saved.response.toString()), { code: 202, body: 'x' })
      const none = await sandbox.update(design, 'none', null, request)
      assert.equal(none.document, null)
      assert.deepEqual(JSON.parse(none.response.toString()), { body: 'text' })
      await assert.rejects(sandbox.update(design, 'silent', null, request), thrown => {
        const reason = 'undefined response from update function'
        assert.deepEqual(told(thrown as Failure), ['function_failed', 'render_error', reason])
        return true
      })
      await assert.rejects(sandbox.update(design, 'save', null, json({ method: 'GET' })), thrown =>
        isFailure(thrown, 'method_not_allowed'),
      )
    },
  ],
  [
    'rewrite answers a path, an object or nothing',
    async ({ sandbox }) => {
      const source = 'function(req){ return req.to }'
      const design = designDocument({ rewrites: source })
      for (const to of ['../x', { path: 'y', code: 301 }]) {
        const answer = await sandbox.rewrite(design, json({ to }))
        assert.deepEqual(JSON.parse(String(answer)), to)
      }
      assert.equal(await sandbox.rewrite(design, json({})), null)
    },
  ],
]
