import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePattern } from '../../../../../src/core/mango/pattern/pattern.ts'

/** Pattern, texts that match, texts that do not. */
const TABLE: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['', ['', 'x'], []],
  ['abc', ['xabcx'], ['ab', 'ABC']],
  ['^a', ['ab'], ['ba', 'b\na']],
  ['a$', ['ba', 'ba\n'], ['ab', 'a\n\n']],
  ['a\\z', ['ba'], ['a\n']],
  ['a\\Z', ['ba', 'a\n'], ['ab']],
  ['\\Aa', ['ab'], ['b\na']],
  ['(?m)^a$', ['b\na\nc'], ['ba']],
  ['a.c', ['abc', 'a😀c'], ['a\nc', 'ac']],
  ['(?s)a.c', ['a\nc'], ['ac']],
  ['^.$', ['😀', 'é'], ['', 'ab']],
  ['(?i)abc', ['ABC', 'aBc'], ['abd']],
  ['(?i)é', ['É'], ['e']],
  ['a(?i)b', ['aB', 'ab'], ['AB']],
  ['a(?i:b)c', ['aBc'], ['aBC', 'ABc']],
  ['(?i)a(?-i)b', ['Ab'], ['AB']],
  ['(a(?i)b|c)', ['aB', 'C'], ['AB']],
  ['(?x) a b # a comment\n c', ['abc'], ['a b c']],
  ['(?x)a\\ b', ['a b'], ['ab']],
  ['a(?#comment)b', ['ab'], ['a(?#comment)b']],
  ['\\Qa.b*\\E+', ['a.b*', 'a.b**'], ['axb']],
  ['[a-c]+', ['b'], ['d']],
  ['[^a-c]', ['d'], ['a']],
  ['[]a]', [']', 'a'], ['b']],
  ['[^]a]', ['b'], [']']],
  ['[a-]', ['-', 'a'], ['b']],
  ['[\\w-]', ['-', 'x'], ['.']],
  ['[a\\]b]', [']'], ['\\']],
  ['[[:upper:]]', ['aB', 'Élan'], ['ab']],
  ['[[:^digit:]]', ['a'], ['1']],
  ['[[:punct:]]', ['!'], ['a']],
  ['[\\x41-\\x43]', ['B'], ['D']],
  ['[&&~~]', ['&', '~'], ['a']],
  ['\\x{1F600}', ['😀'], ['x']],
  ['\\o{101}\\102\\cA', ['AB\u0001'], ['AB']],
  ['\\d\\D\\w\\W\\s\\S', ['1aa  b'], ['11aa b']],
  ['\\h\\v', ['\t\n'], ['\n\t']],
  ['a\\Rb', ['a\r\nb', 'a\nb', 'a\u2028b'], ['a\n\nb']],
  ['a\\R\\nb', [], ['a\r\nb']],
  ['\\p{Lu}\\P{Lu}\\pL', ['Aab'], ['aab']],
  ['\\p{Greek}\\p{^Greek}', ['αa'], ['αβ']],
  ['\\p{L&}', ['a'], ['1']],
  ['\\bfoo\\b', ['a foo b', 'foo'], ['food', 'éfoo']],
  ['\\Boo', ['foo'], ['oo']],
  ['a|b|', ['x'], []],
  ['^(?:a|ab)(?:c|bcd)$', ['ac', 'abc', 'abcd', 'abbcd'], ['ab', 'abd']],
  ['^(a|ab)(c|bcd)(d*)$', ['abcd'], ['abce']],
  ['^a{2,3}$', ['aa', 'aaa'], ['a', 'aaaa']],
  ['^a{2}$', ['aa'], ['a', 'aaa']],
  ['^a{2,}$', ['aa', 'aaaa'], ['a']],
  ['a{,3}', ['a{,3}'], ['aaa']],
  ['a{x}', ['a{x}'], ['a']],
  ['^(ab){2,3}$', ['abab', 'ababab'], ['ab', 'abababab']],
  ['^(?:ab)??c$', ['c', 'abc'], ['ab']],
  ['^a*?b$', ['b', 'aab'], ['aa']],
  ['^a++b', ['aab'], ['b']],
  ['a++a', [], ['aaaa']],
  ['(?:ab)++ab', [], ['ababab']],
  ['(?>a+)a', [], ['aaa']],
  ['(?>a|ab)c', ['ac'], ['abc']],
  ['(?U)^a+$', ['aa'], ['ab']],
  ['(a*)*b', ['aab', 'b'], ['a']],
  ['(a|b*)*c', ['abbac'], ['abba']],
  ['(?:a?)*?b', ['aab'], ['aa']],
  ['(\\w)\\1', ['hello'], ['helo']],
  ['(?i)(a)\\1', ['aA'], ['ab']],
  ['(?<q>[\'"]).*?\\k<q>', ['"x"', "'x'"], ['"x\'']],
  ['(?P<n>a)(?P=n)', ['aa'], ['ab']],
  ["(?'n'a)\\k{n}\\g{n}\\k'n'", ['aaaa'], ['aaa']],
  ['(a)(b)\\g{-1}\\g1', ['abba'], ['abab']],
  ['(?|(a)|(b))\\1', ['aa', 'bb'], ['ab']],
  ['(a)?b\\1', ['aba'], ['b']],
  ['foo(?=bar)', ['foobar'], ['foobaz']],
  ['foo(?!bar)', ['foobaz'], ['foobar']],
  ['(?<=foo|quux)bar', ['foobar', 'quuxbar'], ['xbar']],
  ['(?<!foo|quux)bar', ['xbar', 'bar'], ['foobar', 'quuxbar']],
  ['(?<=é😀)x', ['é😀x'], ['e😀x']],
  ['(?=(a+))\\1b', ['aab'], ['b']],
  ['^(\\()?a(?(1)\\)|!)$', ['(a)', 'a!'], ['(a', 'a)', 'a']],
  ['^(?<p>\\()?a(?(<p>)\\))$', ['(a)', 'a'], ['(a']],
  ['^(?(?=a)ab|cd)$', ['ab', 'cd'], ['ad', 'cb']],
  ['^(\\((?:[^()]|(?1))*\\))$', ['((a)(b))', '()'], ['(()', '())']],
  ['^(?:a(?R)?b)$', [], ['aabb']],
  ['a(?R)?b', ['aabb', 'ab'], ['ba']],
  ['^(?<w>x|y)(?&w)(?P>w)\\g<w>$', ['xyxy'], ['xyx']],
  ['foo\\Kbar', ['foobar'], ['bar']],
  ['(*UTF8)(*UCP)é', ['é'], ['e']],
  ['\\.\\*\\/', ['.*/'], ['a']],
]

