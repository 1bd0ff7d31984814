/**
 * The request as functions of design documents see it: one JSON object with the members and the order of CouchDB.
 *
 * Credentials are taken out unless the configuration says otherwise: the authors of design documents need not know the
 * passwords and cookies of those who run their functions.
 */
import { randomUUID } from 'node:crypto'
import { Failure } from '../../base/errors.ts'
import { HEADER_NAMES } from '../../base/product-names.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { HttpRequest } from '../kit/request.ts'
import { Query } from '../kit/url.ts'
import { presentInfo } from './databases.ts'
import type { Exchange } from './exchange.ts'

export interface RequestObjectParts {
  /** The document the function is about, if any. */
  readonly id?: string | undefined
  /** The body where it was read already. */
  readonly body?: Buffer | undefined
  /** Rewrite functions get no `info`, `uuid`, `id` and `form`. */
  readonly isRewrite?: boolean
}

/** Bytes of a body that is handed to a function: it becomes a string in a process of bounded memory. */
const BODY_BYTES_MAX = 32 * 1024 * 1024

export const readFunctionBody = (exchange: Exchange): Promise<Buffer | undefined> =>
  hasBody(exchange.request)
    ? exchange.request.bytes({ limitBytes: BODY_BYTES_MAX })
    : Promise.resolve(undefined)

/** JSON text. */
export async function requestObject(
  exchange: Exchange,
  { id, body, isRewrite = false }: RequestObjectParts = {},
): Promise<Buffer> {
  const { request, database, user } = exchange
  const scrubs = exchange.server.configuration.get(SETTINGS.scrubFunctionRequests)
  const members: string[] = []
  const add = (name: string, text: string): void => void members.push(`"${name}":${text}`)
  const addValue = (name: string, value: unknown): void => add(name, JSON.stringify(value))
  if (!isRewrite) {
    addValue('info', presentInfo(await database.info()))
    addValue('uuid', exchange.server.newIds(1)[0] ?? randomUUID().replaceAll('-', ''))
    addValue('id', id ?? null)
  }
  addValue('method', methodOf(request))
  addValue('requested_path', pathParts(request.message.url ?? '/'))
  addValue('path', request.segments)
  addValue('raw_path', request.target)
  add('query', queryText(request.query))
  add('headers', textObject(headersOf(request, scrubs)))
  addValue('body', body === undefined ? 'undefined' : body.toString())
  addValue('peer', request.peerAddress)
  if (!isRewrite) add('form', textObject(formOf(request, body)))
  add('cookie', textObject(scrubs ? [] : cookiesOf(request)))
  addValue('userCtx', { db: database.name, name: user.name, roles: user.roles })
  add('secObj', (await database.securityForFunctions()).toString())
  return Buffer.from(`{${members.join(',')}}`)
}

/** HEAD is a GET whose body is not sent. */
export const methodOf = ({ method }: HttpRequest): string => (method === 'HEAD' ? 'GET' : method)

const hasBody = (request: HttpRequest): boolean =>
  request.hasReplacedBody ||
  request.header('transfer-encoding') !== undefined ||
  request.header('content-length') !== undefined

/** As the client sent it, before any rewrite, split at slashes with the query left where it is. */
const pathParts = (target: string): string[] =>
  target
    .split('/')
    .filter(part => part !== '')
    .map(decodePart)

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part.replaceAll('+', ' '))
  } catch {
    // Not UTF-8: shown as it came.
    return part
  }
}

type Pairs = readonly (readonly [name: string, value: string])[]

/** Written member by member: names such as `__proto__` are names like any other. */
const textObject = (pairs: Pairs): string =>
  `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`

/** Parameters that are JSON; all others are texts. */
const JSON_PARAMETERS = new Set(['key', 'startkey', 'endkey', 'descending'])

function queryText(query: Query): string {
  const members = query.all().map(([name, value]) => {
    return `${JSON.stringify(name)}:${JSON_PARAMETERS.has(name) ? jsonText(value) : JSON.stringify(value)}`
  })
  return `{${members.join(',')}}`
}

function jsonText(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch (thrown) {
    throw new Failure('request_invalid', { reason: 'invalid UTF-8 JSON' }, thrown)
  }
}

const CREDENTIALS: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  ...HEADER_NAMES.authToken,
])

/** Names are spelt with capitals, however the client spelt them. */
function headersOf(request: HttpRequest, scrubs: boolean): [string, string][] {
  const headers: [string, string][] = []
  for (const name of request.headerNames) {
    if (scrubs && CREDENTIALS.has(name)) continue
    const spelt = name.replace(/(^|-)[a-z]/g, start => start.toUpperCase())
    headers.push([spelt, request.header(name) ?? ''])
  }
  return headers
}

function formOf(request: HttpRequest, body: Buffer | undefined): Pairs {
  const isForm = request.contentType.toLowerCase() === 'application/x-www-form-urlencoded'
  const isSent = request.method === 'POST' || request.method === 'PUT'
  return isForm && isSent && body !== undefined ? new Query(body.toString('latin1')).all() : []
}

function cookiesOf(request: HttpRequest): Pairs {
  const pairs: [string, string][] = []
  for (const part of (request.header('cookie') ?? '').split(';')) {
    const equals = part.indexOf('=')
    if (equals > 0) pairs.push([part.slice(0, equals).trim(), part.slice(equals + 1).trim()])
  }
  return pairs
}
