/**
 * The body of one request: read whole within a bound, or as a stream at the reader's pace.
 *
 * Promises: `Expect: 100-continue` is answered when the body is first read; a whole body never takes more
 * than its limit, packed or unpacked; a client that goes away ends reading with ClientGone; one that stops
 * sending for `idleMs` is cut off. Leaves to others: what becomes of a body that nobody read (respond.ts).
 */
import { constants } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gunzip } from 'node:zlib'
import { assert } from '../../base/assert.ts'
import { Failure } from '../../base/errors.ts'

/** The client closed the connection. Nobody is left to read an answer, so none is made. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone'

  constructor(cause?: unknown) {
    super('The client closed the connection', { cause })
  }
}

const EMPTY = Buffer.alloc(0)

export class RequestBody {
  readonly #message: IncomingMessage
  readonly #response: ServerResponse
  readonly #idleMs: number
  #state: 'untouched' | 'reading' | 'read' = 'untouched'
  #isRefused = false
  #startedMs = 0
  #readMs = 0

  constructor(message: IncomingMessage, response: ServerResponse, idleMs: number) {
    this.#message = message
    this.#response = response
    this.#idleMs = idleMs
  }

  /** Whole milliseconds spent on reading the body, for the header that tells them. */
  get readMs(): number {
    return Math.round(this.#readMs)
  }

  /** The Content-Length, undefined for chunked bodies, 0 when there is no body. */
  get declaredBytes(): number | undefined {
    const { headers } = this.#message
    if (headers['transfer-encoding'] !== undefined) return undefined
    const length = headers['content-length']
    return length === undefined ? 0 : Number(length)
  }

  get isRead(): boolean {
    return this.#message.complete && this.#message.readableEnded
  }

  /** The body was too large: CouchDB closes the connection then, whatever is left of it. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /** The client waits for a go-ahead that was never given, so its body will not come. */
  get isWithheld(): boolean {
    return this.#state === 'untouched' && this.#expectsContinue
  }

  /** All bytes, unpacked when the client sent them packed. May be called once. */
  bytes(limitBytes: number): Promise<Buffer> {
    const limit = Math.min(limitBytes, constants.MAX_LENGTH)
    try {
      const encoding = this.#packing()
      const declared = this.declaredBytes
      if (declared === 0) return Promise.resolve(encoding === 'gzip' ? refuseGzip() : EMPTY)
      if (declared !== undefined && declared > limit) throw this.#refuse()
      const packed = this.#collect(limit)
      return encoding === 'gzip' ? packed.then(bytes => unpack(bytes, limit)) : packed
    } catch (thrown) {
      return Promise.reject(thrown)
    }
  }

  /** The bytes as they come over the wire: packed ones stay packed. May be called once. */
  async *stream(limitBytes: number): AsyncGenerator<Buffer, void, undefined> {
    const declared = this.declaredBytes
    if (declared === 0) return
    if (declared !== undefined && declared > limitBytes) throw this.#refuse()
    this.#begin()
    let size = 0
    try {
      // The connection must survive a reader that stops early: the answer goes out on it.
      for await (const chunk of this.#message.iterator({ destroyOnReturn: false })) {
        size += (chunk as Buffer).length
        if (size > limitBytes) throw this.#refuse()
        yield chunk as Buffer
      }
    } catch (thrown) {
      throw this.#message.readableAborted ? new ClientGone(thrown) : thrown
    } finally {
      this.#finish()
    }
  }

  /** The answer goes out now: whoever stopped reading half way must not have its idle timer cut it. */
  abandon(): void {
    if (this.#state === 'reading') this.#message.socket.setTimeout(0)
  }

  get #expectsContinue(): boolean {
    return /^100-continue$/i.test(this.#message.headers.expect ?? '')
  }

  #packing(): 'gzip' | 'identity' {
    const encoding = this.#message.headers['content-encoding']
    if (encoding === undefined || encoding === '' || encoding === 'identity') return 'identity'
    if (encoding === 'gzip') return 'gzip'
    throw new Failure('content_encoding_unsupported', {
      reason: `${encoding} is not a supported content encoding.`,
    })
  }

  #refuse(): Failure {
    this.#isRefused = true
    return tooLarge()
  }

  #begin(): void {
    assert(this.#state === 'untouched', 'a request body is read once')
    if (this.#expectsContinue) this.#response.writeContinue()
    this.#state = 'reading'
    this.#startedMs = performance.now()
    // node:http cuts a connection whose socket times out, unless somebody listens for it.
    this.#message.socket.setTimeout(this.#idleMs)
  }

  #finish(): void {
    this.#state = 'read'
    this.#readMs = performance.now() - this.#startedMs
    this.#message.socket.setTimeout(0)
  }

  #collect(limit: number): Promise<Buffer> {
    const message = this.#message
    this.#begin()
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let size = 0
      let isSettled = false
      // Listeners stay where they are: taking them off costs more than the message, which is done for.
      const settle = (outcome: Buffer | Error): void => {
        if (isSettled) return
        isSettled = true
        chunks.length = 0
        this.#finish()
        if (outcome instanceof Error) reject(outcome)
        else resolve(outcome)
      }
      const onData = (chunk: Buffer): void => {
        if (isSettled) return
        size += chunk.length
        if (size <= limit) {
          chunks.push(chunk)
          return
        }
        message.pause()
        settle(this.#refuse())
      }
      const onEnd = (): void =>
        settle(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size))
      // `close` follows every ordinary `end` too, and an Error with its stack is dear.
      const onGone = (cause?: unknown): void => {
        if (!isSettled) settle(new ClientGone(cause))
      }
      if (message.destroyed) onGone()
      else message.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
    })
  }
}

const tooLarge = (): Failure =>
  new Failure('request_too_large', { reason: 'the request entity is too large' })

/** A bomb of zeros stops at the limit: zlib refuses to grow its output past it. */
function unpack(packed: Buffer, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    gunzip(packed, { maxOutputLength: limit }, (error, bytes) => {
      if (error === null) resolve(bytes)
      else if ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') reject(tooLarge())
      else reject(notGzip(error))
    })
  })
}

const notGzip = (cause?: unknown): Failure =>
  new Failure('request_invalid', { reason: 'Request body is not properly gzipped.' }, cause)

function refuseGzip(): never {
  throw notGzip()
}
