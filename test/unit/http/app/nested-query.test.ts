/** Queries whose names are paths. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseNestedQuery } from '../../../../src/http/app/nested-query.ts'
import { Query } from '../../../../src/http/kit/url.ts'

const parse = (text: string) => parseNestedQuery(new Query(text).all())

describe('a nested query', () => {
  const cases: readonly (readonly [string, unknown])[] = [
    ['', {}],
    ['a=1&b=', { a: '1', b: '' }],
    ['a=1&a=2', { a: ['1', '2'] }],
    ['a[]=1&a[]=2', { a: ['1', '2'] }],
    ['a[1]=y&a[0]=x', { a: ['x', 'y'] }],
    ['a[b][0][c]=x&a[b][1][c]=y', { a: { b: [{ c: 'x' }, { c: 'y' }] } }],
    ['a%5Bb%5D=x', { a: { b: 'x' } }],
    ['a[21]=x', { a: { '21': 'x' } }],
    ['a=1&a[b]=2', { a: { '0': '1', b: '2' } }],
    ['a[b=1', { a: { '[b': '1' } }],
    ['[a]=1', { '[a]': '1' }],
    ['a[b][c][d][e][f][g]=1', { a: { b: { c: { d: { e: { f: { '[g]': '1' } } } } } } }],
  ]
  for (const [text, value] of cases) {
    it(text, () => assert.deepEqual(JSON.parse(JSON.stringify(parse(text))), value))
  }

  it('changes nothing but itself', () => {
    parse('__proto__[polluted]=1&a[__proto__][polluted]=1&constructor[prototype][polluted]=1')
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
  })

  it('is bounded', () => {
    const many = Array.from({ length: 5000 }, (_, at) => `n${at}=1`).join('&')
    assert.equal(Object.keys(parse(many)).length, 1000)
  })
})
