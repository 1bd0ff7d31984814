import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { connectionPair, inject } from '../../../../src/http/kit/inject.ts'
import {
  type BodyPiece,
  emptyReply,
  FLUSH,
  jsonReply,
  streamReply,
} from '../../../../src/http/kit/reply.ts'
import { type Handler, pieces, tinyServer, until } from './tiny-api.ts'

const namesOf = (rawHeaders: readonly string[]): string[] =>
  rawHeaders.filter((_text, at) => at % 2 === 0)

describe('respond', () => {
  it('sends headers in alphabetical order with the standard ones', async () => {
    const headers = ['X-Zebra', '1', 'ETag', '"e"', 'Content-Type', 'text/plain']
    const { server } = tinyServer({ routes: { '/x': () => ({ status: 200, headers, body: 'é' }) } })
    const answer = await inject(server, { url: '/x' })
    assert.deepEqual(namesOf(answer.rawHeaders), [
      'Cache-Control',
      'Content-Length',
      'Content-Type',
      'Date',
      'ETag',
      'Server',
      'X-Svc-Body-Time',
      'X-Svc-Request-ID',
      'X-Zebra',
      'Connection',
    ])
    assert.equal(answer.headers['cache-control'], 'must-revalidate')
    assert.equal(answer.headers['content-length'], '2')
    assert.equal(new Date(String(answer.headers.date)).toUTCString(), answer.headers.date)
  })

  it('keeps the Cache-Control of a handler and leaves out what a route does without', async () => {
    const { server } = tinyServer({
      routes: {
        '/x': () => ({
          ...emptyReply(200, ['cache-control', 'no-cache']),
          withoutRequestHeaders: true,
        }),
      },
    })
    const answer = await inject(server, { url: '/x' })
    assert.equal(answer.headers['cache-control'], 'no-cache')
    assert.equal(answer.headers['x-svc-request-id'], undefined)
    assert.equal(answer.headers['content-length'], '0')
  })

  it('keeps little for Prefer: return=minimal', async () => {
    const { server } = tinyServer({ routes: { '/x': () => jsonReply(200, '1', ['X-Other', '1']) } })
    const answer = await inject(server, { url: '/x', headers: { Prefer: 'return=minimal' } })
    const kept = ['Cache-Control', 'Content-Length', 'Date', 'Server', 'Connection']
    assert.deepEqual(namesOf(answer.rawHeaders), kept)
  })

  it('uses the reason phrases of CouchDB', async () => {
    const { server } = tinyServer({
      routes: { '/{n}': (_request, params) => emptyReply(Number(params.get('n'))) },
    })
    const table = {
      302: 'Moved Temporarily',
      404: 'Object Not Found',
      599: 'Internal Server Error',
    }
    for (const [status, phrase] of Object.entries(table)) {
      assert.equal((await inject(server, { url: `/${status}` })).reasonPhrase, phrase)
    }
  })

  it('strips the body for HEAD: lengths of whole bodies stay, streams are never started', async () => {
    let started = false
    let closed = false
    async function* rows(): AsyncGenerator<string> {
      started = true
      yield 'x'
    }
    const closing = {
      [Symbol.asyncIterator]: () => ({
        next: () => assert.fail('not pulled'),
        return: async () => {
          closed = true
          return { done: true as const, value: undefined }
        },
      }),
    }
    const { server } = tinyServer({
      routes: {
        '/whole': () => jsonReply(200, '{"a":1}'),
        '/rows': () => streamReply(200, [], rows()),
        '/closing': () => streamReply(200, [], closing),
        '/known': () => streamReply(200, [], rows(), 77),
      },
    })
    const lengthOf = async (url: string) => {
      const answer = await inject(server, { method: 'HEAD', url })
      assert.equal(answer.text, '')
      assert.equal(answer.headers['transfer-encoding'], undefined)
      return answer.headers['content-length']
    }
    assert.equal(await lengthOf('/whole'), '8')
    assert.equal(await lengthOf('/rows'), '0')
    assert.equal(await lengthOf('/closing'), '0')
    assert.equal(await lengthOf('/known'), '77')
    assert.deepEqual([started, closed], [false, true])
  })

  it('sends bytes as they are, small and large, text and stream', async () => {
    const all = Buffer.from(Array.from({ length: 256 }, (_unused, byte) => byte))
    const large = Buffer.alloc(200_000, all)
    const { server } = tinyServer({
      routes: {
        '/small': () => ({ status: 200, headers: [], body: all }),
        '/large': () => ({ status: 200, headers: [], body: large }),
        '/stream': () => streamReply(200, [], pieces(all, large, all), large.length + 512),
      },
    })
    assert.deepEqual((await inject(server, { url: '/small' })).bytes, all)
    assert.deepEqual((await inject(server, { url: '/large' })).bytes, large)
    const streamed = await inject(server, { url: '/stream' })
    assert.deepEqual(streamed.bytes, Buffer.concat([all, large, all]))
    assert.equal(streamed.headers['content-length'], String(large.length + 512))
  })

  it('cuts a body that is not as long as promised', async () => {
    for (const promised of [2, 4]) {
      const { server, lines } = tinyServer({
        routes: { '/x': () => streamReply(200, [], pieces('abc'), promised) },
      })
      const answer = await inject(server, { url: '/x' }).catch(() => undefined)
      assert.notEqual(answer?.complete, true)
      assert.match(lines.join(), /promised/)
    }
  })

  it('gathers small pieces and lets FLUSH push them out', async () => {
    const { server } = tinyServer({
      routes: {
        '/gathered': () => streamReply(200, [], pieces<BodyPiece>('a', 'b', Buffer.from('c'), 'd')),
        '/flushed': () =>
          streamReply(200, [], pieces<BodyPiece>('a', FLUSH, 'b', 'c', FLUSH, FLUSH)),
      },
    })
    assert.match(await rawAnswer(server, '/gathered'), /\r\n\r\n4\r\nabcd\r\n0\r\n\r\n$/)
    assert.match(await rawAnswer(server, '/flushed'), /\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n$/)
  })

  it('sends what is held when the source pauses', async () => {
    let goOn = (): void => {}
    const paused = new Promise<void>(resolve => {
      goOn = resolve
    })
    async function* feed(): AsyncGenerator<string> {
      yield 'first'
      await paused
      yield 'second'
    }
    const { server } = tinyServer({ routes: { '/x': () => streamReply(200, [], feed()) } })
    const { port } = await server.listen(0, '127.0.0.1')
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    let text = ''
    socket.on('data', chunk => {
      text += chunk
      if (text.includes('first')) goOn()
    })
    await once(socket, 'close')
    assert.match(text, /5\r\nfirst\r\n6\r\nsecond\r\n0\r\n\r\n$/)
    await server.drain(1000)
  })

  it('waits for a slow client and closes the source when it goes away', async () => {
    let pulled = 0
    let closed = false
    async function* endless(): AsyncGenerator<Buffer> {
      try {
        for (;;) {
          pulled++
          yield Buffer.alloc(65_536)
        }
      } finally {
        closed = true
      }
    }
    const { server, entries } = tinyServer({
      routes: { '/x': () => streamReply(200, [], endless()) },
    })
    const [near, far] = connectionPair()
    server.accept(far)
    near.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n')
    for (let turn = 0; turn < 50; turn++) await new Promise(resolve => setImmediate(resolve))
    assert.ok(
      pulled > 0 && pulled < 20,
      `${pulled} pieces were pulled for a client that reads none`,
    )
    near.destroy()
    await until(() => entries.length > 0)
    assert.equal(closed, true)
    assert.equal(entries[0]?.outcome, 'cut')
  })

  it('cuts off a client that does not read', async () => {
    const { server, entries } = tinyServer({
      routes: { '/x': () => streamReply(200, [], pieces(...Array(20).fill(Buffer.alloc(65_536)))) },
      respond: { sendIdleMs: 20 },
    })
    const [near, far] = connectionPair()
    server.accept(far)
    near.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(far, 'close')
    await until(() => entries.length > 0)
    assert.equal(entries[0]?.outcome, 'cut')
  })

  it('keeps the connection after a small unread body, closes it after a large one', async () => {
    const refuse: Handler = () => jsonReply(403, '"no"')
    const { server } = tinyServer({ routes: { '/x': { PUT: refuse } }, respond: { lingerMs: 50 } })
    const { port } = await server.listen(0, '127.0.0.1')
    const socket = connect(port, '127.0.0.1')
    const head = (length: number) =>
      `PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`
    let text = ''
    socket.on('data', chunk => {
      text += chunk
    })
    socket.write(`${head(4)}body${head(1_000_000)}${'x'.repeat(100_000)}`)
    await once(socket, 'end')
    const answers = text.split('HTTP/1.1 ').slice(1)
    assert.equal(answers.length, 2)
    assert.match(answers[0] ?? '', /^403 [\s\S]*Connection: keep-alive/)
    assert.match(answers[1] ?? '', /^403 [\s\S]*Connection: close[\s\S]*"no"\n$/)
    await server.drain(1000)
  })

  it('answers HTTP/1.0 without chunks', async () => {
    const { server } = tinyServer({ routes: { '/x': () => streamReply(200, [], pieces('abc')) } })
    const text = await rawAnswer(server, '/x', '1.0')
    assert.match(text, /\r\n\r\nabc$/)
    assert.doesNotMatch(text, /chunked/)
  })

  it('sends a whole body as the chunks of a stream, and the connection goes on', async () => {
    const long = Buffer.alloc(40_000, 'x')
    const bodies: Record<string, Buffer> = {
      '/empty': Buffer.alloc(0),
      '/short': Buffer.from('{"é":1}\n'),
      '/long': long,
    }
    const handler: Handler = request => {
      const body = bodies[request.target] as Buffer
      return { status: 200, headers: [], body, inChunks: true }
    }
    const { server } = tinyServer({ routes: { '/{path}': handler } })
    const raw = await rawAnswer(server, '/short')
    assert.match(raw, /\r\nTransfer-Encoding: chunked\r\n/)
    assert.ok(raw.endsWith('\r\n\r\n9\r\n{"é":1}\n\r\n0\r\n\r\n'), raw)
    assert.doesNotMatch(await rawAnswer(server, '/short', '1.0'), /chunked|\r\n0\r\n/)
    const { port } = await server.listen(0, '127.0.0.1')
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (const path of ['/short', '/empty', '/long', '/short']) {
      assert.deepEqual(await getOver(agent, port, path), bodies[path])
    }
    agent.destroy()
    await server.drain(1000)
  })

  it('hands the socket a small answer in one piece, in order also when requests are pipelined', async () => {
    const bodies: Record<string, Buffer | string> = {
      '/bytes': Buffer.from([0xff, 0x00, 0xe9]),
      '/text': 'aé€',
      '/ascii': 'plain',
    }
    const asked = Object.keys(bodies)
    const routes = Object.fromEntries(
      asked.map(path => [
        path,
        async () => {
          // The first one asked is answered last.
          for (let i = asked.length; i > asked.indexOf(path); i--) await new Promise(setImmediate)
          return { status: 200, headers: [], body: bodies[path] as Buffer | string }
        },
      ]),
    )
    const { server } = tinyServer({ routes })
    const [near, far] = connectionPair()
    server.accept(far)
    const written: Buffer[] = []
    const write = far._write.bind(far)
    far._write = (chunk, encoding, done) => {
      written.push(chunk)
      write(chunk, encoding, done)
    }
    near.resume()
    const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
    near.write(request('/text'))
    await until(() => written.length > 0)
    near.write(asked.map(request).join(''))
    await until(() => Buffer.concat(written).includes('plain'))
    const expected = ['/text', ...asked].map(path => Buffer.from(bodies[path] as Buffer))
    assert.equal(written.length, expected.length)
    for (const [at, body] of expected.entries()) {
      const bytes = written[at] as Buffer
      assert.deepEqual(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4), body)
      assert.match(
        bytes.toString('latin1'),
        new RegExp(`^HTTP/1.1 200 .*Length: ${body.length}\r`, 's'),
      )
    }
    near.destroy()
  })
})

async function rawAnswer(
  server: ReturnType<typeof tinyServer>['server'],
  path: string,
  version = '1.1',
): Promise<string> {
  const [near, far] = connectionPair()
  server.accept(far)
  near.write(`GET ${path} HTTP/${version}\r\nHost: x\r\nConnection: close\r\n\r\n`)
  let text = ''
  near.on('data', chunk => {
    text += chunk
  })
  await once(near, 'end')
  return text
}

async function getOver(agent: Agent, port: number, path: string): Promise<Buffer> {
  const asked = get({ agent, port, path, host: '127.0.0.1' })
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  return Buffer.concat(await response.toArray())
}
