/**
 * Status line and headers: adds what every answer has and puts all in alphabetical order, as CouchDB does.
 *
 * Promises: `Cache-Control: must-revalidate` unless the handler said otherwise, Date (made once a second),
 * Server, request id and body time under the names of the options; `Prefer: return=minimal` keeps the
 * short list only. Leaves to others: the length, and writing (respond.ts).
 */
import { assert } from '../../base/assert.ts'
import type { Reply } from './reply.ts'
import type { HttpRequest } from './request.ts'

export interface HeadOptions {
  readonly serverHeader: string
  /** Header names of the answer; undefined leaves the header out. */
  readonly requestIdHeader: string | undefined
  readonly bodyTimeHeader: string | undefined
  /** What `Prefer: return=minimal` keeps besides Date, names in lower case. */
  readonly preferMinimal: ReadonlySet<string>
}

export const HEAD_DEFAULTS: HeadOptions = {
  serverHeader: 'Svc',
  requestIdHeader: 'X-Svc-Request-ID',
  bodyTimeHeader: 'X-Svc-Body-Time',
  preferMinimal: new Set([
    'cache-control',
    'content-length',
    'content-range',
    'content-type',
    'etag',
    'server',
    'transfer-encoding',
    'vary',
  ]),
}

/** How the end of the body will be known: its length, in chunks, or by neither (no body, HTTP/1.0). */
export type Framing = number | 'chunked' | 'none'

export function headersOf(
  reply: Reply,
  request: HttpRequest,
  framing: Framing,
  options: HeadOptions,
): string[] {
  const head: string[] = []
  const given = reply.headers
  if (!includesName(given, 'cache-control')) head.push('Cache-Control', 'must-revalidate')
  if (typeof framing === 'number') head.push('Content-Length', String(framing))
  for (const text of given) head.push(text)
  head.push('Date', httpDate(Date.now()), 'Server', options.serverHeader)
  if (framing === 'chunked') head.push('Transfer-Encoding', 'chunked')
  if (reply.withoutRequestHeaders !== true) pushRequestHeaders(head, request, options)
  sortByName(head)
  return wantsMinimal(request) ? keepOnly(head, options.preferMinimal) : head
}

function pushRequestHeaders(head: string[], request: HttpRequest, options: HeadOptions): void {
  if (options.bodyTimeHeader !== undefined) {
    head.push(options.bodyTimeHeader, String(request.bodyReadMs))
  }
  if (options.requestIdHeader !== undefined) head.push(options.requestIdHeader, request.requestId)
}

function includesName(headers: readonly string[], wanted: string): boolean {
  for (let at = 0; at < headers.length; at += 2) {
    const name = lowerCase(headers[at] as string)
    assert(name !== 'content-length' && name !== 'transfer-encoding', 'the kit frames the body')
    if (name === wanted) return true
  }
  return false
}

/** Insertion sort: a handful of pairs that are nearly in order already. Equal names keep their order. */
function sortByName(head: string[]): void {
  for (let at = 2; at < head.length; at += 2) {
    const name = head[at] as string
    const value = head[at + 1] as string
    const key = lowerCase(name)
    let to = at
    while (to > 0 && lowerCase(head[to - 2] as string) > key) {
      head[to] = head[to - 2] as string
      head[to + 1] = head[to - 1] as string
      to -= 2
    }
    head[to] = name
    head[to + 1] = value
  }
}

/** Names come from our own code and are few; those of design functions must not fill the memory. */
const LOWER_COUNT_MAX = 1000
const lowered = new Map<string, string>()

function lowerCase(name: string): string {
  const known = lowered.get(name)
  if (known !== undefined) return known
  const lower = name.toLowerCase()
  if (lowered.size < LOWER_COUNT_MAX) lowered.set(name, lower)
  return lower
}

const wantsMinimal = (request: HttpRequest): boolean =>
  request.header('prefer') === 'return=minimal'

function keepOnly(head: readonly string[], names: ReadonlySet<string>): string[] {
  return head.filter((_text, at) => {
    const name = lowerCase(head[at - (at % 2)] as string)
    return name === 'date' || names.has(name)
  })
}

let dateSecond = -1
let dateText = ''

/** The text of the current second, made once for all answers of that second. */
function httpDate(nowMs: number): string {
  const second = Math.floor(nowMs / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(second * 1000).toUTCString()
  }
  return dateText
}

const PHRASES: Readonly<Record<number, string>> = {
  100: 'Continue',
  101: 'Switching Protocols',
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  203: 'Non-Authoritative Information',
  204: 'No Content',
  205: 'Reset Content',
  206: 'Partial Content',
  300: 'Multiple Choices',
  301: 'Moved Permanently',
  302: 'Moved Temporarily',
  303: 'See Other',
  304: 'Not Modified',
  305: 'Use Proxy',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Object Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  407: 'Proxy Authentication Required',
  408: 'Request Time-out',
  409: 'Conflict',
  410: 'Gone',
  411: 'Length Required',
  412: 'Precondition Failed',
  413: 'Request Entity Too Large',
  414: 'Request-URI Too Large',
  415: 'Unsupported Media Type',
  416: 'Requested Range Not Satisfiable',
  417: 'Expectation Failed',
  422: 'Unprocessable Entity',
  423: 'Locked',
  426: 'Upgrade Required',
  428: 'Precondition Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Time-out',
  505: 'HTTP Version Not Supported',
  507: 'Insufficient Storage',
}

/** CouchDB's words for the status; codes it does not know are all "Internal Server Error". */
export const reasonPhrase = (status: number): string => PHRASES[status] ?? 'Internal Server Error'
