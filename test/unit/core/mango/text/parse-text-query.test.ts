/** The syntax of `$text`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  parseTextQuery,
  type TextQuery,
} from '../../../../../src/core/mango/text/parse-text-query.ts'

/** Short for comparison: fields in front, `+` must, `-` never, `^` boost. */
function print(query: TextQuery): string {
  const boost = query.boost === 1 ? '' : `^${query.boost}`
  switch (query.kind) {
    case 'everything':
      return `*:*${boost}`
    case 'term':
      return `${query.field}:${query.text}${boost}`
    case 'phrase':
      return `${query.field}:"${query.text}"~${query.slop}${boost}`
    case 'pattern':
      return `${query.field}:${query.parts.map(part => (part === null ? '*' : (part ?? '?'))).join('')}${boost}`
    case 'range': {
      const open = query.lowIncluded ? '[' : '{'
      const close = query.highIncluded ? ']' : '}'
      return `${query.field}:${open}${query.low ?? '*'} ${query.high ?? '*'}${close}${boost}`
    }
    case 'clauses': {
      const signs = { must: '+', should: '', never: '-' }
      const list = query.clauses.map(clause => `${signs[clause.occurs]}${print(clause.query)}`)
      return `(${list.join(' ')})${boost}`
    }
  }
}

const parsed = (text: string): string => print(parseTextQuery(text, 'd'))

test('terms, phrases, patterns and ranges', () => {
  assert.equal(parsed('one'), 'd:one')
  assert.equal(parsed('one two'), '(d:one d:two)')
  assert.equal(parsed('"one two"~3'), 'd:"one two"~3')
  assert.equal(parsed('on*e t?'), '(d:on*e d:t?)')
  assert.equal(parsed('a.b:x^2.5'), 'a.b:x^2.5')
  assert.equal(parsed('n:[-5 TO 10}'), 'n:[-5 10}')
  assert.equal(parsed('n:{* TO "b c"]'), 'n:{* b c]')
  assert.equal(parsed('*:*'), '*:*')
  assert.equal(parsed(''), '()')
})

test('operators bind as in Lucene', () => {
  assert.equal(parsed('a AND b'), '(+d:a +d:b)')
  assert.equal(parsed('a OR b AND c'), '(d:a +d:b +d:c)')
  assert.equal(parsed('a && NOT b'), '(+d:a -d:b)')
  assert.equal(parsed('+a -b !c'), '(+d:a -d:b -d:c)')
  assert.equal(parsed('f:(a b)^2 || c'), '((f:a f:b)^2 d:c)')
  assert.equal(parsed('-a'), '(-d:a)')
})

test('escapes make plain text of signs', () => {
  assert.equal(parsed('a\\:b\\*'), 'd:a:b*')
  assert.equal(parsed('\\AND'), 'd:AND')
  assert.equal(parsed('"say \\"hi\\""'), 'd:"say "hi""~0')
  assert.equal(parsed('well-known'), 'd:well-known')
})

test('what is not offered or makes no sense is refused', () => {
  const deep = `${'('.repeat(200)}a${')'.repeat(200)}`
  for (const text of [
    '"a',
    '(a',
    'a)',
    'a~',
    'a~2',
    '/a/',
    '[a b]',
    '[a TO',
    'a^',
    'a^b',
    'f:',
    ']',
    deep,
  ]) {
    assert.throws(() => parseTextQuery(text, 'd'), { code: 'mango_invalid' }, text)
  }
})
