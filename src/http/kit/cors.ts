/**
 * Cross-origin requests: which headers browsers get to see. Pure functions of settings and headers.
 *
 * Promises: CouchDB's rules: the origin is echoed, even for `*`; a preflight that is not allowed goes on
 * as an ordinary OPTIONS request; refused origins get no header at all.
 * Leaves to others: reading the settings (including a section for one host), when CORS is on.
 */
import { emptyReply, type Reply } from './reply.ts'

export interface CorsSettings {
  readonly origins: '*' | readonly string[]
  readonly credentials: boolean
  /** Allowed request headers, lower case. */
  readonly headers: readonly string[]
  readonly methods: readonly string[]
  readonly exposedHeaders: readonly string[]
  readonly maxAgeSeconds: number
}

export const CORS_DEFAULTS: CorsSettings = {
  origins: [],
  credentials: false,
  headers: [
    'accept',
    'accept-language',
    'authorization',
    'content-length',
    'content-range',
    'content-type',
    'destination',
    'expires',
    'if-match',
    'last-modified',
    'origin',
    'pragma',
    'x-couch-full-commit',
    'x-couch-id',
    'x-couch-persist',
    'x-couchdb-www-authenticate',
    'x-http-method-override',
    'x-requested-with',
    'x-couchdb-vhost-path',
  ],
  methods: ['CONNECT', 'COPY', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'TRACE'],
  exposedHeaders: [
    'content-type',
    'cache-control',
    'accept-ranges',
    'etag',
    'server',
    'x-couch-request-id',
    'x-couch-update-newrev',
    'x-couchdb-body-time',
  ],
  maxAgeSeconds: 600,
}

/** What both functions read of a request. */
export interface CorsRequest {
  readonly method: string
  header(name: string): string | undefined
}

/** The answer to an allowed preflight, undefined when the request is to go on as it is. */
export function preflightReply(request: CorsRequest, settings: CorsSettings): Reply | undefined {
  if (request.method !== 'OPTIONS') return undefined
  const origin = allowedOrigin(request, settings)
  const method = request.header('access-control-request-method')
  if (origin === undefined || method === undefined || !settings.methods.includes(method)) {
    return undefined
  }
  const asked = request.header('access-control-request-headers') ?? ''
  const names = splitList(asked).map(name => name.toLowerCase())
  if (!names.every(name => settings.headers.includes(name))) return undefined
  return emptyReply(204, [
    ...originHeaders(origin, settings),
    'Access-Control-Allow-Headers',
    asked,
    'Access-Control-Allow-Methods',
    settings.methods.join(', '),
    'Access-Control-Max-Age',
    String(settings.maxAgeSeconds),
  ])
}

/** Headers for every other answer, errors too. Flat list, empty for strangers. */
export function corsHeaders(request: CorsRequest, settings: CorsSettings): readonly string[] {
  const origin = allowedOrigin(request, settings)
  if (origin === undefined) return []
  const exposed = settings.exposedHeaders.join(', ')
  return [...originHeaders(origin, settings), 'Access-Control-Expose-Headers', exposed]
}

function allowedOrigin(request: CorsRequest, settings: CorsSettings): string | undefined {
  const origin = request.header('origin')
  if (origin === undefined) return undefined
  return settings.origins === '*' || settings.origins.includes(origin) ? origin : undefined
}

const originHeaders = (origin: string, settings: CorsSettings): readonly string[] => [
  'Access-Control-Allow-Origin',
  origin,
  ...(settings.credentials ? ['Access-Control-Allow-Credentials', 'true'] : []),
]

const splitList = (text: string): string[] =>
  text
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
