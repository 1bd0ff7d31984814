import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { boundaryOf, MultipartParser } from '../../../../src/http/kit/multipart-parser.ts'
import { attachmentRows, onlyDatabase } from '../../../support/attachment-rows.ts'
import { type Answer, startServer, type TestServer } from '../../../support/start-server.ts'

const LARGE = randomBytes(500_000)

interface Received {
  readonly headers: ReadonlyMap<string, string>
  readonly bytes: Buffer
}

async function partsOf(contentType: string, body: Buffer): Promise<Received[]> {
  const source = (async function* () {
    yield body
  })()
  const parser = new MultipartParser(source, boundaryOf(contentType))
  const parts: Received[] = []
  for (let part = await parser.next(); part !== undefined; part = await parser.next()) {
    const pieces: Buffer[] = []
    for await (const piece of part.body) pieces.push(piece)
    parts.push({ headers: part.headers, bytes: Buffer.concat(pieces) })
  }
  return parts
}

const answered = ({ headers, bytes }: Answer) => partsOf(String(headers['content-type']), bytes)

/** A document and what follows it. */
function related(document: object, contents: readonly (Buffer | string)[], end = '--'): Buffer {
  const pieces: (Buffer | string)[] = [
    '--XX\r\nContent-Type: application/json\r\n\r\n',
    JSON.stringify(document),
  ]
  for (const content of contents) pieces.push('\r\n--XX\r\n\r\n', content)
  pieces.push(`\r\n--XX${end}`)
  return Buffer.concat(pieces.map(piece => Buffer.from(piece)))
}

