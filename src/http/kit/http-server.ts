/**
 * The listening server: node:http or node:https, wired to the life of a request.
 *
 * Promises: requests that node:http itself refuses get a JSON answer; no timer cuts long uploads or feeds
 * (idle ones are cut by request-body.ts and body-pump.ts); `drain` finishes what is under way, wakes
 * feeds and closes the rest in bounded time. Listening inside a node:cluster worker shares the port.
 * Leaves to others: everything about a request (lifecycle.ts), reading certificates (given by value).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureVersion } from 'node:tls'
import { assert } from '../../base/assert.ts'
import { type BrokenRequest, brokenReply, wholeAnswer } from './broken-request.ts'
import { type Life, live } from './lifecycle.ts'
import type { Reply } from './reply.ts'
import { HttpRequest, type RequestScope } from './request.ts'

/** PEM texts and settings by value. */
export interface TlsOptions {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  readonly ca?: string | Buffer
  readonly passphrase?: string
  readonly ciphers?: string
  readonly minVersion?: SecureVersion
  readonly maxVersion?: SecureVersion
  /** Ask clients for a certificate and refuse those without one that `ca` signed. */
  readonly requireClientCert?: boolean
}

export interface HttpServerOptions {
  readonly life: Life
  readonly scope: RequestScope
  readonly tls?: TlsOptions
  /** Request line and headers together. */
  readonly headBytesMax?: number
  /** A client must send its headers within so long. */
  readonly headersTimeoutMs?: number
  /** An idle connection is kept for so long. */
  readonly keepAliveMs?: number
  /** How requests that never became one are answered. */
  readonly presentBroken?: (broken: BrokenRequest) => Reply
}

export class HttpServer {
  readonly #server: Server
  readonly #scope: RequestScope

  constructor(options: HttpServerOptions) {
    this.#scope = options.scope
    this.#server = makeServer(options)
    const { life, scope, presentBroken = brokenReply } = options
    const onRequest = (message: IncomingMessage, response: ServerResponse): void => {
      void live(life, new HttpRequest(message, response, scope), response)
    }
    this.#server.on('request', onRequest)
    // Having a listener keeps node:http from saying 100 by itself: we say it when the body is read.
    this.#server.on('checkContinue', onRequest)
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      refuse(error, socket, presentBroken),
    )
  }

  /** @param port 0 for any that is free */
  listen(port: number, host?: string, options: { backlog?: number } = {}): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      const where = host === undefined ? { port } : { port, host }
      this.#server.listen({ backlog: 1024, ...options, ...where }, () => {
        this.#server.off('error', reject)
        resolve(this.address)
      })
    })
  }

  /** Open connections. */
  connectionCount(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
    })
  }

  get address(): AddressInfo {
    const address = this.#server.address()
    assert(address !== null && typeof address === 'object', 'the server listens')
    return address
  }

  /** Takes any duplex stream for a connection: tests come in without a socket. */
  accept(connection: Duplex): void {
    this.#server.emit('connection', connection)
  }

  /**
   * Stops accepting, ends feeds, lets other requests finish and closes their connections; what is left
   * after the timeout is cut. Resolves with true when nothing had to be cut.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()))
    this.#scope.drain()
    this.#server.closeIdleConnections()
    let cut = false
    const timer = setTimeout(() => {
      cut = true
      this.#server.closeAllConnections()
    }, timeoutMs)
    // Connections that became idle after an answer that was under way when draining began.
    const sweep = setInterval(() => this.#server.closeIdleConnections(), SWEEP_MS)
    await closed
    clearTimeout(timer)
    clearInterval(sweep)
    return !cut
  }
}

const SWEEP_MS = 50

function makeServer(options: HttpServerOptions): Server {
  const { tls, headBytesMax = 65_536, keepAliveMs = 65_000, headersTimeoutMs = 60_000 } = options
  const settings = {
    maxHeaderSize: headBytesMax,
    keepAliveTimeout: keepAliveMs,
    headersTimeout: headersTimeoutMs,
    requestTimeout: 0,
    requireHostHeader: false,
    noDelay: true,
  }
  if (tls === undefined) return createServer(settings)
  const { requireClientCert = false, ...material } = tls
  return createTlsServer({ ...settings, ...material, requestCert: requireClientCert })
}

type MaybeBusy = Duplex & { readonly _httpMessage?: { readonly headersSent: boolean } | null }

function refuse(
  error: NodeJS.ErrnoException & { rawPacket?: Buffer },
  socket: MaybeBusy,
  presentBroken: (broken: BrokenRequest) => Reply,
): void {
  // An answer under way on this connection must not be mixed with ours.
  const isBusy = socket._httpMessage?.headersSent === true
  if (error.code === 'ECONNRESET' || !socket.writable || isBusy) {
    socket.destroy(error)
    return
  }
  socket.end(wholeAnswer(presentBroken(brokenOf(error))), () => socket.destroy())
}

function brokenOf(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): BrokenRequest {
  const line = error.rawPacket?.toString('latin1', 0, 4096).split('\r\n', 1)[0] ?? ''
  const [, method, target] = /^(\S+) (\S+) HTTP\/\d/.exec(line) ?? []
  const request = method === undefined || target === undefined ? {} : { method, target }
  if (error.code === 'HPE_HEADER_OVERFLOW') return { kind: 'head_too_large', ...request }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return { kind: 'timeout' }
  if (error.code === 'HPE_INVALID_METHOD' && method !== undefined) {
    return { kind: 'unknown_method', ...request }
  }
  return { kind: 'malformed', ...request }
}
