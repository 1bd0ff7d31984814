/**
 * Writes a Reply to the client.
 *
 * Promises: a streamed body's first piece is pulled before the head is sent, so an error before the first
 * byte is thrown to the caller with nothing written; a later error is thrown after the connection was
 * cut (`response.headersSent` tells which). HEAD gets the head only. A request body that nobody read is
 * discarded within a bound, else the connection is closed after the answer.
 * Leaves to others: headers (response-head.ts), chunks and slow clients (body-pump.ts), logging.
 */
import type { ServerResponse } from 'node:http'
import { BodyPump, PUMP_DEFAULTS, type PumpOptions } from './body-pump.ts'
import type { BodyPiece, Reply } from './reply.ts'
import type { HttpRequest } from './request.ts'
import {
  type Framing,
  HEAD_DEFAULTS,
  type HeadOptions,
  headersOf,
  reasonPhrase,
} from './response-head.ts'

export interface RespondOptions extends HeadOptions, PumpOptions {
  /** An unread request body up to this size is read to its end so that the connection can be kept. */
  readonly unreadBytesMax: number
  /** A client that still sends a body nobody wants may do so for so long after the answer. */
  readonly lingerMs: number
}

export const RESPOND_DEFAULTS: RespondOptions = {
  ...HEAD_DEFAULTS,
  ...PUMP_DEFAULTS,
  unreadBytesMax: 65_536,
  lingerMs: 1000,
}

/** Small bodies are sent in one write with the head, as text. */
const JOIN_BYTES_MAX = 32_768

/** Undefined when all was handed to node:http at once, else a promise of that. */
export function respond(
  response: ServerResponse,
  request: HttpRequest,
  reply: Reply,
  options: RespondOptions,
): Promise<void> | undefined {
  const { body } = reply
  if (typeof body === 'object' && !Buffer.isBuffer(body)) {
    return request.method === 'HEAD'
      ? sendHeadOfStream(response, request, reply, body, options)
      : sendStream(response, request, reply, body, options)
  }
  sendWhole(response, request, reply, body, options)
  return undefined
}

function sendWhole(
  response: ServerResponse,
  request: HttpRequest,
  reply: Reply,
  body: Buffer | string | undefined,
  options: RespondOptions,
): void {
  const length = reply.status === 204 ? 0 : byteLength(body)
  const framing = wholeFraming(request, reply, length)
  const lingers = writeHead(response, request, reply, framing, options)
  const sent = request.method === 'HEAD' || reply.status === 304 ? undefined : body
  request.responseBytes = sent === undefined ? 0 : length
  if (lingers) {
    if (sent === undefined) response.flushHeaders()
    else response.write(sent)
    lingerThenEnd(response, request, options)
  } else if (sent !== undefined && length > 0 && length <= JOIN_BYTES_MAX) {
    const text = bytesAsText(sent, length)
    endWith(response, framing === 'chunked' ? onlyChunk(response, text) : text)
  } else response.end(sent)
}

/** latin1 keeps every byte as it is, and spares a second buffer on the wire. */
function bytesAsText(body: Buffer | string, length: number): string {
  if (typeof body !== 'string') return body.toString('latin1')
  return body.length === length ? body : Buffer.from(body).toString('latin1')
}

/**
 * The rest of an answer, in one write with its head. Given to `end`, node:http would hand the socket two pieces, of
 * which the second is empty, and pay for gathering them; so it goes where node:http keeps the head until it is sent.
 */
function endWith(response: ServerResponse, text: string): void {
  const head = response as unknown as { _header?: unknown; _headerSent?: unknown }
  if (typeof head._header === 'string' && head._headerSent === false) {
    head._header += text
    response.end()
  } else response.end(text, 'latin1')
}

/** The body as one chunk and the end: node:http would hand the socket five pieces. */
function onlyChunk(response: ServerResponse, text: string): string {
  response.chunkedEncoding = false
  return `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
}

function wholeFraming(request: HttpRequest, reply: Reply, length: number): Framing {
  if (reply.status === 204) return 'none'
  const isStreamed = reply.inChunks === true && request.method !== 'HEAD'
  return isStreamed ? streamFraming(request, reply) : length
}

function byteLength(body: Buffer | string | undefined): number {
  if (body === undefined) return 0
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length
}

/** The body is not made for HEAD; its length is told where it is known without making it. */
async function sendHeadOfStream(
  response: ServerResponse,
  request: HttpRequest,
  reply: Reply,
  body: AsyncIterable<BodyPiece>,
  options: RespondOptions,
): Promise<void> {
  const source = body[Symbol.asyncIterator]()
  try {
    const lingers = writeHead(response, request, reply, reply.lengthBytes ?? 0, options)
    if (lingers) lingerThenEnd(response, request, options)
    else response.end()
  } finally {
    await source.return?.()
  }
}

async function sendStream(
  response: ServerResponse,
  request: HttpRequest,
  reply: Reply,
  body: AsyncIterable<BodyPiece>,
  options: RespondOptions,
): Promise<void> {
  const source = body[Symbol.asyncIterator]()
  let step = await source.next()
  const pump = new BodyPump(response, options, reply.lengthBytes)
  try {
    const lingers = writeHead(response, request, reply, streamFraming(request, reply), options)
    while (step.done !== true) {
      const room = pump.put(step.value)
      if (room !== undefined) await room
      step = await source.next()
    }
    pump.finish()
    if (lingers) lingerThenEnd(response, request, options)
    else response.end()
  } catch (thrown) {
    pump.stop()
    if (response.headersSent) response.destroy()
    if (step.done !== true) await source.return?.()
    throw thrown
  } finally {
    request.responseBytes = pump.sentBytes
  }
}

function streamFraming(request: HttpRequest, reply: Reply): Framing {
  if (reply.lengthBytes !== undefined) return reply.lengthBytes
  return request.message.httpVersionMinor === 0 && request.message.httpVersionMajor === 1
    ? 'none'
    : 'chunked'
}

/** True when the client may still be sending a body that nobody reads. */
function writeHead(
  response: ServerResponse,
  request: HttpRequest,
  reply: Reply,
  framing: Framing,
  options: RespondOptions,
): boolean {
  const head = headersOf(reply, request, framing, options)
  request.body.abandon()
  const unread = hasUnreadBody(request, options.unreadBytesMax)
  if (unread || request.body.isRefused || request.scope.draining) {
    head.push('Connection', 'close')
  }
  response.writeHead(reply.status, reply.reasonPhrase ?? reasonPhrase(reply.status), head)
  return unread && !request.body.isWithheld
}

function hasUnreadBody(request: HttpRequest, unreadBytesMax: number): boolean {
  if (request.message.complete) return false
  const declared = request.body.declaredBytes
  if (declared === 0) return false
  return declared === undefined || declared > unreadBytesMax || request.body.isWithheld
}

/**
 * Closing a connection with bytes unread makes the kernel reset it, and the client may never see the
 * answer. So the answer goes out, the rest of the body is thrown away for a moment, then it ends.
 */
function lingerThenEnd(
  response: ServerResponse,
  request: HttpRequest,
  options: RespondOptions,
): void {
  const { message } = request
  const end = (): void => {
    clearTimeout(timer)
    message.off('end', end).off('close', end)
    response.end()
  }
  const timer = setTimeout(end, options.lingerMs)
  message.on('end', end).on('close', end).on('error', ignoreReset)
  message.resume()
}

/** The client may reset the connection as soon as it has the answer: that is its right. */
function ignoreReset(): void {}
