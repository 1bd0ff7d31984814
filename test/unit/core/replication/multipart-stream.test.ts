import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  boundaryOf,
  followingOf,
  MultipartReader,
  relatedBody,
} from '../../../../src/core/replication/multipart-stream.ts'

async function* inSteps(text: string, step: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length; at += step) yield bytes.subarray(at, at + step)
}

async function text(chunks: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return Buffer.concat(parts).toString('latin1')
}

const INNER =
  '--I\r\nContent-Type: application/json\r\n\r\n{}\r\n--I\r\nA: b\r\n\r\n1\r\n--\r\n2\r\n--I--'
const OUTER = `--B\r\nContent-Type: multipart/related; boundary="I"\r\n\r\n${INNER}\r\n--B\r\nContent-Type: application/json; error="true"\r\n\r\n{"missing":"1-x"}\r\n--B--`

describe('multipart answers', () => {
  it('are read part in part, wherever the chunks end', async () => {
    for (const step of [1, 2, 3, 7, 50, 1000]) {
      const outer = new MultipartReader(inSteps(OUTER, step), 'B')
      const first = await outer.next()
      assert.equal(boundaryOf(first?.headers.get('content-type')), 'I')
      const inner = new MultipartReader(first?.body as AsyncIterable<Buffer>, 'I')
      assert.equal(await text((await inner.next())?.body as AsyncIterable<Buffer>), '{}')
      assert.equal(await text((await inner.next())?.body as AsyncIterable<Buffer>), '1\r\n--\r\n2')
      assert.equal(await inner.next(), undefined)
      assert.equal(
        await text((await outer.next())?.body as AsyncIterable<Buffer>),
        '{"missing":"1-x"}',
      )
      assert.equal(await outer.next(), undefined)
    }
  })

  it('go on with the next part when the last was not read', async () => {
    const outer = new MultipartReader(inSteps(OUTER, 5), 'B')
    await outer.next()
    assert.match((await outer.next())?.headers.get('content-type') ?? '', /error/)
  })

  it('that are cut off fail, at every byte', async () => {
    for (let length = 0; length < OUTER.length - 2; length++) {
      const reader = new MultipartReader(inSteps(OUTER.slice(0, length), 9), 'B')
      const readAll = async (): Promise<void> => {
        for (let part = await reader.next(); part; part = await reader.next()) await text(part.body)
      }
      await assert.rejects(readAll(), { code: 'replication_failed' }, `${length}`)
    }
  })
})

describe('a document with the contents of its attachments', () => {
  const TEXT = Buffer.from(
    '{"_id":"a","_attachments":{"2":{"follows":true,"length":3},"s":{"stub":true,"length":9},"1":{"follows":true,"length":9,"encoding":"gzip","encoded_length":2}}}',
  )
  const revision = (...contents: string[]) => ({
    id: 'a',
    rev: '1-x',
    text: TEXT,
    parts: (async function* () {
      for (const content of contents) yield inSteps(content, 2)
    })(),
  })

  it('announces what follows in the order of its text, even where names look like numbers', () => {
    assert.deepEqual(followingOf(TEXT), [
      { name: '2', bytes: 3 },
      { name: '1', bytes: 2 },
    ])
  })

  it('is as long as it says', async () => {
    const body = relatedBody(revision('abc', 'gz'), followingOf(TEXT))
    const sent = await text(body.chunks)
    assert.equal(sent.length, body.length)
    const reader = new MultipartReader(inSteps(sent, 11), boundaryOf(body.contentType) as string)
    const parts: string[] = []
    for (let part = await reader.next(); part; part = await reader.next()) {
      parts.push(await text(part.body))
    }
    assert.deepEqual(parts, [TEXT.toString(), 'abc', 'gz'])
  })

  it('fails when contents are missing, short, long or too many', async () => {
    for (const contents of [['abc'], ['ab', 'gz'], ['abcd', 'gz'], ['abc', 'gz', 'x']]) {
      const body = relatedBody(revision(...contents), followingOf(TEXT))
      await assert.rejects(text(body.chunks), { code: 'replication_failed' })
    }
  })
})
