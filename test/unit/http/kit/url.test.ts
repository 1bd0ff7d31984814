import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import { parseUrl, Query } from '../../../../src/http/kit/url.ts'

const segmentsOf = (target: string): readonly string[] => parseUrl(target).segments

describe('parseUrl', () => {
  it('drops empty segments and cuts query and fragment', () => {
    assert.deepEqual(segmentsOf('/'), [])
    assert.deepEqual(segmentsOf('/db/'), ['db'])
    assert.deepEqual(segmentsOf('//db//doc?x=1#y'), ['db', 'doc'])
    assert.deepEqual(segmentsOf('/db#/doc?x'), ['db'])
    assert.equal(parseUrl('/db?a=/b?c#d?e').rawQuery, 'a=/b?c')
    assert.equal(parseUrl('/db/?a=1').rawPath, '/db/')
  })

  it('decodes each segment once, after splitting', () => {
    assert.deepEqual(segmentsOf('/db%2Fsub/a%2Fb'), ['db/sub', 'a/b'])
    assert.deepEqual(segmentsOf('/a%252Fb'), ['a%2Fb'])
    assert.deepEqual(segmentsOf('/%C3%A9%F0%9F%98%80'), ['é😀'])
  })

  it('takes a plus for a blank only where the option says so', () => {
    assert.deepEqual(segmentsOf('/a+b%2Bc'), ['a b+c'])
    const options = { plusIsSpace: false, uriBytesMax: 100 }
    assert.deepEqual(parseUrl('/a+b', options).segments, ['a+b'])
  })

  it('takes raw bytes above ASCII for UTF-8', () => {
    const raw = Buffer.from('/é').toString('latin1')
    assert.deepEqual(segmentsOf(raw), ['é'])
  })

  it('refuses a percent sign without two hex digits anywhere in the target', () => {
    for (const target of ['/%', '/%4', '/%zz', '/a%2', '/db?x=%', '/db?x=%g1', '/%%41']) {
      assert.throws(
        () => parseUrl(target),
        thrown => isFailure(thrown, 'url_invalid'),
        target,
      )
    }
  })

  it('tells which segment is not UTF-8, and only then', () => {
    assert.equal(parseUrl('/a/%ff/%fe').invalidUtf8At, 1)
    assert.equal(parseUrl('/a/%EF%BF%BD').invalidUtf8At, -1, 'U+FFFD itself is fine')
    assert.equal(parseUrl('/%ED%A0%80').invalidUtf8At, 0, 'an encoded surrogate is not UTF-8')
  })

  it('strips scheme and host of absolute targets', () => {
    assert.deepEqual(segmentsOf('http://user@host:80/db/doc?x=1'), ['db', 'doc'])
    assert.equal(parseUrl('HTTP://host?x=1').rawQuery, 'x=1')
    assert.deepEqual(segmentsOf('*'), ['*'])
  })

  it('has a bound', () => {
    const options = { plusIsSpace: true, uriBytesMax: 5 }
    assert.equal(parseUrl('/1234', options).rawPath, '/1234')
    assert.throws(
      () => parseUrl('/12345', options),
      thrown => isFailure(thrown, 'url_too_long'),
    )
  })
})

describe('Query', () => {
  it('gives the first, the last and all values in order', () => {
    const query = new Query('a=1&b=x+y%2B&a=2&c&=z&&d=e=f')
    assert.equal(query.get('a'), '1')
    assert.equal(query.last('a'), '2')
    assert.equal(query.get('b'), 'x y+')
    assert.equal(query.get('c'), '')
    assert.equal(query.get('d'), 'e=f')
    assert.equal(query.get('nothing'), undefined)
    assert.deepEqual(
      query.all().map(pair => pair.join(':')),
      ['a:1', 'b:x y+', 'a:2', 'c:', ':z', 'd:e=f'],
    )
  })

  it('survives bytes that are not UTF-8 and broken percents of form bodies', () => {
    const query = new Query('a=%ff&b=%zz')
    assert.equal(query.get('a'), '\ufffd')
    assert.equal(query.get('b'), '%zz')
  })
})
