/**
 * The response object that functions of design documents answer, as a reply.
 *
 * It comes from strangers' code, so everything is checked: members that mean nothing, statuses that are none and
 * headers that would break the protocol are the function's error. How the body is framed and sent stays the server's
 * business, whatever headers say about it, and so does the policy that keeps pages of functions away from the session
 * of whoever reads them.
 */
import { Failure } from '../../base/errors.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { JsonValue } from '../../core/mango/json-value.ts'
import { printTermReadably } from '../../core/mango/print-term.ts'
import type { Reply } from '../kit/reply.ts'
import type { Exchange } from './exchange.ts'

export interface FunctionResponse {
  readonly code: number | undefined
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly contentType: string | undefined
  /** Bytes: with a text, headers beyond ASCII would be encoded once more on the way. */
  readonly body: Buffer
}

const EMPTY = Buffer.alloc(0)

type Fields = Readonly<Record<string, unknown>>

/** @param text JSON text of an object; fails with `function_failed`, `external_response_error` */
export function parseFunctionResponse(text: Buffer): FunctionResponse {
  const response = JSON.parse(text.toString()) as Fields
  let code: number | undefined
  let headers: FunctionResponse['headers'] = []
  let contentType: string | undefined
  let body = EMPTY
  for (const [name, value] of Object.entries(response)) {
    if (name === 'code' && isStatus(value)) code = value
    else if (name === 'headers' && isObject(value)) headers = parseHeaders(value)
    else if (name === 'body' && typeof value === 'string') {
      body = Buffer.from(value)
      contentType = 'text/html; charset=utf-8'
    } else if (name === 'json') {
      body = Buffer.from(JSON.stringify(value))
      contentType = 'application/json'
    } else if (name === 'base64' && typeof value === 'string') {
      body = Buffer.from(value, 'base64')
      contentType = 'application/binary'
    } else if (name !== 'stop') throw invalidMember(name, value)
  }
  return { code, headers, contentType, body }
}

/** Headers that a reply sets beside those of the function; these win. */
type OwnHeaders = readonly (readonly [name: string, value: string])[]

/** The flat list of headers: the default type, the function's headers, ours. */
export function responseHeaders(
  exchange: Exchange,
  response: FunctionResponse,
  own: OwnHeaders = [],
  defaultType = 'text/html; charset=utf-8',
): string[] {
  const { configuration } = exchange.server
  const merged = new Map<string, readonly [name: string, value: string]>()
  const put = (name: string, value: string): void =>
    void merged.set(name.toLowerCase(), [name, value])
  put('Content-Type', response.contentType ?? defaultType)
  for (const [name, value] of response.headers) {
    if (!OURS.has(name.toLowerCase())) put(name, value)
  }
  if (configuration.get(SETTINGS.functionsCsp)) {
    put('Content-Security-Policy', configuration.get(SETTINGS.functionsCspValue))
  }
  for (const [name, value] of own) put(name, value)
  return [...merged.values()].flat()
}

export function functionReply(
  exchange: Exchange,
  response: FunctionResponse,
  { own = [], defaultCode = 200 }: { own?: OwnHeaders; defaultCode?: number } = {},
): Reply {
  const status = response.code ?? defaultCode
  return { status, headers: responseHeaders(exchange, response, own), body: response.body }
}

/** Bytes as they are, one character each, which is how headers are written. */
export const headerText = (text: string): string => Buffer.from(text).toString('latin1')

/** Framing and connections belong to the server. */
const OURS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'server',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const CONTROL = /[\u0000-\u0008\u000a-\u001f\u007f]/

function parseHeaders(fields: Fields): (readonly [string, string])[] {
  return Object.entries(fields).map(([name, value]) => {
    const isScalar = typeof value === 'string' || typeof value === 'number'
    const text = String(value)
    if (!isScalar || !NAME.test(name) || CONTROL.test(text)) throw invalidMember(name, value)
    return [name, headerText(text)]
  })
}

/** 1xx are no answers. */
const isStatus = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 200 && value <= 999

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function invalidMember(name: string, value: unknown): Failure {
  const term = `{${printTermReadably(name)},${printTermReadably(value as JsonValue)}}`
  const reason = `Invalid data from external server: ${term}`
  return new Failure('function_failed', { error: 'external_response_error', reason })
}
