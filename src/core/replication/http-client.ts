/**
 * HTTP as a replication needs it: kept connections up to a bound, proxies, and time limits on silence, not on the
 * whole: a large body may take hours as long as something moves. Reading is at the reader's pace; a reader that is
 * slow itself is not taken for a silent server. `fetch` can do neither proxies nor that, so this is `node:http`.
 *
 * It does not log in (`signed-client.ts` does), does not try again and does not judge: a status is an answer. A lost,
 * silent or cut-off connection fails with `replication_failed`, marked as something that may pass.
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as tlsConnect } from 'node:tls'
import { isFailure } from '../../base/errors.ts'
import type { SocketOptions } from '../configuration/replication-settings.ts'
import type { RemoteEndpoint } from './endpoint.ts'
import { connectThrough, proxyAuthorization } from './proxy-connect.ts'
import { passing } from './retry.ts'

export interface ClientOptions {
  readonly connectionsMax: number
  readonly timeoutMs: number
  readonly tls: ClientTls
  readonly sockets: SocketOptions
}

export interface ClientTls {
  readonly verify: boolean
  readonly ca?: Buffer | undefined
  readonly cert?: Buffer | undefined
  readonly key?: Buffer | undefined
  readonly passphrase?: string | undefined
}

export interface ClientCall {
  readonly method: string
  /** Relative to the database's URL, with its query; one that begins with a slash is the server's. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | AsyncIterable<Buffer> | undefined
  readonly signal?: AbortSignal | undefined
  /** How long silence may last before the answer begins; else as for all. */
  readonly waitMs?: number
}

export function jsonCall(method: string, path: string, body: string | Buffer): ClientCall {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return { method, path, body: bytes, headers: { 'Content-Type': 'application/json' } }
}

export class HttpClient {
  readonly #endpoint: RemoteEndpoint
  readonly #options: ClientOptions
  readonly #agent: HttpAgent
  readonly #headers: Record<string, string>

  constructor(endpoint: RemoteEndpoint, options: ClientOptions) {
    this.#endpoint = endpoint
    this.#options = options
    this.#headers = headersOf(endpoint)
    this.#agent = agentFor(endpoint, options)
  }

  async send(call: ClientCall): Promise<HttpAnswer> {
    const request = this.#open(call)
    const { timeoutMs } = this.#options
    const abort = (): void => void request.destroy(passing('the replication was stopped'))
    if (call.signal?.aborted) abort()
    call.signal?.addEventListener('abort', abort, { once: true })
    try {
      const answered = answerOf(request)
      // Sending may fail because an answer came early: then the answer is what counts.
      const sent = sendBody(request, call.body, timeoutMs)
      sent.catch(() => {})
      const response = await silence(
        Promise.race([answered, sent.then(() => answered)]),
        call.waitMs ?? timeoutMs,
        () => sentRecently(request),
        () => request.destroy(passing('the other server does not answer')),
      )
      return new HttpAnswer(response, timeoutMs, () =>
        call.signal?.removeEventListener('abort', abort),
      )
    } catch (thrown) {
      call.signal?.removeEventListener('abort', abort)
      request.destroy()
      throw isFailure(thrown) ? thrown : unreachable(thrown)
    }
  }

  close(): void {
    this.#agent.destroy()
  }

