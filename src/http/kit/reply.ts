/**
 * What a handler returns: a value that says what to send. No socket in sight.
 *
 * `headers` is a flat list (name, value, name, value ...), as node:http takes it fastest. Length, date,
 * server and the like are added by respond.ts. JSON bodies end with a line feed, added by `jsonReply`.
 * A streamed body is pulled at the client's pace; it may yield FLUSH to say "send what you have".
 */
export const FLUSH: unique symbol = Symbol('flush')

export type BodyPiece = Buffer | string | typeof FLUSH

export interface Reply {
  readonly status: number
  readonly headers: readonly string[]
  readonly body?: Buffer | string | AsyncIterable<BodyPiece>
  /** A whole body that goes out as a streamed one does: clients see no difference between short and long answers. */
  readonly inChunks?: boolean
  /** How many bytes a streamed body will have, where that is known: it is then not sent in chunks. */
  readonly lengthBytes?: number
  /** Instead of the usual text for the status. */
  readonly reasonPhrase?: string
  /** Leaves out request id and body time: some routes of CouchDB have neither. */
  readonly withoutRequestHeaders?: boolean
}

const JSON_HEADERS: readonly string[] = ['Content-Type', 'application/json']

/** @param json JSON text without a line feed at its end */
export function jsonReply(
  status: number,
  json: string | Buffer,
  headers: readonly string[] = JSON_HEADERS,
): Reply {
  return { status, headers, body: typeof json === 'string' ? `${json}\n` : withLineFeed(json) }
}

function withLineFeed(json: Buffer): Buffer {
  const body = Buffer.allocUnsafe(json.length + 1)
  json.copy(body)
  body[json.length] = 0x0a
  return body
}

export function streamReply(
  status: number,
  headers: readonly string[],
  body: AsyncIterable<BodyPiece>,
  lengthBytes?: number,
): Reply {
  return lengthBytes === undefined
    ? { status, headers, body }
    : { status, headers, body, lengthBytes }
}

export const emptyReply = (status: number, headers: readonly string[] = []): Reply => ({
  status,
  headers,
})

export const textReply = (
  status: number,
  text: string,
  contentType = 'text/plain; charset=utf-8',
): Reply => ({ status, headers: ['Content-Type', contentType], body: text })

/** The same reply with further headers behind its own. */
export const withHeaders = (reply: Reply, headers: readonly string[]): Reply =>
  headers.length === 0 ? reply : { ...reply, headers: [...reply.headers, ...headers] }

/** The value of a reply's header, by any spelling. */
export function replyHeader(reply: Reply, name: string): string | undefined {
  const wanted = name.toLowerCase()
  for (let at = 0; at + 1 < reply.headers.length; at += 2) {
    if (reply.headers[at]?.toLowerCase() === wanted) return reply.headers[at + 1]
  }
  return undefined
}
