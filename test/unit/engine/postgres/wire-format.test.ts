/** The wire protocol: messages are found however the bytes are cut, and rows are read as they were sent. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  byteArrays,
  int8,
  MessageCutter,
  prepareMessage,
  readFields,
  readInt8,
  readNotification,
  readRow,
  runMessages,
} from '../../../../src/engine/postgres/wire-format.ts'

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type, 0, 'latin1')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

describe('messages', () => {
  it('are found however their bytes are cut', () => {
    const sent = [
      message('D', Buffer.from('first')),
      message('C', Buffer.alloc(0)),
      message('D', Buffer.alloc(70_000, 7)),
      message('Z', Buffer.from('I')),
    ]
    const bytes = Buffer.concat(sent)
    for (const step of [1, 2, 3, 5, 7, 4096, 65_536, bytes.length]) {
      const found: Buffer[] = []
      const cutter = new MessageCutter((type, body) =>
        found.push(message(String.fromCharCode(type), body)),
      )
      for (let at = 0; at < bytes.length; at += step) cutter.feed(bytes.subarray(at, at + step))
      assert.ok(Buffer.concat(found).equals(bytes) && found.length === sent.length, `step ${step}`)
    }
  })

  it('say their own length', () => {
    const prepared = prepareMessage('name', 'SELECT $1')
    assert.equal(prepared.readInt32BE(1), prepared.length - 1)
    const pieces = Buffer.concat(runMessages('name', [Buffer.from('abc'), Buffer.alloc(0)]))
    const bindLength = pieces.readInt32BE(1) + 1
    assert.equal(pieces[bindLength], 'E'.charCodeAt(0), 'execute follows where bind ends')
    assert.equal(pieces.length, bindLength + 10)
  })

  it('carry nulls, empty values and numbers', () => {
    const body = Buffer.concat([
      Buffer.from([0, 3]),
      Buffer.from([255, 255, 255, 255]),
      Buffer.from([0, 0, 0, 0]),
      Buffer.from([0, 0, 0, 8]),
      int8(-5n),
    ])
    const [nothing, empty, number] = readRow(body)
    assert.equal(nothing, undefined)
    assert.deepEqual(empty, Buffer.alloc(0))
    assert.equal(readInt8(number as Buffer), -5n)
  })

  it('hand out rows that do not share memory with what arrives next', () => {
    const body = Buffer.concat([Buffer.from([0, 1, 0, 0, 0, 2]), Buffer.from('ab')])
    const [field] = readRow(body)
    body.fill(0)
    assert.equal(String(field), 'ab')
  })

  it('tell errors and notifications', () => {
    const fields = readFields(Buffer.from('SERROR\0C40001\0Mcould not\0\0'))
    assert.equal(fields.get('C'), '40001')
    assert.equal(fields.get('M'), 'could not')
    const heard = readNotification(Buffer.from('\0\0\0\x07channel\0text\0'))
    assert.deepEqual(heard, { channel: 'channel', payload: 'text' })
  })

  it('carry arrays of bytes', () => {
    const bytes = byteArrays([Buffer.from('ab'), Buffer.alloc(0)])
    assert.deepEqual([bytes.readInt32BE(0), bytes.readInt32BE(12)], [1, 2])
    assert.equal(bytes.length, 20 + 4 + 2 + 4)
    assert.equal(byteArrays([]).readInt32BE(0), 0)
  })
})
