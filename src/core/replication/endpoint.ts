/**
 * Where one end of a replication is: a URL with how to log in there, or a database of this server by its bare name.
 * What is shown to anybody never has a password in it.
 */
import { Failure } from '../../base/errors.ts'
import type { NamedEndpoint } from './replication-id.ts'

export type Endpoint = RemoteEndpoint | LocalEndpoint

export interface LocalEndpoint {
  readonly kind: 'local'
  readonly name: string
}

export interface RemoteEndpoint {
  readonly kind: 'remote'
  /** Without user and password, with a slash at the end. */
  readonly url: URL
  readonly user: string | undefined
  readonly password: string | undefined
  /** Without `Authorization: Basic`, which is in user and password. */
  readonly headers: readonly (readonly [string, string])[]
  readonly proxy: string | undefined
}

/** @param given a name, a URL, or `{url, headers, auth}` */
export function parseEndpoint(given: unknown, proxy: string | undefined): Endpoint {
  if (typeof given === 'string') return fromText(given, [], undefined, proxy)
  if (typeof given !== 'object' || given === null) throw missingUrl()
  const { url, headers, auth } = given as { url?: unknown; headers?: unknown; auth?: unknown }
  if (typeof url !== 'string') throw missingUrl()
  return fromText(url, readHeaders(headers), readAuth(auth), proxy)
}

/** For people: user info without the password. */
export function showEndpoint(endpoint: Endpoint): string {
  if (endpoint.kind === 'local') return endpoint.name
  return showUrl(endpoint.url)
}

const showUrl = (url: URL): string => `${url.origin}${url.pathname}${url.search}`

/** A proxy's address without the password that may be in it. */
export function showProxy(proxy: string | undefined): string | null {
  if (proxy === undefined) return null
  try {
    const url = new URL(proxy)
    return `${url.protocol}//${url.host}`
  } catch {
    return null
  }
}

/** @param local where a bare name of this server would be found */
export function nameEndpoint(
  endpoint: Endpoint,
  local: { readonly user: string | null; readonly port: number },
): NamedEndpoint {
  if (endpoint.kind === 'local') {
    const path = `/${encodeURIComponent(endpoint.name)}/`
    return {
      url: `http://localhost:${local.port}${path}`,
      user: local.user ?? undefined,
      host: 'localhost',
      port: usualPort('http:', local.port),
      path,
      headers: [],
    }
  }
  const { url, user, headers } = endpoint
  const port = usualPort(url.protocol, url.port === '' ? undefined : Number(url.port))
  return { url: url.href, user, host: url.hostname, port, path: url.pathname, headers }
}

const usualPort = (protocol: string, port: number | undefined): number | undefined =>
  protocol === 'http:' && port === 5984 ? undefined : port

function fromText(
  text: string,
  headers: readonly (readonly [string, string])[],
  auth: Credentials | undefined,
  proxy: string | undefined,
): Endpoint {
  if (!/^https?:\/\//i.test(text)) {
    if (/^[a-z][a-z0-9+.-]*:/i.test(text) || text === '') throw invalidUrl()
    return { kind: 'local', name: text }
  }
  const url = parseUrl(text)
  const inUrl = userInfo(url)
  url.username = ''
  url.password = ''
  url.hash = ''
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  const basic = headers.find(isBasic)
  const fromHeader = basic === undefined ? undefined : readBasic(basic[1])
  const login = auth ?? inUrl ?? fromHeader
  return {
    kind: 'remote',
    url,
    user: login?.user,
    password: login?.password,
    headers: fromHeader === undefined ? headers : headers.filter(header => !isBasic(header)),
    proxy: proxy === undefined ? undefined : checkedProxy(proxy),
  }
}

interface Credentials {
  readonly user: string
  readonly password: string
}

function parseUrl(text: string): URL {
  try {
    return new URL(text)
  } catch (thrown) {
    throw invalidUrl(thrown)
  }
}

function userInfo(url: URL): Credentials | undefined {
  if (url.username === '') return undefined
  try {
    return {
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
    }
  } catch (thrown) {
    throw invalidUrl(thrown)
  }
}

function checkedProxy(proxy: string): string {
  if (/^(?:https?|socks5):\/\/[^/]/i.test(proxy) && URL.canParse(proxy)) return proxy
  throw new Failure('request_invalid', {
    reason: 'parameter `proxy` must be a URL of protocol http or socks5',
  })
}

const isBasic = ([name, value]: readonly [string, string]): boolean =>
  name.toLowerCase() === 'authorization' && /^basic /i.test(value)

function readBasic(value: string): Credentials | undefined {
  const text = Buffer.from(value.slice(6).trim(), 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) }
}

function readHeaders(headers: unknown): (readonly [string, string])[] {
  if (headers === undefined || headers === null) return []
  if (typeof headers !== 'object' || Array.isArray(headers)) throw invalidHeaders()
  return Object.entries(headers).map(([name, value]) => {
    const isPlain = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && typeof value === 'string'
    if (!isPlain || /[^\t\x20-\x7e\x80-\xff]/.test(value)) throw invalidHeaders()
    return [name, value] as const
  })
}

function readAuth(auth: unknown): Credentials | undefined {
  const basic = (auth as { basic?: unknown } | undefined | null)?.basic
  if (basic === undefined || basic === null) return undefined
  const { username, password } = basic as { username?: unknown; password?: unknown }
  if (typeof username !== 'string' || typeof password !== 'string') {
    throw new Failure('request_invalid', {
      reason: '`auth` must hold the texts `basic.username` and `basic.password`',
    })
  }
  return { user: username, password }
}

const invalidUrl = (cause?: unknown): Failure =>
  new Failure(
    'request_invalid',
    { error: 'invalid_replication', reason: 'endpoint has an invalid url' },
    cause,
  )

const missingUrl = (): Failure =>
  new Failure('request_invalid', { reason: 'Missing replicator database' })

const invalidHeaders = (): Failure =>
  new Failure('request_invalid', { reason: 'parameter `headers` must be an object of texts' })
