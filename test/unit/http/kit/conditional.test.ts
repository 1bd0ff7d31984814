import assert from 'node:assert/strict'
import { it } from 'node:test'
import { etagOf, matchesEtag, notModifiedReply } from '../../../../src/http/kit/conditional.ts'

it('reads If-None-Match as CouchDB does', () => {
  const table: [string | undefined, boolean][] = [
    [undefined, false],
    ['"a"', true],
    ['"b", "a"', true],
    ['"b" "a"', true],
    ['"b",W/"a"', true],
    ['*', false],
    ['a', false],
    ['"A"', false],
    ['', false],
  ]
  for (const [header, expected] of table) {
    assert.equal(matchesEtag(header, '"a"'), expected, String(header))
  }
})

it('makes quoted base-36 upper-case hashes', () => {
  // md5('') = d41d8cd98f00b204e9800998ecf8427e
  const expected = BigInt('0xd41d8cd98f00b204e9800998ecf8427e').toString(36).toUpperCase()
  assert.equal(etagOf(''), `"${expected}"`)
  assert.equal(etagOf('ab', Buffer.from('c')), etagOf('abc'))
  assert.notEqual(etagOf('abc'), etagOf('abd'))
})

it('answers 304 with the ETag only', () => {
  const request = { header: (name: string) => (name === 'if-none-match' ? '"x"' : undefined) }
  assert.deepEqual(notModifiedReply(request, '"x"'), { status: 304, headers: ['ETag', '"x"'] })
  assert.equal(notModifiedReply(request, '"y"'), undefined)
})
