import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import { attachmentRows, onlyDatabase } from '../../../support/attachment-rows.ts'
import { startServer, type TestServer } from '../../../support/start-server.ts'

const BINARY = { 'Content-Type': 'application/octet-stream' }
const TEXT = { 'Content-Type': 'text/plain' }
const LARGE = randomBytes(700_000)

const md5 = (bytes: Buffer | string): string => createHash('md5').update(bytes).digest('base64')

interface Written {
  readonly rev: string
}

for (const dialect of ['spec', 'couchdb'] as const) {
  describe(`attachments, ${dialect} dialect`, () => {
    let server: TestServer

    before(async () => {
      server = await startServer({
        dialect,
        settings: { couchdb: { max_attachment_size: '1000000' } },
      })
    })
    after(() => server.close())
    beforeEach(async () => {
      await server.ask('DELETE', '/db')
      await server.ask('PUT', '/db')
    })

    const rows = async () => attachmentRows(await onlyDatabase(server.engine))
    const put = async (path: string, body: Buffer | string, headers: object = BINARY) => {
      const answer = await server.ask('PUT', `/db/${path}`, { body, headers: { ...headers } })
      assert.equal(answer.status, 201, answer.text)
      return (answer.json as Written).rev
    }

    it('have the revisions and digests of CouchDB', async () => {
      const two = {
        v: 1,
        _attachments: {
          'one.bin': {
            content_type: 'application/octet-stream',
            data: Buffer.from('hello world').toString('base64'),
          },
          'two.bin': { content_type: 'image/png', data: 'AQID' },
        },
      }
      const first = await server.ask('PUT', '/db/two', { body: two })
      assert.equal((first.json as Written).rev, '1-0a4a5af79c1cd674d4a43d41029ecf51')
      assert.equal(await put('text/f.txt', 'x', TEXT), '1-b0e806a8195cbb64d4e65bb12309ed9a')
      const { json } = await server.ask('GET', '/db/text?att_encoding_info=true')
      assert.deepEqual((json as { _attachments: unknown })._attachments, {
        'f.txt': {
          content_type: 'text/plain',
          revpos: 1,
          digest: 'md5-BQ12Y6Pl9vOURwmqG1HaIA==',
          length: 1,
          stub: true,
          encoding: 'gzip',
          encoded_length: 21,
        },
      })
    })

    it('come back byte for byte, large and small', async () => {
      for (const bytes of [Buffer.alloc(0), Buffer.from('small'), LARGE]) {
        await put(`d${bytes.length}/dir/a.bin`, bytes)
        const answer = await server.ask('GET', `/db/d${bytes.length}/dir/a.bin`)
        assert.equal(answer.status, 200)
        assert.ok(answer.bytes.equals(bytes))
        assert.equal(answer.headers.etag, `"${md5(bytes)}"`)
        assert.equal(answer.headers['content-length'], String(bytes.length))
        assert.equal(answer.headers['content-security-policy'], 'sandbox')
      }
    })

    it('are decoded for those who do not take gzip', async () => {
      const text = 'all work and no play '.repeat(20_000)
      await put('d/a.txt', text, TEXT)
      const plain = await server.ask('GET', '/db/d/a.txt')
      assert.equal(plain.text, text)
      assert.equal(plain.headers['content-encoding'], undefined)
      const packed = await server.ask('GET', '/db/d/a.txt', {
        headers: { 'Accept-Encoding': 'deflate, gzip;q=0.5' },
      })
      assert.equal(packed.headers['content-encoding'], 'gzip')
      assert.equal(gunzipSync(packed.bytes).toString(), text)
      assert.ok(packed.bytes.length < text.length / 10)
      const refused = await server.ask('GET', '/db/d/a.txt', {
        headers: { 'Accept-Encoding': 'gzip;q=0' },
      })
      assert.equal(refused.text, text)
    })

    it('are decoded at once and piece by piece alike, and have a head without being read', async () => {
      for (const length of [0, 1, 65_535, 65_536, 65_537, 300_000]) {
        const text = 'some words and '.repeat(20_000).slice(0, length)
        await put(`t${length}/a.txt`, text, TEXT)
        const plain = await server.ask('GET', `/db/t${length}/a.txt`)
        assert.ok(plain.bytes.equals(Buffer.from(text)), `${length} bytes`)
        assert.equal(plain.headers['content-encoding'], undefined)
        const headers = { 'Accept-Encoding': 'gzip' }
        const packed = await server.ask('GET', `/db/t${length}/a.txt`, { headers })
        assert.ok(gunzipSync(packed.bytes).equals(Buffer.from(text)))
        for (const [sent, got] of [[{}, plain] as const, [headers, packed] as const]) {
          const head = await server.ask('HEAD', `/db/t${length}/a.txt`, { headers: sent })
          assert.equal(head.headers['content-length'], String(got.bytes.length))
          assert.equal(got.headers['content-length'], String(got.bytes.length))
        }
      }
    })

    it('keep gzip that was sent as it is', async () => {
      const packed = gzipSync('hello')
      await put('d/a.txt', packed, { ...TEXT, 'Content-Encoding': 'gzip' })
      const raw = await server.ask('GET', '/db/d/a.txt', { headers: { 'Accept-Encoding': 'gzip' } })
      assert.ok(raw.bytes.equals(packed))
      assert.equal((await server.ask('GET', '/db/d/a.txt')).text, 'hello')
      const inline = await server.ask('GET', '/db/d?attachments=true')
      const { _attachments } = inline.json as { _attachments: Record<string, { data: string }> }
      assert.equal(_attachments['a.txt']?.data, Buffer.from('hello').toString('base64'))
      const other = { ...TEXT, 'Content-Encoding': 'br' }
      const refused = await server.ask('PUT', '/db/e/a.txt', { body: 'x', headers: other })
      assert.equal(refused.status, 415)
    })

    it('that claim to be gzip and are not are told so', async () => {
      await put('d/a.txt', 'no gzip', { ...TEXT, 'Content-Encoding': 'gzip' })
      assert.equal((await server.ask('GET', '/db/d/a.txt')).status, 406)
    })

    it('are served in ranges', async () => {
      await put('d/a.bin', LARGE)
      const range = (value: string, path = '/db/d/a.bin') =>
        server.ask('GET', path, { headers: { Range: `bytes=${value}` } })
      const middle = await range('65500-131100')
      assert.equal(middle.status, 206)
      assert.equal(middle.headers['content-range'], 'bytes 65500-131100/700000')
      assert.ok(middle.bytes.equals(LARGE.subarray(65_500, 131_101)))
      assert.ok((await range('-10')).bytes.equals(LARGE.subarray(-10)))
      assert.equal((await range('0-')).status, 200)
      assert.equal((await range('700000-')).status, 416)
      const several = await range('0-1,10-12')
      assert.match(String(several.headers['content-type']), /^multipart\/byteranges; boundary="/)
      assert.equal(several.bytes.length, Number(several.headers['content-length']))
      assert.ok(several.bytes.includes('Content-Range: bytes 10-12/700000'))
    })

    it('that are stored packed have ranges where the dialect says so', async () => {
      await put('d/a.txt', '0123456789'.repeat(20_000), TEXT)
      const packed = gzipSync('abcdefgh')
      await put('e/a.txt', packed, { ...TEXT, 'Content-Encoding': 'gzip' })
      for (const [path, wanted] of [
        ['/db/d/a.txt', '2345'],
        ['/db/e/a.txt', 'cdef'],
      ] as const) {
        const answer = await server.ask('GET', path, { headers: { Range: 'bytes=2-5' } })
        assert.equal(answer.status, dialect === 'spec' ? 206 : 200)
        if (dialect === 'spec') assert.equal(answer.text, wanted)
      }
    })

    it('answer conditional requests', async () => {
      await put('d/a.bin', 'hello')
      const etag = `"${md5('hello')}"`
      const ask = (headers: Record<string, string>) =>
        server.ask('GET', '/db/d/a.bin', { headers }).then(({ status }) => status)
      assert.equal(await ask({ 'If-None-Match': etag }), 304)
      assert.equal(await ask({ 'If-None-Match': '"other"' }), 200)
      assert.equal(await ask({ 'If-Match': etag }), 200)
      const isSpec = dialect === 'spec'
      assert.equal(await ask({ 'If-Match': '"other"' }), isSpec ? 412 : 200)
      assert.equal(await ask({ 'If-Match': `"1-${'0'.repeat(32)}"` }), isSpec ? 404 : 200)
    })

    it('check Content-MD5 and Content-Type where the dialect says so', async () => {
      const isSpec = dialect === 'spec'
      const ask = (id: string, headers: Record<string, string>) =>
        server.ask('PUT', `/db/${id}/a`, { body: 'hello', headers }).then(({ status }) => status)
      assert.equal(await ask('a', { ...BINARY, 'Content-MD5': md5('hello') }), 201)
      assert.equal(await ask('b', { ...BINARY, 'Content-MD5': md5('other') }), isSpec ? 400 : 201)
      assert.equal(await ask('c', {}), isSpec ? 400 : 201)
    })

    it('that are too large are refused', async () => {
      const body = Buffer.alloc(1_000_001)
      const put = await server.ask('PUT', '/db/d/a.bin', { body, headers: BINARY })
      assert.deepEqual(
        [put.status, put.json],
        [413, { error: 'attachment_too_large', reason: 'a.bin' }],
      )
      const data = body.toString('base64')
      const inline = await server.ask('PUT', '/db/d', {
        body: { _attachments: { 'b.bin': { data } } },
      })
      assert.deepEqual(inline.json, { error: 'attachment_too_large', reason: 'b.bin' })
      assert.deepEqual(await rows(), { contents: 0, chunks: 0, uploads: 0 })
    })

    it('of local documents are refused', async () => {
      const { status, json } = await server.ask('PUT', '/db/_local/x/a', {
        body: 'x',
        headers: BINARY,
      })
      const reason = '_local documents do not accept attachments.'
      assert.deepEqual([status, json], [400, { error: 'bad_request', reason }])
    })

    it('belong to design documents too', async () => {
      await put('_design/d/lib/a.bin', 'hello')
      assert.equal((await server.ask('GET', '/db/_design/d/lib/a.bin')).text, 'hello')
      const name = await server.ask('PUT', '/db/_design/d/_x', { body: 'x', headers: BINARY })
      assert.equal(name.status, 400)
    })

    it('need the revision of their document', async () => {
      const rev = await put('d/a.bin', 'one')
      const ask = (path: string) => server.ask('PUT', path, { body: LARGE, headers: BINARY })
      assert.equal((await ask('/db/d/a.bin')).status, 409)
      const unknown = await ask(`/db/d/a.bin?rev=1-${'a'.repeat(32)}`)
      assert.deepEqual(unknown.json, { error: 'not_found', reason: 'missing_rev' })
      await put(`d/a.bin?rev=${rev}`, 'two')
      assert.equal((await ask(`/db/d/a.bin?rev=${rev}`)).status, 409)
      assert.equal((await rows()).uploads, 0)
      assert.equal((await rows()).chunks, 2)
    })

    it('are deleted one by one', async () => {
      const first = await put('d/a', 'A')
      const second = await put(`d/b?rev=${first}`, 'B')
      assert.equal((await server.ask('DELETE', '/db/d/a')).status, 409)
      assert.equal((await server.ask('DELETE', `/db/d/c?rev=${second}`)).status, 404)
      const deleted = await server.ask('DELETE', `/db/d/a?rev=${second}`)
      assert.equal(deleted.status, 200)
      assert.equal(deleted.headers.etag !== undefined, dialect === 'spec')
      const { json } = await server.ask('GET', '/db/d')
      assert.deepEqual(Object.keys((json as { _attachments: object })._attachments), ['b'])
    })

    it('of equal content are stored once, and removed with the last reference', async () => {
      const first = await put('a/x', LARGE)
      const second = await put('b/y', LARGE)
      const inline = { _attachments: { z: { data: LARGE.toString('base64') } } }
      const third = ((await server.ask('PUT', '/db/c', { body: inline })).json as Written).rev
      await server.ask('COPY', '/db/a', { headers: { Destination: 'd' } })
      assert.deepEqual(await rows(), { contents: 1, chunks: 11, uploads: 0 })
      const fourth = await server.ask('GET', '/db/d')
      const purge = (body: object) => server.ask('POST', '/db/_purge', { body })
      await purge({ a: [first], b: [second], c: [third] })
      assert.equal((await rows()).chunks, 11)
      assert.ok((await server.ask('GET', '/db/d/x')).bytes.equals(LARGE))
      await purge({ d: [(fourth.json as { _rev: string })._rev] })
      assert.deepEqual(await rows(), { contents: 0, chunks: 0, uploads: 0 })
    })

    it('leave nothing behind when the client goes away', { timeout: 20_000 }, async () => {
      server.configuration.apply({
        section: 'couchdb',
        key: 'max_attachment_size',
        value: 'infinity',
      })
      const gone = new AbortController()
      const answer = server.ask('PUT', '/db/d/a.bin', {
        // enough for a first write to the store, and then nothing more comes
        body: Buffer.concat([LARGE, LARGE, LARGE, LARGE]),
        headers: { ...BINARY, 'Content-Length': '900000000' },
        signal: gone.signal,
      })
      while ((await rows()).uploads === 0) await delay(5)
      gone.abort()
      await assert.rejects(answer)
      while ((await rows()).uploads > 0) await delay(5)
      assert.deepEqual(await rows(), { contents: 0, chunks: 0, uploads: 0 })
      assert.equal((await server.ask('GET', '/db/d')).status, 404)
    })
  })
}