for (const [source, yes, no] of TABLE) {
  test(`/${source}/`, () => {
    const pattern = compilePattern(source)
    for (const text of yes) assert.equal(pattern.test(text), true, `should match ${text}`)
    for (const text of no) assert.equal(pattern.test(text), false, `should not match ${text}`)
  })
}

const REFUSED = [
  '(',
  ')',
  '[',
  '[b-a]',
  '*a',
  'a\\',
  '(?<n',
  '(?z)',
  'a{3,2}',
  'a{70000}',
  '\\1',
  '(?<=a+)b',
  '\\X',
  '\\C',
  '(*ACCEPT)',
  '(?C1)',
  '[[:bogus:]]',
  '\\p{Bogus}',
  '(?P=n)',
  '(?5)',
  '\\j',
  '(?:(?:a{999}){999}){999}',
  '\\x{110000}',
  '(?(R)a|b)',
  '('.repeat(10_000),
]

for (const source of REFUSED) {
  test(`/${source.slice(0, 40)}/ is refused`, () => {
    assert.throws(() => compilePattern(source), { name: 'PatternError' })
  })
}

const EXPLOSIVE: readonly (readonly [string, string])[] = [
  ['(a+)+$', `${'a'.repeat(50)}b`],
  ['(a|a)*$', `${'a'.repeat(50)}b`],
  ['(.*)*x$', 'a'.repeat(5000)],
  ['^(?:a?){25}a{25}b', 'a'.repeat(25)],
  ['(x+x+)+y', 'x'.repeat(60)],
  ['(?R)', 'a'],
  ['((?1))', 'a'],
  ['(?=(a+)+$)b', `${'a'.repeat(50)}b`],
]

for (const [source, text] of EXPLOSIVE) {
  test(`/${source}/ ends in a timeout instead of hanging`, () => {
    assert.throws(() => compilePattern(source).test(text), { code: 'timeout' })
  })
}

test('long texts are no problem for plain patterns, and cannot overflow the stack', () => {
  const long = 'a'.repeat(500_000)
  assert.equal(compilePattern('b').test(long), false)
  assert.equal(compilePattern('^a*$').test(long), true)
  assert.equal(compilePattern('^(?:a|b)*$').test('ab'.repeat(40_000)), true)
  assert.equal(compilePattern('.*foo.*').test(long), false)
  assert.equal(compilePattern('a*b').test(long), false)
  assert.equal(compilePattern('\\w+@\\w+').test(`${long}@b`), true)
  assert.equal(compilePattern('[xyz]').test(`${long}z`), true)
})

test('both engines agree around the length where they change', () => {
  for (const source of ['a+b', '^a*b$', 'a{3,}b', '(?i)A+B', 'a|b', '[ab]$']) {
    const pattern = compilePattern(source)
    for (const text of ['aaab', 'aaac', 'b', '']) {
      const short = pattern.test(text)
      const long = pattern.test(`${text}${'\n'.repeat(1001)}`)
      if (!source.includes('$')) assert.equal(short, long, `${source} on ${text}`)
    }
  }
})
