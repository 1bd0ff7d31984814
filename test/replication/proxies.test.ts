/** Replications through proxies: plain forwarding and tunnels of HTTP, and SOCKS5 with and without a login. */
import assert from 'node:assert/strict'
import { createServer as createHttpServer, request } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { connectThrough } from '../../src/core/replication/proxy-connect.ts'
import { type ReplicationServer, startReplicationServer } from '../support/replication-pair.ts'

let server: ReplicationServer
const proxies: Server[] = []
before(async () => {
  server = await startReplicationServer()
  await server.make('s')
  await server.ask('PUT', '/s/a', {})
})
after(async () => {
  await server.close()
  for (const proxy of proxies) proxy.close()
})

const listen = async (proxy: Server): Promise<number> => {
  proxies.push(proxy)
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  return (proxy.address() as AddressInfo).port
}

async function replicateThrough(proxy: string, name: string, status = 200): Promise<void> {
  await server.make(name)
  const body = { source: server.url('s'), target: server.url(name), proxy, retries_per_request: 1 }
  const answer = await server.replicate(body)
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.text.includes('secret'), false)
  const copied = (await server.ask('GET', `/${name}/a`)).status
  assert.equal(copied, status === 200 ? 200 : 404)
}

describe('a replication through a proxy', () => {
  it('sends whole URLs to an http proxy, with its login', async () => {
    const seen: (string | undefined)[] = []
    const proxy = createHttpServer((incoming, response) => {
      seen.push(incoming.headers['proxy-authorization'])
      assert.match(incoming.url ?? '', /^http:\/\/127\.0\.0\.1:\d+\//)
      const { method, headers } = incoming
      const outgoing = request(incoming.url as string, { method, headers }, answer => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      })
      incoming.pipe(outgoing)
    })
    const port = await listen(proxy)
    await replicateThrough(`http://u:secret@127.0.0.1:${port}`, 't-http')
    const login = `Basic ${Buffer.from('u:secret').toString('base64')}`
    assert.ok(seen.length > 5 && seen.every(value => value === login))
    proxy.closeAllConnections()
  })

  it('goes through SOCKS5, with a login and without', async () => {
    const open = await listen(socksServer(undefined))
    await replicateThrough(`socks5://127.0.0.1:${open}`, 't-socks')
    const guarded = await listen(socksServer('u:secret'))
    await replicateThrough(`socks5://u:secret@127.0.0.1:${guarded}`, 't-login')
    await replicateThrough(`socks5://u:secret-but-wrong@127.0.0.1:${guarded}`, 't-wrong', 500)
    await replicateThrough(`socks5://127.0.0.1:${guarded}`, 't-none', 500)
  })

  it('makes tunnels, and says why one was refused', async () => {
    const proxy = createHttpServer()
    proxy.on('connect', (incoming, socket: Socket, head: Buffer) => {
      if (incoming.url === 'no:1') {
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
        return
      }
      const [host, port] = String(incoming.url).split(':')
      const far = connect(Number(port), host as string, () => {
        socket.write('HTTP/1.1 200 OK\r\nX: y\r\n\r\nearly ')
        far.write(head)
        far.pipe(socket).pipe(far)
      })
    })
    const proxyUrl = new URL(`http://127.0.0.1:${await listen(proxy)}`)
    const echo = await listen(createServer(socket => socket.end('hello')))
    const tunnel = await connectThrough(proxyUrl, '127.0.0.1', echo, 1000)
    let text = ''
    for await (const chunk of tunnel) text += chunk
    assert.equal(text, 'early hello')
    await assert.rejects(connectThrough(proxyUrl, 'no', 1, 1000), { code: 'replication_failed' })
    const silent = await listen(createServer(() => {}))
    const silentUrl = new URL(`socks5://127.0.0.1:${silent}`)
    await assert.rejects(connectThrough(silentUrl, 'x', 1, 100), { code: 'replication_failed' })
    proxy.closeAllConnections()
  })
})

/** As much of RFC 1928 and 1929 as a client needs. */
function socksServer(login: string | undefined): Server {
  return createServer(socket => {
    socket.on('error', () => {})
    let step: 'greeting' | 'login' | 'request' | 'open' = 'greeting'
    socket.on('data', (bytes: Buffer) => {
      if (step === 'greeting') {
        const methods = bytes.subarray(2, 2 + (bytes[1] ?? 0))
        const method = login === undefined ? 0 : 2
        if (!methods.includes(method)) return void socket.end(Buffer.of(5, 255))
        step = login === undefined ? 'request' : 'login'
        socket.write(Buffer.of(5, method))
      } else if (step === 'login') {
        const userEnd = 2 + (bytes[1] ?? 0)
        const given = `${bytes.subarray(2, userEnd)}:${bytes.subarray(userEnd + 1)}`
        if (given !== login) return void socket.end(Buffer.of(1, 1))
        step = 'request'
        socket.write(Buffer.of(1, 0))
      } else if (step === 'request') {
        step = 'open'
        socket.removeAllListeners('data')
        const nameEnd = 5 + (bytes[4] ?? 0)
        const host = bytes.toString('latin1', 5, nameEnd)
        const far = connect(bytes.readUInt16BE(nameEnd), host, () => {
          socket.write(Buffer.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0))
          far.pipe(socket).pipe(far)
        })
        far.on('error', () => socket.destroy())
        socket.on('close', () => far.destroy())
      }
    })
  })
}
