import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  FrameReader,
  type ReplyFrame,
  requestFrame,
} from '../../../../src/core/sandbox/frame-reader.ts'
import { GrammarError } from '../../../../src/core/sandbox/reply-text.ts'

function replyFrame(kind: number, header: string, body: string): Buffer {
  const head = Buffer.from(header)
  const frame = Buffer.alloc(9 + head.length)
  frame.writeUInt32LE(5 + head.length + Buffer.byteLength(body), 0)
  frame.writeUInt8(kind, 4)
  frame.writeUInt32LE(head.length, 5)
  frame.set(head, 9)
  return Buffer.concat([frame, Buffer.from(body)])
}

describe('FrameReader', () => {
  const stream = Buffer.concat([
    replyFrame(0, '', ''),
    replyFrame(2, '{"log":["a",1],"retire":true}', 'body é'),
    replyFrame(3, '', 'x'.repeat(1000)),
  ])
  const expected = [
    ['ready', 0, false, ''],
    ['done', 1, true, 'body é'],
    ['failed', 0, false, 'x'.repeat(1000)],
  ]

  it('finds the frames however the bytes arrive', () => {
    for (const size of [1, 2, 3, 5, 7, 64, 500, stream.length]) {
      const reader = new FrameReader(10_000)
      const frames: ReplyFrame[] = []
      for (let at = 0; at < stream.length; at += size) {
        frames.push(...reader.push(Buffer.from(stream.subarray(at, at + size))))
      }
      const seen = frames.map(({ kind, log, retire, body }) => [
        kind,
        log.length,
        retire,
        `${body}`,
      ])
      assert.deepEqual(seen, expected, `chunks of ${size}`)
    }
  })

  it('refuses frames that are too long, too short or of no known form', () => {
    const bad = [
      replyFrame(2, '', 'x'.repeat(101)),
      Buffer.from([4, 0, 0, 0, 2, 0, 0, 0]),
      replyFrame(9, '', ''),
      replyFrame(2, 'no json', ''),
      replyFrame(2, '1', ''),
      Buffer.from([5, 0, 0, 0, 2, 99, 0, 0, 0]),
    ]
    for (const bytes of bad) {
      assert.throws(() => new FrameReader(100).push(bytes), GrammarError, bytes.toString('hex'))
    }
  })
})

describe('requestFrame', () => {
  it('says its lengths', () => {
    const frame = requestFrame({ op: 'x' }, [Buffer.from('ab'), Buffer.from('c')], 100)
    const headerLength = frame.readUInt32LE(4)
    assert.equal(frame.readUInt32LE(0), frame.length - 4)
    assert.deepEqual(JSON.parse(frame.toString('utf8', 8, 8 + headerLength)), { op: 'x' })
    assert.equal(frame.toString('utf8', 8 + headerLength), 'abc')
    const long = Buffer.alloc(100)
    assert.throws(() => requestFrame({}, [long], 100), /limit/)
  })
})
