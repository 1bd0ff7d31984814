import assert from 'node:assert/strict'
import { it } from 'node:test'
import { joinBatch, joinRows, type RowBatch } from '../../../../src/http/kit/json-stream.ts'
import { type BodyPiece, FLUSH } from '../../../../src/http/kit/reply.ts'
import { pieces } from './tiny-api.ts'

const frame = { prefix: '[', separator: ',', suffix: ']' }

async function joined(...batches: readonly RowBatch[]): Promise<(string | typeof FLUSH)[]> {
  const found: (string | typeof FLUSH)[] = []
  const body: AsyncIterable<BodyPiece> = joinRows(frame, pieces(...batches))
  for await (const piece of body) found.push(piece === FLUSH ? piece : piece.toString())
  return found
}

it('puts separators between rows, within and across batches', async () => {
  assert.deepEqual(await joined(), ['[]'])
  assert.deepEqual(await joined([]), ['[]'])
  assert.deepEqual(await joined(['1']), ['[1', ']'])
  assert.deepEqual(await joined(['1', '2'], [], ['3']), ['[1,2', ',3', ']'])
  assert.deepEqual(await joined([Buffer.from('é'), '2'], ['ü', Buffer.from('4')]), [
    '[é,2',
    ',ü,4',
    ']',
  ])
})

it('passes FLUSH on, with the prefix in front', async () => {
  assert.deepEqual(await joined(FLUSH, ['1'], FLUSH, ['2']), ['[', FLUSH, '1', FLUSH, ',2', ']'])
})

it('makes prefix and suffix when they are known', async () => {
  let total = 0
  async function* source(): AsyncGenerator<RowBatch> {
    total = 2
    yield ['1', '2']
    total = 3
  }
  const found: string[] = []
  const late = { prefix: () => `${total}:`, separator: ';', suffix: () => `:${total}` }
  for await (const piece of joinRows(late, source())) found.push(String(piece))
  assert.equal(found.join(''), '2:1;2:3')
})

it('copies bytes once, whatever they are', () => {
  const bytes = Buffer.from([0xff, 0x00])
  const chunk = joinBatch('é', '\r\n', [bytes, 'ü', bytes])
  const expected = Buffer.concat([Buffer.from('é'), bytes, Buffer.from('\r\nü\r\n'), bytes])
  assert.deepEqual(chunk, expected)
})
