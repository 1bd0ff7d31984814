/** Map, reduce, require and compilation. */
import assert from 'node:assert/strict'
import { isFailure } from '../../../src/base/errors.ts'
import { emittedBy, json, rowsOf, viewGroup } from './sandbox-fixture.ts'
import type { Check } from './suite.ts'

const failsWith = (code: Parameters<typeof isFailure>[1], reason: RegExp, error?: string) => {
  return (thrown: unknown): boolean => {
    assert.ok(isFailure(thrown, code), String(thrown))
    assert.match(String(thrown.detail.reason), reason)
    if (error !== undefined) assert.equal(thrown.detail.error, error)
    return true
  }
}

export const viewChecks: readonly Check[] = [
  [
    'rows come per document and view, in the order emitted',
    async ({ sandbox }) => {
      const maps = ['function(d){ emit(d.n, d._id); emit([d.n], {a: d.n}) }', 'd => { emit("x") }']
      const batch = await sandbox.mapBatch(viewGroup(maps), [
        json({ _id: 'é', n: 1 }),
        json({ _id: '漢字😀', n: 2.5 }),
      ])
      assert.equal(batch.rowCount, 6)
      assert.deepEqual(rowsOf(batch), [
        [0, 0, 1, 'é'],
        [0, 0, [1], { a: 1 }],
        [0, 1, 'x', null],
        [1, 0, 2.5, '漢字😀'],
        [1, 0, [2.5], { a: 2.5 }],
        [1, 1, 'x', null],
      ])
    },
  ],
  [
    'what JSON cannot say becomes null, control characters and lone surrogates survive',
    async ({ sandbox }) => {
      const body = `emit(undefined, undefined); emit([undefined, function(){}], NaN)
        emit('\\u001e\\u001f\\u001d\\u0015', '\\ud800'); emit(1.0, new Date(0))
        emit(1, new TypeError('e'))`
      const batch = await sandbox.mapBatch(viewGroup([`function(doc){${body}}`]), [json({})])
      assert.deepEqual(
        rowsOf(batch).map(row => row.slice(2)),
        [
          [null, null],
          [[null, null], null],
          ['\u001e\u001f\u001d\u0015', '\ud800'],
          [1, '1970-01-01T00:00:00.000Z'],
          [1, { error: 'TypeError', message: 'e' }],
        ],
      )
    },
  ],
  [
    'a throw drops the rows of that document in that view only, and is logged',
    async ({ sandbox, log }) => {
      const maps = [
        'function(d){ emit(1, 1); if (d.bad) throw new Error("no " + d.bad); emit(2, 2) }',
        'function(d){ emit("other", null) }',
      ]
      const docs = [json({}), json({ bad: 7 }), json({})]
      const batch = await sandbox.mapBatch(viewGroup(maps), docs)
      assert.deepEqual(batch.throws, [{ document: 1, view: 0, message: 'Error: no 7' }])
      assert.deepEqual(
        rowsOf(batch).map(([document, view]) => [document, view]),
        [
          [0, 0],
          [0, 0],
          [0, 1],
          [1, 1],
          [2, 0],
          [2, 0],
          [2, 1],
        ],
      )
      assert.match(log.at(-1)?.message ?? '', /function raised exception Error: no 7/)
    },
  ],
  [
    'fatal_error ends the whole batch',
    async ({ sandbox }) => {
      const group = viewGroup(['function(d){ throw "fatal_error" }'])
      const check = failsWith('function_failed', /fatal_error/, 'map_runtime_error')
      await assert.rejects(sandbox.mapBatch(group, [json({})]), check)
      const fatal = viewGroup(['function(d){ throw ["fatal", "my_code", "why"] }'])
      const named = failsWith('function_failed', /^why$/, 'my_code')
      await assert.rejects(sandbox.mapBatch(fatal, [json({})]), named)
    },
  ],
  [
    'documents are frozen all the way down',
    async ({ sandbox }) => {
      const maps = [
        'function(d){ d.a = 9; d.list.length = 0; d.deep.x.y = 9; delete d.b; emit(1, d) }',
        'function(d){ "use strict"; d.a = 1 }',
        'function(d){ emit(2, [d.a, d.list, d.deep, d.b]) }',
      ]
      const doc = { a: 1, b: 2, list: [1, { z: 1 }], deep: { x: { y: 1 } } }
      const batch = await sandbox.mapBatch(viewGroup(maps), [json(doc)])
      assert.deepEqual(rowsOf(batch), [
        [0, 0, 1, doc],
        [0, 2, 2, [1, doc.list, doc.deep, 2]],
      ])
      assert.match(batch.throws[0]?.message ?? '', /TypeError/)
    },
  ],
  [
    'an empty batch and a group without maps answer nothing',
    async ({ sandbox }) => {
      assert.equal((await sandbox.mapBatch(viewGroup(['d => {}']), [])).rowCount, 0)
      assert.equal((await sandbox.mapBatch(viewGroup([]), [json({})])).rowCount, 0)
      assert.deepEqual(await sandbox.reduceBatch(viewGroup([]), []), [])
    },
  ],
  [
    'helpers: sum, toJSON, isArray, log, JSON',
    async fixture => {
      const body = `log('a line'); log({a: 1});
        emit(null, [sum([1, 2, 3]), toJSON({a: [undefined]}), isArray([]), isArray({}),
          typeof JSON.parse, typeof getRow(), typeof require])`
      assert.deepEqual(await emittedBy(fixture, body), [
        6,
        '{"a":[null]}',
        true,
        false,
        'function',
        'object',
        'function',
      ])
      const lines = fixture.log.slice(-2).map(line => line.message)
      assert.deepEqual(lines, ['a line', '{"a":1}'])
      assert.equal(fixture.log.at(-1)?.databaseKey, 'db')
    },
  ],
  [
    'a batch of large documents crosses in both directions',
    async ({ sandbox }) => {
      const text = 'ä'.repeat(300_000)
      const docs = Array.from({ length: 8 }, (_, i) => json({ _id: String(i), text }))
      const batch = await sandbox.mapBatch(viewGroup(['d => { emit(d._id, d.text) }']), docs)
      const rows = rowsOf(batch)
      assert.equal(rows.length, 8)
      assert.ok(rows.every(row => row[3] === text))
    },
  ],
  [
    'reduce gets keys and values, rereduce gets null and values',
    async ({ sandbox }) => {
      const reduces = [
        'function(k, v, re){ return [k, v, re] }',
        'function(k, v){ return sum(v) }',
        'function(k, v){ throw new Error("x") }',
        'function(k, v){ }',
      ]
      const values = json([1, 2])
      const results = await sandbox.reduceBatch(viewGroup([], { reduces }), [
        { reduce: 0, keys: json([['k', 'id']]), values: json([1]) },
        { reduce: 0, values },
        { reduce: 1, values },
        { reduce: 2, values },
        { reduce: 3, values },
      ])
      assert.deepEqual(
        results.map(result => result.ok && JSON.parse(result.value.toString())),
        [[[['k', 'id']], [1], false], [null, [1, 2], true], 3, null, null],
      )
    },
  ],
  [
    'a reduce that does not shrink is refused, logged or let through',
    async ({ sandbox, log }) => {
      const group = viewGroup([], { reduces: ['function(k, v){ return v.concat(v) }'] })
      const input = [{ reduce: 0, values: json(['x'.repeat(5000)]) }]
      const [refused] = await sandbox.reduceBatch(group, input)
      assert.ok(refused && !refused.ok)
      assert.equal(refused.error, 'reduce_overflow_error')
      const text = /^Reduce output must shrink more rapidly: input size: \d+ output size: \d+$/
      assert.match(refused.reason, text)
      for (const limit of ['log', 'off'] as const) {
        log.length = 0
        const [result] = await sandbox.reduceBatch(group, input, limit)
        assert.equal(result?.ok, true)
        assert.equal(log.length, limit === 'log' ? 1 : 0)
      }
    },
  ],
  [
    'require finds modules of lib, relative paths and cycles, once each',
    async ({ sandbox }) => {
      const lib = {
        counter: 'exports.next = (function(){ var n = 0; return function(){ return ++n } })()',
        deep: {
          a: 'exports.name = "a"; exports.up = require("../counter").next()',
          b: 'exports.a = require("./a"); exports.id = module.id',
        },
        one: 'exports.early = 1; exports.two = require("./two").seen',
        two: 'exports.seen = require("./one").early',
        replaced: 'module.exports = function(){ return 42 }',
      }
      const body = `var b = require('views/lib/deep/b')
        emit(1, [b.a.name, b.a.up, b.id, require('views/lib/counter').next(),
          require('views/lib/one').two, require('views/lib/replaced')()])`
      const group = viewGroup([`function(doc){${body}}`], { lib })
      const batch = await sandbox.mapBatch(group, [json({})])
      assert.deepEqual(batch.throws, [])
      assert.deepEqual(rowsOf(batch)[0]?.[3], ['a', 1, 'views/lib/deep/b', 2, 1, 42])
    },
  ],
  [
    'require says what is wrong',
    async ({ sandbox }) => {
      const lib = { obj: {}, bad: 'throw new Error("inside")', syntax: 'var = ' }
      const paths = ['views/lib/none', 'views/lib/obj', 'views/lib/bad', 'views/lib/syntax', '../x']
      const body = `${JSON.stringify(paths)}.forEach(function(path){
        try { require(path); emit(path, 'none') } catch (e) { emit(path, e) } })`
      const batch = await sandbox.mapBatch(viewGroup([`function(d){${body}}`], { lib }), [json({})])
      const errors = rowsOf(batch).map(row => row[3] as string[])
      assert.deepEqual(
        errors.map(error => error[1]),
        [
          'invalid_require_path',
          'invalid_require_path',
          'compilation_error',
          'compilation_error',
          'invalid_require_path',
        ],
      )
      assert.match(String(errors[0]?.[2]), /^Object has no property "none"\. /)
      assert.equal(errors[1]?.[2], 'Must require a JavaScript string, not: object')
      assert.match(
        String(errors[2]?.[2]),
        /^Module require\('views\/lib\/bad'\) raised error Error: inside/,
      )
    },
  ],
  [
    'functions may end in a semicolon or a comment, or follow their helpers',
    async ({ sandbox }) => {
      const maps = [
        'function(d){ emit(0) };',
        'function(d){ emit(1) } // the end',
        '  (function(d){ emit(2) }) ; ; ',
        'function named(d){ emit(3) }',
        'var twice = function(x){ return x * 2 }; (function(d){ emit(twice(2)) })',
        'd => emit(5)',
      ]
      const batch = await sandbox.mapBatch(viewGroup(maps), [json({})])
      assert.deepEqual(
        rowsOf(batch).map(row => row[2]),
        [0, 1, 2, 3, 4, 5],
      )
    },
  ],
  [
    'compile names the view and the error, and runs nothing',
    async ({ sandbox }) => {
      await sandbox.compile('db', [
        { kind: 'map', view: 'a', source: 'function(doc){ while (true) {} }' },
        { kind: 'reduce', view: 'a', source: 'function(k, v){ return 1 }' },
      ])
      const bad = (kind: 'map' | 'reduce', source: string): Promise<void> =>
        sandbox.compile('db', [{ kind, view: 'v', source }])
      const prefix = "Compilation of the map function in the 'v' view failed: "
      await assert.rejects(
        bad('map', 'function(doc){ emit('),
        failsWith('compilation_failed', new RegExp(`^${prefix}SyntaxError`), 'compilation_error'),
      )
      await assert.rejects(
        bad('map', '{"not": "a function"}'),
        failsWith('compilation_failed', /failed: Expression does not eval to a function\. \(/),
      )
      await assert.rejects(
        bad('reduce', 'nonsense at all'),
        failsWith('compilation_failed', /^Compilation of the reduce function in the 'v' view/),
      )
      await assert.rejects(
        sandbox.mapBatch(viewGroup(['function(']), [json({})]),
        failsWith('compilation_failed', /SyntaxError/, 'compilation_error'),
      )
    },
  ],
]
