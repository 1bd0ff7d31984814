import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import { boundaryOf, MultipartParser } from '../../../../src/http/kit/multipart-parser.ts'

interface ReadPart {
  readonly headers: Record<string, string>
  readonly body: string
}

async function* chunksOf(text: string, sizes: (at: number) => number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length; ) {
    const size = sizes(at)
    yield bytes.subarray(at, at + size)
    at += size
  }
}

async function read(text: string, sizes: (at: number) => number = () => 7): Promise<ReadPart[]> {
  const parser = new MultipartParser(chunksOf(text, sizes), 'B', { headBytesMax: 200 })
  const parts: ReadPart[] = []
  for (let part = await parser.next(); part !== undefined; part = await parser.next()) {
    let body = ''
    for await (const chunk of part.body) body += chunk.toString('latin1')
    parts.push({ headers: Object.fromEntries(part.headers), body })
  }
  return parts
}

const two = '--B\r\nContent-Type: a/b\r\nX: 1\r\n\r\none\r\n--B\r\n\r\n\r\n--almost\r\n--B--'

describe('MultipartParser', () => {
  it('reads parts however the bytes are cut', async () => {
    const expected = [
      { headers: { 'content-type': 'a/b', x: '1' }, body: 'one' },
      { headers: {}, body: '\r\n--almost' },
    ]
    for (let size = 1; size <= two.length; size++) {
      assert.deepEqual(await read(two, () => size), expected, `chunks of ${size}`)
    }
  })

  it('skips a preamble, what follows the end, and blanks behind a boundary', async () => {
    const text = 'before\r\n--B  \r\n\r\nx\r\n--B--\r\nafter --B'
    assert.deepEqual(await read(text), [{ headers: {}, body: 'x' }])
  })

  it('skips what a reader leaves', async () => {
    const parser = new MultipartParser(
      chunksOf(two, () => 3),
      'B',
    )
    const first = await parser.next()
    for await (const chunk of first?.body ?? []) {
      assert.ok(chunk.length > 0)
      break
    }
    const second = await parser.next()
    assert.deepEqual([...(second?.headers ?? [])], [])
    await parser.finish()
    assert.equal(await parser.next(), undefined)
  })

  it('fails on bad part headers, missing ends and heads without bound', async () => {
    const table: [string, RegExp][] = [
      ['--B\r\nno colon\r\n\r\nx\r\n--B--', /bad part header/],
      [`--B\r\nX: ${'x'.repeat(300)}\r\n\r\nx\r\n--B--`, /bad part header/],
      [`--B\r\nX: ${'x'.repeat(3000)}`, /bad part header/],
      ['--B\r\n\r\nx\r\n--', /ended too early/],
      ['--B\r\n\r\nx', /ended too early/],
      ['nothing', /ended too early/],
      ['--Bx\r\n\r\n', /bad multipart boundary/],
    ]
    for (const [text, reason] of table) {
      await assert.rejects(read(text), thrown => {
        assert.ok(isFailure(thrown, 'request_invalid'), text)
        assert.match(String(thrown.detail.reason), reason)
        return true
      })
    }
  })

  it('gives back random bodies cut at random', async () => {
    const seed = Number(process.env.GURNEY_SEED ?? Date.now() % 1_000_000)
    const random = lehmer(seed)
    for (let round = 0; round < 300; round++) {
      const bodies = Array.from({ length: 1 + random(4) }, () => nasty(random))
      const text = `${bodies.map(body => `--B\r\nN: 1\r\n\r\n${body}\r\n`).join('')}--B--`
      const parts = await read(text, () => 1 + random(12))
      const found = parts.map(part => part.body)
      assert.deepEqual(found, bodies, `seed ${seed}, round ${round}`)
    }
  })
})

describe('boundaryOf', () => {
  it('reads quoted and plain boundaries', () => {
    assert.equal(boundaryOf('multipart/related; type="x"; boundary="a b"'), 'a b')
    assert.equal(boundaryOf('multipart/related;boundary=abc;x=y'), 'abc')
    assert.throws(() => boundaryOf('multipart/related'), Error)
  })
})

/** Bodies full of what looks like the beginning of a boundary. */
function nasty(random: (below: number) => number): string {
  const bits = ['\r', '\n', '-', '\r\n', '--', '\r\n-', '\r\n--', '\r\n--b', 'B', 'x', '\xff']
  let body = Array.from({ length: random(20) }, () => bits[random(bits.length)]).join('')
  while (body.includes('\r\n--B')) body = body.replace('\r\n--B', '')
  return body
}

function lehmer(seed: number): (below: number) => number {
  let state = (seed % 2_147_483_646) + 1
  return below => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}
