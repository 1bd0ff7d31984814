import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCollator } from '../../../../src/base/collate/collator.ts'
import { openIcuCollator } from '../../../../src/base/collate/icu.ts'

const collator = openCollator()

/** Every neighbour sorts strictly after the one before. */
function assertAscending(texts: readonly string[], collation: 'icu' | 'raw' = 'icu'): void {
  for (let i = 1; i < texts.length; i++) {
    const [low, high] = [texts[i - 1] as string, texts[i] as string]
    assert.ok(collator.compare(low, high, collation) < 0, `${low} before ${high}`)
  }
}

test('strings sort as CouchDB lists them', () => {
  const order = [
    '',
    ' ',
    '_',
    '-',
    ',',
    ';',
    '%',
    '`',
    '^',
    '~',
    '😀',
    '$',
    '1',
    '10',
    '2',
    'a',
    'A',
    'aa',
    'b',
    'B',
    'é',
  ]
  assertAscending([...order, 'f', 'z', 'ž', 'Ω', '文', '\uffff'].map(text => JSON.stringify(text)))
})

test('the mixed list of the corpus is in order', () => {
  assertAscending([
    'null',
    'false',
    'true',
    '-10',
    '-1.5',
    '0',
    '1',
    '1.5',
    '10',
    '10000000000',
    '""',
    '" "',
    '"_"',
    '"-"',
    '"😀"',
    '"0"',
    '"10"',
    '"9"',
    '"a"',
    '"A"',
    '"á"',
    '"aa"',
    '"b"',
    '"B"',
    '"ba"',
    '"bb"',
    '"z"',
    '"ž"',
    '"Ω"',
    '"文"',
    '[]',
    '[null]',
    '[1]',
    '[1,"a"]',
    '[1,"b"]',
    '[2]',
    '["a"]',
    '["a","b"]',
    '["b"]',
    '[[]]',
    '[{}]',
    '{}',
    '{"a":1}',
    '{"a":1,"b":1}',
    '{"a":2}',
    '{"a":{"b":1}}',
    '{"b":1}',
    '{"b":1,"a":1}',
  ])
})

test('words sort as CouchDB sorted them', () => {
  const words =
    'angstrom ångström apple Apple äpple Äpple cote coté côte côté ecole école foobar naive naïve resume Resume RESUME'
  assertAscending(
    [...words.split(' '), 'résumé', 'strasse', 'Strasse', 'straße', 'uber', 'über', 'Über'].map(
      word => JSON.stringify(word),
    ),
  )
  assertAscending(['"foo bar"', '"Foo Bar"', '"foo_bar"', '"foo-bar"', '"foobar"'])
})

test('numbers sort by value, integers of any length among doubles', () => {
  const big = `1${'0'.repeat(400)}`
  assertAscending([
    `-${big}1`,
    `-${big}`,
    '-1.7976931348623157e308',
    '-9007199254740993',
    '-9007199254740992',
    '-1e3',
    '-1',
    '-0.5',
    '-5e-324',
    '0',
    '5e-324',
    '0.1',
    '1',
    '1.5',
    '2',
    '9007199254740992',
    '9007199254740993',
    '9007199254740994',
    '12345678901234567889',
    '12345678901234567890',
    '12345678901234567891',
    '1e21',
    '1000000000000000000001',
    '1.7976931348623157e308',
    big,
    `${big}1`,
  ])
  assert.equal(collator.compare('1', '1.0'), 0)
  assert.equal(collator.compare('100', '1e2'), 0)
  assert.equal(collator.compare('-0', '0'), 0)
  assert.equal(collator.compare('-0.0', '0'), 0)
  assert.equal(collator.compare('1e21', '1000000000000000000000'), 0)
})

test('no key is the beginning of another, so what follows decides only between equals', () => {
  const texts = [
    'null',
    '0',
    '1',
    '-1',
    '12345678901234567890',
    '""',
    '"a"',
    '"ab"',
    '[]',
    '["a"]',
    '["a","b"]',
    '{}',
    '{"a":1}',
  ]
  for (const collation of ['icu', 'raw'] as const) {
    const keys = texts.map(text => collator.sortKey(text, collation))
    for (const one of keys) {
      for (const two of keys) {
        if (!one.equals(two)) assert.ok(!two.subarray(0, one.length).equals(one))
      }
    }
  }
})

test('white space and escapes do not count', () => {
  assert.deepEqual(collator.sortKey(' [ "a" ,\n{ "b" : 1 } ] '), collator.sortKey('["a",{"b":1}]'))
  assert.deepEqual(collator.sortKey('"\\u0061\\/"'), collator.sortKey('"a/"'))
  assert.deepEqual(collator.sortKey('"\\ud83d\\ude00"'), collator.sortKey('"😀"'))
  assert.deepEqual(collator.sortKey('"a\\"b"'), collator.sortKeyOfValue('a"b'))
  assert.deepEqual(collator.sortKey('{"x\\u0041":"\\\\"}'), collator.sortKey('{"xA":"\\\\"}'))
})

test('raw collation is the order of Erlang terms', () => {
  assertAscending(
    [
      '-1',
      '0',
      '1',
      'false',
      'null',
      'true',
      '{}',
      '{"a":1}',
      '{"a":1,"b":1}',
      '{"b":0}',
      '[]',
      '[1]',
      '[1,2]',
      '["a"]',
      '""',
      '"A"',
      '"B"',
      '"a"',
      '"a\\u0000"',
      '"ab"',
      '"b"',
      '"é"',
    ],
    'raw',
  )
})

test('an open array key ends the range of all arrays with that beginning', () => {
  const end = collator.openArrayKey([collator.sortKey('"a"')])
  for (const inside of ['["a"]', '["a",{}]', '["a",{"z":1}]', '["a","\uffff"]']) {
    assert.ok(Buffer.compare(collator.sortKey(inside), end) < 0, inside)
  }
  assert.ok(Buffer.compare(collator.sortKey('["b"]'), end) > 0)
})

test('keys nest as deep as they like', () => {
  const depth = 50_000
  assert.equal(collator.sortKey('['.repeat(depth) + ']'.repeat(depth)).length, 2 * depth)
})

test('long strings outgrow every scratch buffer', () => {
  const long = 'é'.repeat(50_000)
  assert.ok(collator.compare(JSON.stringify(long), JSON.stringify(`${long}a`)) < 0)
  const ascii = 'Ab'.repeat(50_000)
  assert.ok(collator.compare(JSON.stringify(ascii), JSON.stringify(`${ascii}a`)) < 0)
})

test('normalisation is off, as in CouchDB: marks out of canonical order are not reordered', () => {
  // U+0323 (below, class 220) before U+0307 (above, class 230) is the canonical order.
  assert.notEqual(collator.compare('"q\u0307\u0323"', '"q\u0323\u0307"'), 0)
})

test('the version names the ICU in use', () => {
  assert.ok(openIcuCollator().version.startsWith(`${process.versions.icu}/`))
  assert.ok(collator.version.includes(`${process.versions.icu}/`))
})
