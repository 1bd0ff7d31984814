/**
 * A request without a socket: for tests, through all of the real code.
 *
 * A pair of in-memory streams stands in for the connection: node:http's own client writes to one end and
 * its server reads from the other, so parsing, framing, HEAD, keep-alive and errors are the real ones.
 * Leaves to others: starting a server; it need not listen.
 */
import { request as clientRequest } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import type { HttpServer } from './http-server.ts'

export interface Injection {
  readonly method?: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly signal?: AbortSignal
}

export interface Injected {
  readonly status: number
  readonly reasonPhrase: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** As they came: name, value, name, value ... */
  readonly rawHeaders: readonly string[]
  readonly bytes: Buffer
  readonly text: string
  /** False when the connection was cut before the end of the body. */
  readonly complete: boolean
}

export function inject(server: HttpServer, injection: Injection): Promise<Injected> {
  const { method = 'GET', url, headers = {}, body, signal } = injection
  const [near, far] = connectionPair()
  server.accept(far)
  return new Promise((resolve, reject) => {
    const isChunked = Object.keys(headers).some(name => /^transfer-encoding$/i.test(name))
    const length =
      body === undefined || isChunked ? {} : { 'Content-Length': Buffer.byteLength(body) }
    const outgoing = clientRequest({
      method,
      path: url,
      headers: { Host: 'injected', ...length, ...headers },
      // The client only streams through it; what else a socket can do is in MemorySocket.
      createConnection: () => near as unknown as Socket,
      ...(signal === undefined ? {} : { signal }),
    })
    outgoing.on('error', reject)
    outgoing.on('response', response => {
      const chunks: Buffer[] = []
      const finish = (): void => {
        const bytes = Buffer.concat(chunks)
        resolve({
          status: response.statusCode ?? 0,
          reasonPhrase: response.statusMessage ?? '',
          headers: response.headers,
          rawHeaders: response.rawHeaders,
          bytes,
          text: bytes.toString('utf8'),
          complete: response.complete,
        })
        near.destroy()
      }
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', finish).on('error', finish)
    })
    outgoing.end(body)
  })
}

/** Two ends of a connection: what is written to one is read from the other. */
export function connectionPair(): readonly [MemorySocket, MemorySocket] {
  const near = new MemorySocket()
  const far = new MemorySocket()
  near.other = far
  far.other = near
  return [near, far]
}

export class MemorySocket extends Duplex {
  other: MemorySocket | undefined
  readonly remoteAddress = '127.0.0.1'
  #resume: (() => void) | undefined

  override _read(): void {
    const resume = this.#resume
    this.#resume = undefined
    resume?.()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#give(chunk, done)
  }

  override _final(done: () => void): void {
    this.#give(null, done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    const { other } = this
    this.other = undefined
    if (other !== undefined) setImmediate(() => other.destroy())
    done(error)
  }

  /** The writer goes on when the reader has room: slow clients can be tested too. */
  #give(chunk: Buffer | null, done: () => void): void {
    const { other } = this
    if (other === undefined || other.destroyed || other.push(chunk) || chunk === null) {
      setImmediate(done)
    } else other.#resume = done
  }

  destroySoon(): void {
    this.end(() => this.destroy())
  }

  // What node:http asks of a socket and a pair in memory has no use for.
  setTimeout(): this {
    return this
  }
  setNoDelay(): this {
    return this
  }
  setKeepAlive(): this {
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
}
