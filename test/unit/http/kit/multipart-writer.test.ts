import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  multipartLength,
  multipartRelated,
  newBoundary,
  writeMultipart,
} from '../../../../src/http/kit/multipart-writer.ts'
import { pieces } from './tiny-api.ts'

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of body) text += chunk.toString()
  return text
}

it('writes multipart/related byte for byte, with its length', async () => {
  const related = multipartRelated(
    Buffer.from('{"é":1}'),
    [
      { name: 'ö.txt', contentType: 'text/plain', lengthBytes: 3, body: Buffer.from('abc') },
      {
        name: 'z"\r\nX: y',
        contentType: 'text/html',
        lengthBytes: 4,
        encoding: 'gzip',
        body: pieces(Buffer.from('de'), Buffer.from('fg')),
      },
    ],
    'B',
  )
  assert.equal(related.contentType, 'multipart/related; boundary="B"')
  const text = await textOf(related.body)
  assert.equal(
    text,
    '--B\r\nContent-Type: application/json\r\n\r\n{"é":1}\r\n--B' +
      '\r\nContent-Disposition: attachment; filename="ö.txt"\r\nContent-Type: text/plain' +
      '\r\nContent-Length: 3\r\n\r\nabc\r\n--B' +
      '\r\nContent-Disposition: attachment; filename="z%22%0D%0AX: y"\r\nContent-Type: text/html' +
      '\r\nContent-Length: 4\r\nContent-Encoding: gzip\r\n\r\ndefg\r\n--B--',
  )
  assert.equal(related.lengthBytes, Buffer.byteLength(text))
})

it('writes multipart/mixed from a stream of parts', async () => {
  const parts = pieces(
    { headers: ['Content-Type', 'application/json'], body: Buffer.from('{}') },
    {
      headers: ['Content-Type', 'application/json; error="true"'],
      body: Buffer.from('{"missing":"1-a"}'),
    },
  )
  assert.equal(
    await textOf(writeMultipart('B', parts)),
    '--B\r\nContent-Type: application/json\r\n\r\n{}\r\n--B' +
      '\r\nContent-Type: application/json; error="true"\r\n\r\n{"missing":"1-a"}\r\n--B--',
  )
  assert.equal(await textOf(writeMultipart('B', [])), '--B--')
  assert.equal(multipartLength('B', []), 5)
})

it('makes boundaries of 32 hex digits', () => {
  assert.match(newBoundary(), /^[0-9a-f]{32}$/)
})
