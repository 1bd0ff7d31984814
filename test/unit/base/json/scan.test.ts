import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import { JsonFloat, parseJson, printJson } from '../../../../src/base/json/exact-json.ts'
import { DUPLICATE_KEY, JsonScanner } from '../../../../src/base/json/scan.ts'

/** The text the scanner keeps. */
function scan(text: string | Buffer): string {
  const scanner = new JsonScanner()
  scanner.open(typeof text === 'string' ? Buffer.from(text) : text, 0)
  scanner.peek()
  scanner.runStart = scanner.at
  scanner.value()
  scanner.cut(scanner.at)
  scanner.expectEnd()
  return scanner.text.take().toString()
}

const ACCEPTED: [string, string][] = [
  ['0', '0'],
  ['-0', '0'],
  [' [ -0 , 0 ] ', '[0,0]'],
  ['123456789012345678901234567890', '123456789012345678901234567890'],
  ['-9007199254740993', '-9007199254740993'],
  ['1.0', '1.0'],
  ['1.50', '1.5'],
  ['-0.0', '0.0'],
  ['0.00', '0.0'],
  ['-1.25', '-1.25'],
  ['1e3', '1000.0'],
  ['1E+2', '100.0'],
  ['1e21', '1e+21'],
  ['100000000000000000000.0', '100000000000000000000.0'],
  ['0.0000001', '1e-7'],
  ['0.000001', '0.000001'],
  ['1e-400', '0.0'],
  ['0.1234567890123456789', '0.12345678901234568'],
  ['true', 'true'],
  [' false\n', 'false'],
  ['\t\r\n null', 'null'],
  ['""', '""'],
  ['"\\u0041\\/\\n\\u000a\\u0001\\u001f"', '"A/\\n\\n\\u0001\\u001f"'],
  ['"\\u0001\\n\\""', '"\\u0001\\n\\""'],
  ['"\\ud83d\\ude00 \\u20ac \\u00e9"', '"😀 € é"'],
  ['"\\u0000"', '"\\u0000"'],
  ['"\u007f\u2028é😀"', '"\u007f\u2028é😀"'],
  ['[]', '[]'],
  ['[ ]', '[]'],
  ['{ }', '{}'],
  ['{"a" : [ 1 , {"b":null} , "x" ] , "c":{} }', '{"a":[1,{"b":null},"x"],"c":{}}'],
  ['{"a":{"a":1},"b":[{"a":1},{"a":1}]}', '{"a":{"a":1},"b":[{"a":1},{"a":1}]}'],
  ['{"":1," ":2}', '{"":1," ":2}'],
]

const REJECTED: (string | Buffer)[] = [
  '',
  ' ',
  '\ufeff{}',
  '{',
  '[',
  '[1',
  '[1,',
  '[1,]',
  '[,1]',
  '[1 2]',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{,}',
  '{"a":1 "b":2}',
  "{'a':1}",
  '{a:1}',
  '{1:1}',
  '}',
  ']',
  '[}',
  '{]',
  '[1}',
  '01',
  '-',
  '-01',
  '+1',
  '.5',
  '1.',
  '1.e2',
  '1e',
  '1e+',
  '0x1',
  '1e400',
  '-1e400',
  'NaN',
  'Infinity',
  'nul',
  'nulll',
  'True',
  '1 2',
  '{} {}',
  '"',
  '"a',
  '"\\',
  '"\\"',
  '"\\x"',
  '"\\u12"',
  '"\\u12g4"',
  '"\\ud800"',
  '"\\ud800x"',
  '"\\ud800\\n"',
  '"\\ud800\\u0041"',
  '"\\udc00"',
  '"\\ud83d\\ud83d"',
  '"\n"',
  '"\t"',
  '"\u0000"',
  '[1]\u0000',
  '// x\n1',
  '7'.repeat(1_000_001),
  Buffer.from([0x22, 0xff, 0x22]),
  Buffer.from([0x22, 0xc0, 0x80, 0x22]),
  Buffer.from([0x22, 0xc3, 0x22]),
  Buffer.from([0x22, 0xe0, 0x80, 0x80, 0x22]),
  Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
  Buffer.from([0x22, 0xf0, 0x80, 0x80, 0x80, 0x22]),
  Buffer.from([0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]),
  Buffer.from([0x22, 0xe2, 0x82]),
  Buffer.from([0xa0, 0x31]),
]

for (const [text, kept] of ACCEPTED) {
  test(`accepts ${JSON.stringify(text)}`, () => {
    assert.equal(scan(text), kept)
    assert.equal(printJson(parseJson(text)), kept)
  })
}

for (const text of REJECTED) {
  const shown = typeof text === 'string' ? JSON.stringify(text.slice(0, 40)) : text.toString('hex')
  test(`rejects ${shown}`, () => {
    assert.throws(
      () => scan(text),
      thrown => isFailure(thrown, 'json_invalid'),
    )
    assert.throws(
      () => parseJson(text),
      thrown => isFailure(thrown, 'json_invalid'),
    )
  })
}

test('a key twice ends the pass, however it is written', () => {
  for (const text of [
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '[{"x":{"é":1,"b":2,"\\u00e9":3}}]',
    `{"${'long '.repeat(50)}":1,"${'long '.repeat(50)}":1}`,
  ]) {
    assert.throws(() => scan(text), DUPLICATE_KEY)
  }
})

test('an object with many keys has no duplicates, until it has one', () => {
  const keys = Array.from({ length: 50_000 }, (_, index) => `"key ${index}":${index}`)
  const text = `{${keys.join(',')}}`
  assert.equal(scan(text), text)
  assert.throws(() => scan(`{${keys.join(',')},"key 777":1}`), DUPLICATE_KEY)
})

test('depth is bounded by the text only', () => {
  const deep = `${'['.repeat(100_000)}1${']'.repeat(100_000)}`
  assert.equal(scan(deep), deep)
  const objects = `${'{"a":'.repeat(50_000)}null${'}'.repeat(50_000)}`
  assert.equal(scan(objects), objects)
  assert.equal(printJson(parseJson(deep)), deep)
  assert.equal(printJson(parseJson(objects)), objects)
  assert.throws(
    () => scan('['.repeat(200_000)),
    thrown => isFailure(thrown, 'json_invalid'),
  )
})

test('a scanner goes on after it failed', () => {
  const scanner = new JsonScanner()
  scanner.open(Buffer.from('[[["'), 0)
  assert.throws(() => scanner.value())
  scanner.open(Buffer.from('{"a":1}'), 0)
  scanner.value()
  scanner.expectEnd()
})

test('exact values', () => {
  assert.deepEqual(parseJson('9007199254740991'), 9007199254740991)
  assert.deepEqual(parseJson('9007199254740992'), 9007199254740992n)
  assert.deepEqual(parseJson('1.0'), new JsonFloat(1))
  assert.deepEqual(parseJson('-0'), 0)
  const object = parseJson('{"2":1,"1":2,"2":3,"__proto__":4}')
  assert.ok(object instanceof Map)
  assert.deepEqual(
    [...object],
    [
      ['1', 2],
      ['2', 3],
      ['__proto__', 4],
    ],
  )
})

test('printing what was not parsed', () => {
  assert.equal(printJson(new Map([['a', [1.5, 1e300, 'x\u2028']]])), '{"a":[1.5,1e+300,"x\u2028"]}')
  assert.equal(printJson([]), '[]')
  assert.equal(printJson([[], new Map(), [new Map()]]), '[[],{},[{}]]')
})
