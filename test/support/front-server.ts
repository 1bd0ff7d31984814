/** A server in front of another that passes requests on, with or without TLS, and can meddle with each before. */
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'

export interface FrontRequest {
  readonly method: string
  readonly path: string
  readonly authorization: string | undefined
  readonly cookie: string | undefined
  readonly status: number
}

export interface Front {
  /** `127.0.0.1:5984`. */
  readonly place: string
  /** Every request that was answered. */
  seen: FrontRequest[]
  /** Called before a request is passed on; one that answers it itself says so with true. */
  meddle: (incoming: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>
  close(): void
}

export async function startFront(target: string, tls?: ServerOptions): Promise<Front> {
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url: path = '', headers } = incoming
    const { authorization, cookie } = headers
    response.on('finish', () => {
      front.seen.push({ method, path, authorization, cookie, status: response.statusCode })
    })
    if (await front.meddle(incoming, response)) {
      incoming.resume()
      return
    }
    const outgoing = request(`${target}${path}`, { method, headers }, answered => {
      response.writeHead(answered.statusCode ?? 500, answered.headers)
      answered.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    incoming.pipe(outgoing)
  }
  const listener = (incoming: IncomingMessage, response: ServerResponse): void =>
    void answer(incoming, response).catch(() => response.destroy())
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const front: Front = {
    place: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    meddle: () => false,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
  return front
}
