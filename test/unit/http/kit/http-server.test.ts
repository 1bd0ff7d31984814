import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { inject } from '../../../../src/http/kit/inject.ts'
import { FLUSH, jsonReply, streamReply } from '../../../../src/http/kit/reply.ts'
import { type TinyOptions, tinyServer, until } from './tiny-api.ts'

const run = promisify(execFile)
const fine: TinyOptions = { routes: { '/x': () => jsonReply(200, '1') } }

async function talk(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', chunk => {
    answer += chunk
  })
  socket.write(text)
  await once(socket, 'close')
  return answer
}

describe('HttpServer', () => {
  it('answers what is no request at all in JSON', async () => {
    const { server } = tinyServer(fine)
    const { port } = await server.listen(0, '127.0.0.1')
    const malformed = await talk(port, 'this is not HTTP\r\n\r\n')
    assert.match(malformed, /^HTTP\/1.1 400 Bad Request\r\nContent-Type: application\/json/)
    assert.match(malformed, /\r\n\r\n{"error":"bad_request",.*}\n$/)
    const both = 'POST /x HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'
    assert.match(await talk(port, both), /^HTTP\/1.1 400 /)
    const long = `GET /x HTTP/1.1\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`
    assert.match(await talk(port, long), /^HTTP\/1.1 431 [\s\S]*"too_large"/)
    assert.match(await talk(port, 'FOO /x HTTP/1.1\r\n\r\n'), /^HTTP\/1.1 405 /)
    await server.drain(1000)
  })

  it('takes heads of 60 KB and requests without Host', async () => {
    const { server } = tinyServer(fine)
    const { port } = await server.listen(0, '127.0.0.1')
    const long = `GET /x?${'x'.repeat(60_000)} HTTP/1.1\r\nConnection: close\r\n\r\n`
    assert.match(await talk(port, long), /^HTTP\/1.1 200 /)
    await server.drain(1000)
  })

  it('lets an API present broken requests', async () => {
    const { server } = tinyServer({
      ...fine,
      server: { presentBroken: broken => jsonReply(405, JSON.stringify(broken)) },
    })
    const { port } = await server.listen(0, '127.0.0.1')
    const answer = await talk(port, 'FOO /some/where HTTP/1.1\r\n\r\n')
    assert.match(answer, /{"kind":"unknown_method","method":"FOO","target":"\/some\/where"}\n$/)
    await server.drain(1000)
  })

  it('drains: finishes what is under way, wakes feeds, closes idle connections', async () => {
    const tiny = tinyServer({
      routes: {
        '/x': () => jsonReply(200, '1'),
        '/feed': request => {
          async function* feed() {
            yield 'begin\n'
            yield FLUSH
            if (!request.feedSignal.aborted) await once(request.feedSignal, 'abort')
            yield 'end\n'
          }
          return streamReply(200, [], feed())
        },
      },
    })
    const { server } = tiny
    const { port } = await server.listen(0, '127.0.0.1')
    const idle = connect(port, '127.0.0.1')
    idle.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(idle, 'data')
    const feed = connect(port, '127.0.0.1')
    feed.write('GET /feed HTTP/1.1\r\nHost: x\r\n\r\n')
    let text = ''
    feed.on('data', chunk => {
      text += chunk
    })
    while (!text.includes('begin')) await once(feed, 'data')
    const closed = Promise.all([once(idle, 'close'), once(feed, 'close')])
    idle.resume()
    assert.equal(await server.drain(5000), true)
    await closed
    assert.match(text, /end\n\r\n0\r\n\r\n$/)
    assert.equal(tiny.scope.feeds.size, 0)
    await assert.rejects(once(connect(port, '127.0.0.1'), 'connect'), /ECONNREFUSED/)
  })

  it('cuts what does not end in time, and fires its signal', async () => {
    let signal: AbortSignal | undefined
    const { server } = tinyServer({
      routes: {
        '/x': request => {
          signal = request.signal
          async function* stubborn() {
            yield 'begin'
            yield FLUSH
            await once(request.signal, 'abort')
          }
          return streamReply(200, [], stubborn())
        },
      },
    })
    const { port } = await server.listen(0, '127.0.0.1')
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
    assert.equal(await server.drain(20), false)
    await until(() => signal?.aborted === true)
  })

  it('keeps connections and answers pipelined requests in order', async () => {
    const { server } = tinyServer({
      routes: { '/{n}': (_request, params) => jsonReply(200, params.get('n')) },
    })
    const { port } = await server.listen(0, '127.0.0.1')
    const request = (n: number, more = '') => `GET /${n} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
    const text = await talk(port, request(1) + request(2) + request(3, 'Connection: close\r\n'))
    assert.deepEqual(text.match(/^\d$/gm), ['1', '2', '3'])
    await server.drain(1000)
  })

  it('shares a port between the workers of a cluster', async () => {
    const program = fileURLToPath(new URL('cluster-program.ts', import.meta.url))
    const { stdout } = await run(process.execPath, ['--import', 'tsx', program])
    assert.deepEqual(JSON.parse(stdout), { portCount: 1, status: 200, exitCodes: [0, 0] })
  })

  it('speaks TLS', async t => {
    const folder = await mkdtemp(join(tmpdir(), 'gurney-tls-'))
    t.after(() => rm(folder, { recursive: true }))
    const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    const files = ['-keyout', keyFile, '-out', certFile, '-days', '2', '-subj', '/CN=localhost']
    try {
      await run('openssl', ['req', '-x509', ...curve, ...files])
    } catch {
      t.skip('needs the openssl program to make a certificate')
      return
    }
    const tls = {
      key: await readFile(keyFile),
      cert: await readFile(certFile),
      minVersion: 'TLSv1.3' as const,
    }
    const { server } = tinyServer({
      routes: { '/x': request => jsonReply(200, String(request.isTls)) },
      server: { tls },
    })
    const { port } = await server.listen(0, '127.0.0.1')
    const options = { port, host: '127.0.0.1', ca: tls.cert, servername: 'localhost' }
    const secure = connectTls(options)
    secure.write('GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    let text = ''
    secure.on('data', chunk => {
      text += chunk
    })
    await once(secure, 'close')
    assert.match(text, /^HTTP\/1.1 200 [\s\S]*true\n$/)
    const old = connectTls({ ...options, maxVersion: 'TLSv1.2' })
    await assert.rejects(once(old, 'secureConnect'))
    await server.drain(1000)
  })

  it('reports a port that is taken', async () => {
    const first = tinyServer(fine).server
    const { port } = await first.listen(0, '127.0.0.1')
    await assert.rejects(tinyServer(fine).server.listen(port, '127.0.0.1'), { code: 'EADDRINUSE' })
    await first.drain(1000)
  })

  it('needs no port for injected requests', async () => {
    const answer = await inject(tinyServer(fine).server, { url: '/x' })
    assert.equal(answer.status, 200)
  })
})
