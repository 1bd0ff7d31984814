import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { inject } from '../../../../src/http/kit/inject.ts'
import { jsonReply, streamReply } from '../../../../src/http/kit/reply.ts'
import type { HttpRequest } from '../../../../src/http/kit/request.ts'
import { ClientGone } from '../../../../src/http/kit/request-body.ts'
import { type Handler, pieces, tinyServer, until } from './tiny-api.ts'

const echo: Handler = async request => jsonReply(200, await request.bytes({ limitBytes: 1000 }))

describe('HttpRequest', () => {
  it('overrides the method of a POST only, and only with known names in upper case', async () => {
    const tell: Handler = request => jsonReply(200, JSON.stringify(request.method))
    const methods = { GET: tell, POST: tell, PUT: tell, DELETE: tell }
    const { server } = tinyServer({ routes: { '/x': methods } })
    const table = [
      ['POST', 'PUT', 'PUT'],
      ['POST', 'put', 'POST'],
      ['POST', 'PATCH', 'POST'],
      ['GET', 'PUT', 'GET'],
    ] as const
    for (const [method, override, expected] of table) {
      const headers = { 'X-HTTP-Method-Override': override }
      const answer = await inject(server, { method, url: '/x', headers })
      assert.equal(answer.text, `"${expected}"\n`)
    }
  })

  it('echoes harmless request ids and makes its own otherwise', async () => {
    const { server } = tinyServer({
      routes: { '/x': () => jsonReply(200, '1') },
      request: { requestIdHeaders: ['x-ours', 'x-theirs'] },
    })
    const idFor = async (headers: Record<string, string>) =>
      (await inject(server, { url: '/x', headers })).headers['x-svc-request-id']
    assert.equal(await idFor({ 'X-Theirs': 'abc_-9' }), 'abc_-9')
    assert.equal(await idFor({ 'X-Ours': 'first', 'X-Theirs': 'second' }), 'first')
    const own = [await idFor({ 'X-Ours': 'a b' }), await idFor({ 'X-Ours': 'x'.repeat(37) })]
    for (const id of own) assert.match(String(id), /^[0-9a-f]{10}$/)
    assert.notEqual(own[0], own[1])
  })

  it('reads whole bodies, of known length, chunked, absent and empty', async () => {
    const { server } = tinyServer({ routes: { '/x': { PUT: echo } } })
    const put = { method: 'PUT', url: '/x' }
    assert.equal((await inject(server, { ...put, body: '{"a":1}' })).text, '{"a":1}\n')
    assert.equal((await inject(server, { ...put, body: '' })).text, '\n')
    assert.equal((await inject(server, { ...put, headers: { 'Content-Length': '0' } })).text, '\n')
    const headers = { 'Transfer-Encoding': 'chunked' }
    const answer = await inject(server, { ...put, headers, body: '{"b":2}' })
    assert.equal(answer.text, '{"b":2}\n')
  })

  it('unpacks gzip within the limit', async () => {
    const { server } = tinyServer({ routes: { '/x': { PUT: echo } } })
    const put = (encoding: string, body: Buffer) =>
      inject(server, { method: 'PUT', url: '/x', headers: { 'Content-Encoding': encoding }, body })
    assert.equal((await put('gzip', gzipSync('{"a":1}'))).text, '{"a":1}\n')
    const bomb = await put('gzip', gzipSync(Buffer.alloc(100_000)))
    assert.equal(bomb.status, 413)
    for (const bad of [
      Buffer.from('no gzip'),
      gzipSync('{"a":1}').subarray(0, 15),
      Buffer.alloc(0),
    ]) {
      const answer = await put('gzip', bad)
      assert.equal(answer.status, 400)
      assert.match(answer.text, /Request body is not properly gzipped\./)
    }
    const other = await put('br', Buffer.from('x'))
    assert.equal(other.status, 415)
    assert.match(other.text, /"br is not a supported content encoding\."/)
  })

  it('refuses bodies over the limit, told or found out', async () => {
    const { server } = tinyServer({ routes: { '/x': { PUT: echo } } })
    const put = { method: 'PUT', url: '/x', body: 'x'.repeat(1001) }
    const told = await inject(server, { ...put, headers: { Connection: 'keep-alive' } })
    assert.equal(told.status, 413)
    assert.equal(told.headers.connection, 'close')
    const chunked = await inject(server, { ...put, headers: { 'Transfer-Encoding': 'chunked' } })
    assert.equal(chunked.status, 413)
    assert.match(chunked.text, /the request entity is too large/)
  })

  it('streams bodies and lets the reader stop early', async () => {
    const first: Handler = async request => {
      for await (const chunk of request.stream()) return jsonReply(200, String(chunk.length > 0))
      return jsonReply(200, '"nothing"')
    }
    const count: Handler = async request => {
      let size = 0
      for await (const chunk of request.stream({ limitBytes: 500_000 })) size += chunk.length
      return jsonReply(200, String(size))
    }
    const { server } = tinyServer({
      routes: { '/first': { PUT: first }, '/count': { PUT: count } },
    })
    const body = 'x'.repeat(300_000)
    assert.equal((await inject(server, { method: 'PUT', url: '/count', body })).text, '300000\n')
    assert.equal((await inject(server, { method: 'PUT', url: '/first', body })).text, 'true\n')
    const long = body + body
    assert.equal((await inject(server, { method: 'PUT', url: '/count', body: long })).status, 413)
    const headers = { 'Transfer-Encoding': 'chunked' }
    const found = await inject(server, { method: 'PUT', url: '/count', body: long, headers })
    assert.equal(found.status, 413)
  })

  it('rejects reading and fires the signal when the client goes away', async () => {
    let seen: (request: HttpRequest) => void
    const arrived = new Promise<HttpRequest>(resolve => {
      seen = resolve
    })
    let outcome: Promise<unknown> = Promise.resolve()
    const { server, entries } = tinyServer({
      routes: {
        '/x': {
          PUT: request => {
            const reading = request.bytes()
            outcome = reading.catch(thrown => thrown)
            seen(request)
            return reading.then(() => jsonReply(200, '1'))
          },
        },
      },
    })
    const { port } = await server.listen(0, '127.0.0.1')
    const socket = connect(port, '127.0.0.1')
    socket.write('PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf')
    const { signal } = await arrived
    assert.equal(signal.aborted, false)
    const fired = once(signal, 'abort')
    socket.destroy()
    await fired
    assert.ok((await outcome) instanceof ClientGone)
    await until(() => entries.length > 0)
    assert.deepEqual(
      entries.map(entry => [entry.status, entry.outcome]),
      [[0, 'cut']],
    )
    await server.drain(1000)
  })

  it('does not fire the signal after an ordinary end', async () => {
    let signal: AbortSignal | undefined
    const { server } = tinyServer({
      routes: {
        '/x': request => {
          signal = request.signal
          return streamReply(200, [], pieces('a'))
        },
      },
    })
    await inject(server, { url: '/x' })
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(signal?.aborted, false)
  })

  it('cuts off a client that stops sending its body', async () => {
    const { server, entries } = tinyServer({
      routes: { '/x': { PUT: echo } },
      request: { bodyIdleMs: 20 },
    })
    const { port } = await server.listen(0, '127.0.0.1')
    const socket = connect(port, '127.0.0.1')
    socket.write('PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf')
    await once(socket, 'close')
    await until(() => entries.length > 0)
    assert.equal(entries[0]?.outcome, 'cut')
    await server.drain(1000)
  })

  it('answers Expect: 100-continue when the body is read, not before', async () => {
    const { server } = tinyServer({
      routes: { '/read': { PUT: echo }, '/refuse': { PUT: () => jsonReply(403, '"no"') } },
    })
    const { port } = await server.listen(0, '127.0.0.1')
    const talk = async (path: string): Promise<string> => {
      const socket = connect(port, '127.0.0.1')
      let text = ''
      socket.write(
        `PUT ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n`,
      )
      socket.on('data', chunk => {
        text += chunk
        if (text === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write('body')
        else if (text.endsWith('\n')) socket.end()
      })
      await once(socket, 'close')
      return text
    }
    assert.match(
      await talk('/read'),
      /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK[\s\S]*\r\n\r\nbody\n$/,
    )
    const refused = await talk('/refuse')
    assert.match(refused, /^HTTP\/1.1 403 Forbidden/)
    assert.match(refused, /Connection: close/)
    await server.drain(1000)
  })

  it('tells peer, content type, accepted types', async () => {
    const { server } = tinyServer({
      routes: {
        '/x': request =>
          jsonReply(
            200,
            JSON.stringify([
              request.peerAddress,
              request.isTls,
              request.contentType,
              request.accepts('text/html'),
              request.acceptNames('application/json'),
            ]),
          ),
      },
    })
    const headers = {
      'Content-Type': 'application/json; charset=utf-8',
      Accept: 'application/json',
    }
    const answer = await inject(server, { url: '/x', headers })
    assert.equal(answer.text, '["127.0.0.1",false,"application/json",false,true]\n')
  })
})
