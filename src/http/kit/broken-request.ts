/**
 * Answers to what never became a request: bytes that node:http's parser refuses.
 *
 * There is no request object then, so the reply is written as text and the connection closes after it.
 * `brokenReply` is the default in CouchDB's shape; an API may present them in its own way.
 */
import { jsonReply, type Reply } from './reply.ts'
import { reasonPhrase } from './response-head.ts'

export interface BrokenRequest {
  readonly kind: 'malformed' | 'head_too_large' | 'unknown_method' | 'timeout'
  /** As far as they could be read. */
  readonly method?: string
  readonly target?: string
}

export function brokenReply(broken: BrokenRequest): Reply {
  switch (broken.kind) {
    case 'head_too_large':
      return errorReply(431, 'too_large', 'The request line and headers are too large.')
    case 'timeout':
      return errorReply(408, 'timeout', 'The request headers did not come in time.')
    case 'unknown_method':
      return errorReply(405, 'method_not_allowed', 'The method is not known.')
    case 'malformed':
      return errorReply(400, 'bad_request', 'The request is malformed.')
  }
}

const errorReply = (status: number, error: string, reason: string): Reply =>
  jsonReply(status, JSON.stringify({ error, reason }))

/** The whole answer as bytes. Only for replies whose body is there, not streamed. */
export function wholeAnswer(reply: Reply): Buffer {
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
  const lines = [`HTTP/1.1 ${reply.status} ${reply.reasonPhrase ?? reasonPhrase(reply.status)}`]
  for (let at = 0; at + 1 < reply.headers.length; at += 2) {
    lines.push(`${reply.headers[at]}: ${reply.headers[at + 1]}`)
  }
  lines.push(`Content-Length: ${bytes.length}`, 'Connection: close', '', '')
  return Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), bytes])
}