  #open({ method, path, headers, body }: ClientCall): ClientRequest {
    const { url } = this.#endpoint
    const isTls = url.protocol === 'https:'
    const target = path.startsWith('/') ? path : `${url.pathname}${path}`
    const forward = forwardingProxy(this.#endpoint)
    const length = Buffer.isBuffer(body) ? { 'Content-Length': String(body.length) } : {}
    const place = forward ?? url
    const request = (isTls ? httpsRequest : httpRequest)({
      method,
      host: place.hostname.replace(/^\[|\]$/g, ''),
      port: place.port === '' ? (isTls ? 443 : 80) : Number(place.port),
      path: forward === undefined ? target : `${url.origin}${target}`,
      agent: this.#agent,
      headers: { ...this.#headers, ...forwardLogin(forward), ...length, ...headers },
    })
    return request.once('socket', socket => applyOptions(socket, this.#options.sockets))
  }
}

/** An answer whose body is read at most once. */
export class HttpAnswer {
  readonly status: number
  readonly #message: IncomingMessage
  readonly #timeoutMs: number
  readonly #onEnd: () => void

  constructor(message: IncomingMessage, timeoutMs: number, onEnd: () => void) {
    this.status = message.statusCode ?? 0
    this.#message = message
    this.#timeoutMs = timeoutMs
    this.#onEnd = onEnd
  }

  header(name: string): string | undefined {
    const value = this.#message.headers[name]
    return Array.isArray(value) ? value[0] : value
  }

  get cookies(): readonly string[] {
    return this.#message.headers['set-cookie'] ?? []
  }

  /** Leaving early closes the connection. */
  async *chunks(): AsyncGenerator<Buffer> {
    const message = this.#message
    const chunks = message[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    const stop = (): void => void message.destroy(passing('the other server went silent'))
    try {
      for (;;) {
        const timer = setTimeout(stop, this.#timeoutMs)
        const step = await chunks.next().finally(() => clearTimeout(timer))
        if (step.done) break
        yield step.value
      }
      if (!message.complete) throw passing('the answer was cut off')
    } catch (thrown) {
      throw isFailure(thrown) ? thrown : unreachable(thrown)
    } finally {
      if (!message.complete) message.destroy()
      this.#onEnd()
    }
  }

  async bytes(bytesMax = ANSWER_BYTES_MAX): Promise<Buffer> {
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of this.chunks()) {
      chunks.push(chunk)
      length += chunk.length
      if (length > bytesMax) throw passing('the other server sent too much')
    }
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)
  }

  async json(): Promise<unknown> {
    const bytes = await this.bytes()
    try {
      return JSON.parse(bytes.toString('utf8')) as unknown
    } catch (thrown) {
      throw passing('the other server sent no JSON', { status: this.status }, thrown)
    }
  }

  /** Reads to the end, so that the connection can be used again. */
  async drop(): Promise<void> {
    await this.bytes(DROP_BYTES_MAX).catch(() => {})
  }
}

const ANSWER_BYTES_MAX = 256 * 1024 * 1024
const DROP_BYTES_MAX = 1024 * 1024

const headersOf = ({ headers }: RemoteEndpoint): Record<string, string> => ({
  Accept: 'application/json',
  'User-Agent': 'Gurney',
  ...Object.fromEntries(headers),
})

/** A plain http URL goes through an http proxy as it is; everything else through a tunnel. */
function forwardingProxy({ url, proxy }: RemoteEndpoint): URL | undefined {
  if (proxy === undefined || url.protocol === 'https:') return undefined
  const place = new URL(proxy)
  return place.protocol === 'http:' ? place : undefined
}

function forwardLogin(proxy: URL | undefined): Record<string, string> {
  const authorization = proxy === undefined ? undefined : proxyAuthorization(proxy)
  return authorization === undefined ? {} : { 'Proxy-Authorization': authorization }
}

/** How long a connection is still before the system asks whether the other side is there. */
const PROBE_MS = 10_000

function applyOptions(socket: Socket, { keepAlive, noDelay }: SocketOptions): void {
  socket.setNoDelay(noDelay)
  socket.setKeepAlive(keepAlive, PROBE_MS)
}

function agentFor(endpoint: RemoteEndpoint, options: ClientOptions): HttpAgent {
  const { verify, ca, cert, key, passphrase } = options.tls
  // First come, first used: a server with several processes gets work for all of them.
  const common = {
    keepAlive: true,
    maxSockets: options.connectionsMax,
    keepAliveMsecs: PROBE_MS,
    scheduling: 'fifo' as const,
  }
  const secure = { rejectUnauthorized: verify, ca, cert, key, passphrase }
  const isTls = endpoint.url.protocol === 'https:'
  const agent = isTls ? new HttpsAgent({ ...common, ...secure }) : new HttpAgent(common)
  // While they wait for the next request too.
  agent.on('free', (socket: Socket) => applyOptions(socket, options.sockets))
  if (endpoint.proxy === undefined || forwardingProxy(endpoint) !== undefined) return agent
  const proxy = new URL(endpoint.proxy)
  const host = endpoint.url.hostname.replace(/^\[|\]$/g, '')
  const port = endpoint.url.port === '' ? (isTls ? 443 : 80) : Number(endpoint.url.port)
  // Certificates of bare addresses are checked against `host`; only names are sent.
  const name = isIP(host) === 0 ? { servername: host } : {}
  const tunnel = (_: unknown, done: (error: Error | null, socket?: Duplex) => void): undefined => {
    connectThrough(proxy, host, port, options.timeoutMs).then(
      socket => done(null, isTls ? tlsConnect({ socket, host, ...name, ...secure }) : socket),
      thrown => done(thrown as Error),
    )
  }
  return Object.assign(agent, { createConnection: tunnel })
}

function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve)
    request.on('error', reject)
    request.once('close', () => reject(passing('the connection was closed')))
  })
}

async function sendBody(
  request: ClientRequest,
  body: ClientCall['body'],
  timeoutMs: number,
): Promise<void> {
  if (body === undefined || Buffer.isBuffer(body)) {
    request.end(body)
    return
  }
  try {
    for await (const chunk of body) {
      if (request.destroyed) throw passing('the connection was closed')
      if (!request.write(chunk)) await drained(request, timeoutMs)
    }
    request.end()
  } catch (thrown) {
    request.destroy(thrown as Error)
    throw thrown
  }
}

function drained(request: ClientRequest, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (failure?: unknown): void => {
      clearTimeout(timer)
      request.off('drain', settle)
      request.off('close', closed)
      if (failure === undefined) resolve()
      else reject(failure)
    }
    const closed = (): void => settle(passing('the connection was closed'))
    const timer = setTimeout(() => {
      settle(passing('the other server takes nothing'))
    }, timeoutMs)
    request.once('drain', () => settle())
    request.once('close', closed)
  })
}

/** The other side cannot be called silent while we are still sending. */
const sentRecently = (request: ClientRequest): boolean => !request.writableEnded

/** Waits, and gives up after a time in which nothing moved. */
async function silence<T>(
  promise: Promise<T>,
  timeoutMs: number,
  isMoving: () => boolean,
  giveUp: () => void,
): Promise<T> {
  let timer: NodeJS.Timeout
  const watch = (): void => {
    timer = setTimeout(() => (isMoving() ? watch() : giveUp()), timeoutMs)
  }
  watch()
  return await promise.finally(() => clearTimeout(timer))
}

function unreachable(thrown: unknown) {
  const { code, message } = thrown as NodeJS.ErrnoException
  const reason = `the other server cannot be reached (${code ?? message})`
  return passing(reason, {}, thrown)
}