describe('multipart documents', () => {
  let server: TestServer

  before(async () => {
    server = await startServer()
  })
  after(() => server.close())
  beforeEach(async () => {
    await server.ask('DELETE', '/db')
    await server.ask('PUT', '/db')
  })

  const put = (path: string, body: Buffer) => {
    const headers = { 'Content-Type': 'multipart/related;boundary="XX"' }
    return server.ask('PUT', path, { body, headers })
  }
  const rows = async () => attachmentRows(await onlyDatabase(server.engine))
  const follows = (length: number, more: object = {}) => ({ follows: true, length, ...more })

  it('go in and come out', async () => {
    const text = 'some text '.repeat(100)
    const document = {
      v: 1,
      _attachments: {
        large: follows(LARGE.length),
        inline: { data: 'AQID' },
        text: follows(text.length, { content_type: 'text/plain' }),
      },
    }
    const written = await put('/db/d', related(document, [LARGE, text]))
    assert.equal(written.status, 201, written.text)
    const read = await server.ask('GET', '/db/d?attachments=true', {
      headers: { Accept: 'multipart/related' },
    })
    assert.equal(read.bytes.length, Number(read.headers['content-length']))
    const [json, large, inline, packed] = await answered(read)
    const { _attachments } = JSON.parse(String(json?.bytes)) as {
      _attachments: Record<string, Record<string, unknown>>
    }
    assert.deepEqual(Object.keys(_attachments), ['large', 'inline', 'text'])
    assert.equal(_attachments.large?.follows, true)
    assert.equal(_attachments.text?.encoding, 'gzip')
    assert.equal(_attachments.text?.length, text.length)
    assert.ok(large?.bytes.equals(LARGE))
    assert.equal(inline?.bytes.toString('hex'), '010203')
    assert.equal(packed?.headers.get('content-encoding'), 'gzip')
    const plain = await server.ask('GET', '/db/d?attachments=true')
    assert.equal(plain.bytes.length, Number(plain.headers['content-length']))
    const inJson = plain.json as { _attachments: Record<string, { data: string }> }
    assert.equal(inJson._attachments.large?.data, LARGE.toString('base64'))
    assert.equal(inJson._attachments.text?.data, Buffer.from(text).toString('base64'))
  })

  it('bring gzip with its plain length', async () => {
    const packed = gzipSync('hello'.repeat(100))
    const attachment = {
      follows: true,
      content_type: 'text/plain',
      encoding: 'gzip',
      length: 500,
      encoded_length: packed.length,
      revpos: 1,
      digest: `md5-${createHash('md5').update(packed).digest('base64')}`,
    }
    const document = { _rev: `2-${'a'.repeat(32)}`, _attachments: { t: attachment } }
    const written = await put('/db/d?new_edits=false', related(document, [packed]))
    assert.equal(written.status, 201, written.text)
    const { json } = await server.ask('GET', '/db/d?att_encoding_info=true')
    assert.deepEqual((json as { _attachments: { t: unknown } })._attachments.t, {
      content_type: 'text/plain',
      revpos: 1,
      digest: attachment.digest,
      length: 500,
      stub: true,
      encoding: 'gzip',
      encoded_length: packed.length,
    })
    assert.equal((await server.ask('GET', '/db/d/t')).text, 'hello'.repeat(100))
  })

  it('that lie about their plain length are not unpacked', async () => {
    const packed = gzipSync('hello'.repeat(100))
    for (const length of [499, 501, 0]) {
      const attachment = { follows: true, encoding: 'gzip', length, encoded_length: packed.length }
      const document = { _attachments: { t: attachment } }
      const written = await put(`/db/d${length}`, related(document, [packed]))
      assert.equal(written.status, 201, written.text)
      assert.equal((await server.ask('GET', `/db/d${length}/t`)).status, 406)
    }
  })

  it('that are wrong are refused and leave nothing behind', async () => {
    const cases: [string, Buffer][] = [
      ['shorter', related({ _attachments: { a: follows(LARGE.length + 1) } }, [LARGE])],
      ['longer', related({ _attachments: { a: follows(LARGE.length - 1) } }, [LARGE])],
      ['shorter', related({ _attachments: { a: follows(LARGE.length), b: follows(1) } }, [LARGE])],
      ['ended', related({ _attachments: { a: follows(LARGE.length) } }, [LARGE], '')],
    ]
    for (const [word, body] of cases) {
      const { status, text } = await put('/db/d', body)
      assert.equal(status, 400, text)
      assert.match(text, new RegExp(word))
    }
    const digest = { digest: `md5-${Buffer.alloc(16).toString('base64')}` }
    const wrong = related({ _attachments: { a: follows(LARGE.length, digest) } }, [LARGE])
    assert.match((await put('/db/d', wrong)).text, /content_md5_mismatch/)
    await server.ask('PUT', '/db/taken', { body: {} })
    const conflict = related({ _attachments: { a: follows(LARGE.length) } }, [LARGE])
    assert.equal((await put('/db/taken', conflict)).status, 409)
    assert.equal((await put('/db/new?rev=bad', conflict)).status, 400)
    const text = Buffer.from('--XX\r\nContent-Type: text/plain\r\n\r\n{}\r\n--XX--')
    assert.equal((await put('/db/d', text)).status, 415)
    assert.deepEqual(await rows(), { contents: 0, chunks: 0, uploads: 0 })
  })

  it('that are known already are accepted and leave nothing behind', async () => {
    const attachment = follows(LARGE.length, { revpos: 1 })
    const document = { _rev: `1-${'a'.repeat(32)}`, _attachments: { a: attachment } }
    const body = related(document, [LARGE])
    for (let round = 0; round < 2; round++) {
      assert.equal((await put('/db/d?new_edits=false', body)).status, 201)
    }
    assert.deepEqual(await rows(), { contents: 1, chunks: 8, uploads: 0 })
  })

  it('come in several revisions', async () => {
    const revision = (id: string, data: string) => ({
      _id: 'd',
      _rev: `1-${id.repeat(32)}`,
      _attachments: { f: { data, revpos: 1 } },
    })
    const docs = [revision('a', 'AQ=='), revision('b', 'Ag==')]
    await server.ask('POST', '/db/_bulk_docs', { body: { docs, new_edits: false } })
    const revs = encodeURIComponent(JSON.stringify([docs[0]?._rev, `9-${'c'.repeat(32)}`]))
    const mixed = await server.ask('GET', `/db/d?open_revs=${revs}`, {
      headers: { Accept: 'multipart/mixed' },
    })
    const [found, missing, ...none] = await answered(mixed)
    assert.equal(none.length, 0)
    assert.equal(missing?.headers.get('content-type'), 'application/json; error="true"')
    const [json, bytes] = await partsOf(
      found?.headers.get('content-type') ?? '',
      found?.bytes ?? Buffer.alloc(0),
    )
    assert.equal(JSON.parse(String(json?.bytes))._rev, docs[0]?._rev)
    assert.equal(bytes?.bytes.toString('hex'), '01')
    const all = await server.ask('GET', '/db/d?open_revs=all&attachments=true')
    const texts = (all.json as { ok: (typeof docs)[0] }[]).map(({ ok }) => ok._attachments.f.data)
    assert.deepEqual(texts, ['AQ==', 'Ag=='])
    const stubs = await server.ask('GET', '/db/d?open_revs=all')
    assert.ok(!stubs.text.includes('"data"'))
  })

  it('are what _bulk_get gives to those who take no JSON', async () => {
    await server.ask('PUT', '/db/plain', { body: { v: 1 } })
    await server.ask('PUT', '/db/d', { body: { _attachments: { f: { data: 'AQ==' } } } })
    const body = { docs: [{ id: 'plain' }, { id: 'd' }, { id: 'none' }] }
    const answer = await server.ask('POST', '/db/_bulk_get?attachments=true', {
      body,
      headers: { Accept: 'multipart/mixed' },
    })
    const [plain, attached, missing] = await answered(answer)
    assert.equal(JSON.parse(String(plain?.bytes)).v, 1)
    assert.equal(attached?.headers.get('x-doc-id'), 'd')
    assert.match(attached?.headers.get('x-rev-id') ?? '', /^1-[0-9a-f]{32}$/)
    assert.equal(missing?.headers.get('content-type'), 'application/json; error="true"')
  })

  it('tell only what came since a revision', async () => {
    const bodies = ['a', 'b', 'c']
    let rev = ''
    const revs: string[] = []
    for (const name of bodies) {
      const answer = await server.ask('PUT', `/db/d/${name}${rev}`, {
        body: name,
        headers: { 'Content-Type': 'image/png' },
      })
      revs.push((answer.json as { rev: string }).rev)
      rev = `?rev=${revs.at(-1)}`
    }
    const since = encodeURIComponent(JSON.stringify([revs[0], revs[1], `7-${'0'.repeat(32)}`]))
    const { json } = await server.ask('GET', `/db/d?atts_since=${since}`)
    const { _attachments, _revisions } = json as {
      _attachments: Record<string, { data?: string; stub?: boolean }>
      _revisions?: unknown
    }
    assert.equal(_revisions, undefined)
    assert.deepEqual(
      Object.entries(_attachments).map(([name, { data, stub }]) => [name, data ?? stub]),
      [
        ['c', 'Yw=='],
        ['b', true],
        ['a', true],
      ],
    )
  })

  it('write again what was deleted with the revision of CouchDB', async () => {
    const inline = {
      _attachments: { a: { content_type: 'application/octet-stream', data: 'QQ==' } },
    }
    const first = await server.ask('PUT', '/db/d', { body: inline })
    const { rev } = first.json as { rev: string }
    const deleted = await server.ask('DELETE', `/db/d?rev=${rev}`)
    assert.equal((deleted.json as { rev: string }).rev, '2-2f16cbdc048207da3147aa4e128cf048')
    const headers = { 'Content-Type': 'application/octet-stream' }
    const again = await server.ask('PUT', '/db/d/b', { body: 'again', headers })
    assert.equal((again.json as { rev: string }).rev, '3-499044b5b907d00bfb280d7ba91a62d0')
  })
})
