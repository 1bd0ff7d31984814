import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import { parseFunctionResponse } from '../../../../src/http/couch/function-response.ts'

const parse = (value: unknown) => parseFunctionResponse(Buffer.from(JSON.stringify(value)))

const refused = (value: unknown, term: string): void => {
  assert.throws(
    () => parse(value),
    thrown => {
      assert.ok(isFailure(thrown, 'function_failed'))
      assert.equal(thrown.detail.error, 'external_response_error')
      assert.equal(thrown.detail.reason, `Invalid data from external server: ${term}`)
      return true
    },
  )
}

test('body, json and base64 choose the type', () => {
  assert.deepEqual(parse({ body: 'é' }), {
    code: undefined,
    headers: [],
    contentType: 'text/html; charset=utf-8',
    body: Buffer.from('é'),
  })
  const json = parse({ json: { a: [1] }, code: 201, stop: true })
  assert.deepEqual(
    [json.body.toString(), json.contentType, json.code],
    ['{"a":[1]}', 'application/json', 201],
  )
  const binary = parse({ base64: 'AP8=' })
  assert.deepEqual([binary.body, binary.contentType], [Buffer.of(0, 255), 'application/binary'])
  assert.equal(parse({}).contentType, undefined)
})

test('headers are bytes on the wire', () => {
  assert.deepEqual(parse({ headers: { 'X-A': 'é', 'X-N': 5 } }).headers, [
    ['X-A', 'Ã©'],
    ['X-N', '5'],
  ])
})

test('what means nothing or would break the protocol is the error of the function', () => {
  refused({ foo: 1 }, '{<<"foo">>,1}')
  refused({ body: 5 }, '{<<"body">>,5}')
  refused({ headers: 'text' }, '{<<"headers">>,<<"text">>}')
  refused({ headers: { 'X-A': 'a\r\nSet-Cookie: b' } }, '{<<"X-A">>,<<"a\\r\\nSet-Cookie: b">>}')
  refused({ headers: { 'X A': 'a' } }, '{<<"X A">>,<<"a">>}')
  refused({ headers: { 'X-A': ['a'] } }, '{<<"X-A">>,[<<"a">>]}')
  for (const code of [0, 99, 100, 1000, -1]) refused({ code }, `{<<"code">>,${code}}`)
  refused({ code: '200' }, '{<<"code">>,<<"200">>}')
})
