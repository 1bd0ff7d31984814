import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileProjection, documentFromKey } from '../../../../src/core/mango/projection.ts'

const DOCUMENT = {
  _id: 'p',
  name: 'Ann',
  addr: { zip: 100, geo: { lat: 1.5 } },
  tags: ['a', 'b'],
  'dotted.key': 7,
}

const TABLE = [
  [[], DOCUMENT],
  [['name', 'addr.zip', 'nope'], { name: 'Ann', addr: { zip: 100 } }],
  [['addr'], { addr: { zip: 100, geo: { lat: 1.5 } } }],
  [['addr.geo.lat', 'addr.zip'], { addr: { geo: { lat: 1.5 }, zip: 100 } }],
  [['tags.0', 'name'], { tags: { 0: 'a' }, name: 'Ann' }],
  [['dotted\\.key'], { 'dotted.key': 7 }],
  [['addr', 'addr.zip'], { addr: { zip: 100, geo: { lat: 1.5 } } }],
  [['addr.zip', 'addr'], { addr: { zip: 100, geo: { lat: 1.5 } } }],
  [['tags', 'tags.0'], { tags: ['a', 'b'] }],
  [['nope'], {}],
] as const

for (const [fields, expected] of TABLE) {
  test(`fields ${JSON.stringify(fields)}`, () => {
    const before = structuredClone(DOCUMENT)
    assert.equal(JSON.stringify(compileProjection(fields)(DOCUMENT)), JSON.stringify(expected))
    assert.deepEqual(DOCUMENT, before)
  })
}

test('a member called __proto__ stays a member', () => {
  const result = compileProjection(['__proto__'])(JSON.parse('{"__proto__":{"x":1}}'))
  assert.equal(JSON.stringify(result), '{"__proto__":{"x":1}}')
  assert.equal(Object.getPrototypeOf(result), Object.prototype)
})

test('a document is rebuilt from a key', () => {
  assert.deepEqual(documentFromKey('x', [['a', 'b'], ['c'], ['a', 'd']], [1, null, 3]), {
    _id: 'x',
    a: { b: 1, d: 3 },
    c: null,
  })
})
