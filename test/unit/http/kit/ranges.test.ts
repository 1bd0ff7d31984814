import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import { contentRange, parseRanges } from '../../../../src/http/kit/ranges.ts'

const show = (header: string | undefined, length = 200): string => {
  try {
    const ranges = parseRanges(header, length)
    return ranges?.map(range => `${range.first}-${range.last}`).join() ?? 'whole'
  } catch (thrown) {
    if (isFailure(thrown, 'range_unsatisfiable')) return 'unsatisfiable'
    throw thrown
  }
}

it('reads ranges as CouchDB does', () => {
  const table: [string | undefined, string][] = [
    [undefined, 'whole'],
    ['bytes=2-5', '2-5'],
    ['bytes=0-0', '0-0'],
    ['Bytes = 2 - 5', '2-5'],
    ['bytes=0-', 'whole'],
    ['bytes=10-', '10-199'],
    ['bytes=-20', '180-199'],
    ['bytes=-500', '0-199'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=190-500', '190-199'],
    ['bytes=5-2', 'unsatisfiable'],
    ['bytes=200-', 'unsatisfiable'],
    ['bytes=200-300', 'unsatisfiable'],
    ['bytes=0-1,4-5', '0-1,4-5'],
    ['bytes=0-1, 300-301', 'unsatisfiable'],
    ['bytes=0-1,0-', 'whole'],
    ['bytes=0-1,1-2,2-3,3-4,4-5,5-6,6-7,7-8,8-9', '0-1,1-2,2-3,3-4,4-5,5-6,6-7,7-8,8-9'],
    ['bytes=0-1,1-2,2-3,3-4,4-5,5-6,6-7,7-8,8-9,9-10', 'whole'],
    ['bytes=', 'whole'],
    ['bytes=-', 'whole'],
    ['bytes=a-b', 'whole'],
    ['bytes=1-2,', 'whole'],
    ['lines=1-2', 'whole'],
    ['2-5', 'whole'],
  ]
  for (const [header, expected] of table) assert.equal(show(header), expected, String(header))
  assert.equal(show('bytes=-5', 0), 'unsatisfiable')
})

it('prints the header of the answer', () => {
  assert.equal(contentRange({ first: 2, last: 5 }, 200), 'bytes 2-5/200')
})
