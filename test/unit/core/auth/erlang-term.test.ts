import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseTermList } from '../../../../src/core/auth/erlang-term.ts'

it('terms', () => {
  assert.deepEqual(parseTermList('[a, "b\\\\d\\"", {c, 5}, <<"d">>, [], \'E f\']'), [
    { atom: 'a' },
    'b\\d"',
    { tuple: [{ atom: 'c' }, 5] },
    'd',
    [],
    { atom: 'E f' },
  ])
  for (const bad of ['[a', 'a b', 'a,', '{a]', 'A', '"x', '<<a>>', '['.repeat(40)]) {
    assert.throws(() => parseTermList(bad), { code: 'config_invalid' }, bad)
  }
})
