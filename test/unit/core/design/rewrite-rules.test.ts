import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import {
  applyRewriteRules,
  CLIMB,
  type RewriteRequest,
  resolveRewritePath,
} from '../../../../src/core/design/rewrite-rules.ts'

const ask = (rules: readonly unknown[], path: string, rest: Partial<RewriteRequest> = {}) => {
  const segments = path.split('/').filter(part => part !== '')
  const target = applyRewriteRules(rules, { method: 'GET', path: segments, query: [], ...rest })
  return (
    target && [
      target.path.map(step => (step === CLIMB ? '..' : step)).join('/'),
      Object.fromEntries(target.query),
    ]
  )
}

test('literal segments, names and the rest bind in order, the first rule that fits counts', () => {
  const rules = [
    { from: '/a/b', to: 'literal' },
    { from: '/a/:x', to: '../../:x' },
    { from: '/a/*', to: '_show/s/*' },
    { from: '', to: 'index.html' },
    { from: '/post', to: 'p', method: 'POST' },
  ]
  assert.deepEqual(ask(rules, 'a/b'), ['literal', {}])
  assert.deepEqual(ask(rules, 'a/c'), ['../../c', { x: 'c' }])
  assert.deepEqual(ask(rules, 'a/c/d/e'), ['_show/s/c/d/e', {}])
  assert.deepEqual(ask(rules, ''), ['index.html', {}])
  assert.equal(ask(rules, 'a'), undefined)
  assert.equal(ask(rules, 'post'), undefined)
  assert.deepEqual(ask(rules, 'post', { method: 'POST' }), ['p', {}])
})

test('without `from` a rule takes everything but nothing', () => {
  assert.deepEqual(ask([{ to: 'x/*' }], 'a/b'), ['x/a/b', {}])
  assert.equal(ask([{ to: 'x' }], ''), undefined)
})

test('queries merge: the rule wins over what is bound, that over what the client sent', () => {
  const rule = {
    from: '/v/:id/*',
    to: '_view/v',
    query: {
      key: [':id', 'c', '*'],
      limit: ':n',
      flag: ':b',
      startkey: ':id',
      other: ':none',
      n2: 5,
    },
    formats: { n: 'int', b: 'bool' },
  }
  const query = [
    ['n', '3'],
    ['b', 'true'],
    ['id', 'client'],
    ['endkey', '["z"]'],
  ] as const
  assert.deepEqual(ask([rule], 'v/me/rest', { query }), [
    '_view/v',
    {
      n: '3',
      b: 'true',
      id: 'me',
      endkey: '["z"]',
      key: '["me","c","rest"]',
      limit: '3',
      flag: 'true',
      startkey: '"me"',
      other: ':none',
      n2: '5',
    },
  ])
})

test('a key of the client that is no JSON is refused', () => {
  assert.throws(
    () => ask([{ from: 'a', to: 'b' }], 'a', { query: [['key', '{']] }),
    thrown => isFailure(thrown, 'json_invalid'),
  )
})

test('a rule without target is an error wherever it stands', () => {
  for (const rule of [{ from: '/z' }, { from: '/z', to: 5 }, null, 'text']) {
    assert.throws(
      () => ask([{ from: '/a', to: 'b' }, rule], 'a'),
      thrown => isFailure(thrown) && thrown.detail.error === 'invalid_rewrite_target',
    )
  }
})

test('names like members of every object are names like any other', () => {
  const rule = { from: '/:__proto__', to: ':__proto__/:constructor' }
  assert.deepEqual(ask([rule], 'x')?.[0], 'x/undefined')
})

test('paths are relative to the design document; a client cannot climb', () => {
  const design = ['db', '_design', 'd'] as const
  assert.deepEqual(resolveRewritePath(design, ['x'], true), ['db', '_design', 'd', 'x'])
  assert.deepEqual(resolveRewritePath(design, [CLIMB, CLIMB, 'x'], true), ['db', 'x'])
  assert.deepEqual(resolveRewritePath(design, [CLIMB, CLIMB, CLIMB, 'x'], false), ['x'])
  assert.throws(
    () => resolveRewritePath(design, [CLIMB, CLIMB, CLIMB, 'x'], true),
    thrown => isFailure(thrown) && thrown.detail.error === 'insecure_rewrite_rule',
  )
  const target = applyRewriteRules([{ from: '/:a', to: '../../:a/_all_dbs' }], {
    method: 'GET',
    path: ['..'],
    query: [],
  })
  assert.deepEqual(resolveRewritePath(design, target?.path ?? [], true), ['db', '..', '_all_dbs'])
})
