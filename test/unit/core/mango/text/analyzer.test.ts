/** Text to terms. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '../../../../../src/core/mango/json-value.ts'
import { parseAnalyzer, TERM_CHARS_MAX } from '../../../../../src/core/mango/text/analyzer.ts'

const terms = (analyzer: JsonValue, text: string, field = 'f') =>
  parseAnalyzer(analyzer)(field)(text)

test('standard words follow Unicode', () => {
  assert.deepEqual(terms('standard', "Don't stop: 3.14 or 1,000 e.g."), [
    "don't",
    'stop',
    '3.14',
    'or',
    '1,000',
    'e.g',
  ])
  assert.deepEqual(terms('standard', 'ÉCOLE e\u0301cole ﬁn'), ['école', 'école', 'fin'])
  assert.deepEqual(terms('standard', 'नमस्ते दुनिया'), ['नमस्ते', 'दुनिया'])
  assert.deepEqual(terms('standard', 'አማርኛ ቋንቋ'), ['አማርኛ', 'ቋንቋ'])
  assert.deepEqual(terms('standard', '東京タワー2'), ['東', '京', 'タワー2'])
  assert.deepEqual(terms('standard', 'สวัสดีครับ').length, 2)
  assert.deepEqual(terms('standard', '!? '), [])
  assert.equal(terms('standard', 'x'.repeat(1000))[0]?.length, TERM_CHARS_MAX)
})

test('other analyzers', () => {
  assert.deepEqual(terms('keyword', 'As It Is'), ['As It Is'])
  assert.deepEqual(terms('whitespace', ' A-b  c '), ['A-b', 'c'])
  assert.deepEqual(terms('simple', 'abc123Def'), ['abc', 'def'])
  assert.deepEqual(terms('email', 'Ask Ann.Lee@Example.ORG now'), [
    'ask',
    'ann.lee@example.org',
    'now',
  ])
  assert.deepEqual(terms('english', 'The end of it'), ['', 'end', '', ''])
  assert.deepEqual(terms({ name: 'standard', stopwords: ['End'] }, 'the end'), ['the', ''])
})

test('each field has its own', () => {
  const analyzer = { name: 'perfield', default: 'keyword', fields: { words: 'standard' } }
  assert.deepEqual(terms(analyzer, 'A b', 'words'), ['a', 'b'])
  assert.deepEqual(terms(analyzer, 'A b', 'other'), ['A b'])
})

test('unknown ones are refused', () => {
  for (const analyzer of ['klingon', 5, {}, { name: 'standard', stopwords: 5 }]) {
    assert.throws(() => parseAnalyzer(analyzer as JsonValue), { code: 'index_invalid' })
  }
})
