import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readDouble } from '../../../../src/base/json/read-double.ts'

it('reads doubles as CouchDB does, the smallest ones multiplied out', () => {
  for (const text of [
    '1.5',
    '0.1',
    '1e3',
    '-2.5e-7',
    '1e-307',
    '2.2250738585072014e-308',
    '4.9e-324',
    '0.0',
    '0e5',
  ]) {
    assert.equal(readDouble(text), Number(text), text)
  }
  // Recorded: CouchDB stores and hashes 5e-324 as 0.0.
  assert.equal(readDouble('5e-324'), 0)
  assert.equal(readDouble('1e-400'), 0)
  assert.equal(readDouble('1e400'), Number.POSITIVE_INFINITY)
})
