import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { parseEndpoint, type RemoteEndpoint } from '../../../../src/core/replication/endpoint.ts'
import { HttpClient } from '../../../../src/core/replication/http-client.ts'

const { setNoDelay, setKeepAlive } = Socket.prototype

describe('the connections of a replication', () => {
  /** What was last said of each socket. */
  const told = new Map<Socket, { noDelay?: boolean | undefined; keepAlive?: boolean | undefined }>()
  beforeEach(() => {
    told.clear()
    Socket.prototype.setNoDelay = function (noDelay) {
      told.set(this, { ...told.get(this), noDelay })
      return setNoDelay.call(this, noDelay)
    }
    Socket.prototype.setKeepAlive = function (keepAlive, ms) {
      told.set(this, { ...told.get(this), keepAlive })
      return setKeepAlive.call(this, keepAlive, ms)
    }
  })
  afterEach(() => {
    Object.assign(Socket.prototype, { setNoDelay, setKeepAlive })
  })

  for (const keepAlive of [true, false]) {
    for (const noDelay of [true, false]) {
      it(`have keepalive ${keepAlive} and nodelay ${noDelay} when told so, in use and idle`, async () => {
        const server = createServer((_, response) => response.end('{}'))
        await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
        const { port } = server.address() as AddressInfo
        const url = `http://127.0.0.1:${port}/db`
        const client = new HttpClient(parseEndpoint(url, undefined) as RemoteEndpoint, {
          connectionsMax: 1,
          timeoutMs: 5000,
          tls: { verify: true },
          sockets: { keepAlive, noDelay },
        })
        for (let count = 0; count < 2; count++) {
          const answer = await client.send({ method: 'GET', path: '' })
          const ours = [...told].filter(([socket]) => socket.remotePort === port)
          assert.deepEqual(
            ours.map(([, options]) => options),
            [{ keepAlive, noDelay }],
          )
          await answer.json()
          await new Promise(resolve => setImmediate(resolve))
          assert.deepEqual(ours[0] && told.get(ours[0][0]), { keepAlive, noDelay })
        }
        client.close()
        server.closeAllConnections()
        server.close()
      })
    }
  }
})
