import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Failure } from '../../../../src/base/errors.ts'
import { methodOf, Router } from '../../../../src/http/kit/router.ts'

const route = (path: string) => ({ path, methods: { GET: path } })
const router = new Router(
  [
    '/',
    '/_up',
    '/{db}',
    '/{db}/_all_docs',
    '/{db}/{doc}',
    '/{db}/{doc}/{rest...}',
    '/{db}/_design/{ddoc}',
    '/{db}/_design/{ddoc}/_view/{view}',
    '/{db}/_design/{ddoc}/{rest...}',
    '/_utils/{rest...}',
  ].map(route),
)
const pathOf = (...segments: string[]): string | undefined => router.match(segments)?.route.path

describe('Router', () => {
  it('lets a literal beat a parameter and a parameter beat the rest', () => {
    assert.equal(pathOf(), '/')
    assert.equal(pathOf('_up'), '/_up')
    assert.equal(pathOf('x'), '/{db}')
    assert.equal(pathOf('x', '_all_docs'), '/{db}/_all_docs')
    assert.equal(pathOf('x', 'y'), '/{db}/{doc}')
    assert.equal(pathOf('x', 'y', 'z', 'w'), '/{db}/{doc}/{rest...}')
    assert.equal(pathOf('x', '_design', 'd', '_view', 'v'), '/{db}/_design/{ddoc}/_view/{view}')
  })

  it('backs up when a more literal branch leads nowhere', () => {
    assert.equal(pathOf('x', '_all_docs', 'att'), '/{db}/{doc}/{rest...}')
    assert.equal(pathOf('x', '_design'), '/{db}/{doc}')
    assert.equal(pathOf('x', '_design', 'd', '_view'), '/{db}/_design/{ddoc}/{rest...}')
    assert.equal(pathOf('x', '_design', 'd', '_view', 'v', 'w'), '/{db}/_design/{ddoc}/{rest...}')
    assert.equal(pathOf('_up', 'x'), '/{db}/{doc}')
  })

  it('gives parameters by name and the rest as an array', () => {
    const view = router.match(['x', '_design', 'd', '_view', 'v'])?.params
    assert.deepEqual(
      ['db', 'ddoc', 'view'].map(name => view?.get(name)),
      ['x', 'd', 'v'],
    )
    const attachment = router.match(['x', 'y', 'a', 'b/c'])?.params
    assert.deepEqual(attachment?.rest, ['a', 'b/c'])
    assert.throws(() => attachment?.get('view'), /no parameter view/)
  })

  it('does not take names of Object for routes or methods', () => {
    assert.equal(pathOf('constructor', '__proto__'), '/{db}/{doc}')
    assert.throws(() => methodOf(route('/x'), 'constructor'), Failure)
  })

  it('refuses a table with two routes for one path', () => {
    assert.throws(() => new Router([route('/{a}/x'), route('/{b}/x')]), /already/)
    assert.throws(() => new Router([route('/{a...}/x')]), /last part/)
  })
})

describe('methodOf', () => {
  const methods = { PUT: 'put', GET: 'get' }

  it('finds the handler; HEAD falls to GET', () => {
    assert.equal(methodOf({ path: '/', methods }, 'PUT'), 'put')
    assert.equal(methodOf({ path: '/', methods }, 'HEAD'), 'get')
    assert.equal(methodOf({ path: '/', methods: { ...methods, HEAD: 'head' } }, 'HEAD'), 'head')
  })

  it('names the allowed methods in the order of the table', () => {
    const detailOf = (shape: { path: string; methods: Record<string, string>; allow?: string }) => {
      try {
        methodOf(shape, 'PATCH')
      } catch (thrown) {
        if (thrown instanceof Failure) return thrown.detail
      }
      return assert.fail('no failure')
    }
    const table = detailOf({ path: '/', methods })
    assert.equal(table.reason, 'Only PUT,GET allowed')
    assert.equal(table.allow, 'PUT, GET')
    const given = detailOf({ path: '/', methods, allow: 'GET,POST,HEAD' })
    assert.equal(given.reason, 'Only GET,POST,HEAD allowed')
  })
})
