import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  parseSequence,
  printSequence,
  SequencePrinter,
} from '../../../../src/core/database/sequence-text.ts'

const LIFE = '00112233445566ff'

test('the fast printer says what the plain one says', () => {
  const printer = new SequencePrinter(LIFE)
  const seqs = [0, 1, 255, 256, 257, 255, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 52 + 12_345]
  for (const seq of seqs) assert.equal(printer.print(seq), printSequence(seq, LIFE))
})

test('a sequence comes back as its number, with and without quotes', () => {
  const text = printSequence(1234, LIFE)
  assert.match(text, /^1234-[A-Za-z0-9_-]{22}$/)
  assert.equal(parseSequence(text, LIFE), 1234)
  assert.equal(parseSequence(`"${text}"`, LIFE), 1234)
  assert.equal(parseSequence('0', LIFE), 0)
})

test('a sequence of another life is the beginning', () => {
  assert.equal(parseSequence(printSequence(1234, 'ff112233445566ff'), LIFE), 0)
})

test('anything else is malformed', () => {
  for (const text of [
    '',
    '1',
    '-1',
    'garbage',
    '5-xyz',
    'now',
    '1-',
    `${printSequence(1, LIFE)}x`,
  ]) {
    assert.throws(() => parseSequence(text, LIFE), { code: 'request_invalid' })
  }
})
