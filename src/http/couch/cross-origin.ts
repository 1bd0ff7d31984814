/** CORS by configuration: the section `cors`, or `cors:<host>` for one host alone. Parsed once per configuration. */
import { HEADER_NAMES } from '../../base/product-names.ts'
import type { Configuration } from '../../core/configuration/configuration.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import { CORS_DEFAULTS, type CorsSettings, corsHeaders, preflightReply } from '../kit/cors.ts'
import type { Reply } from '../kit/reply.ts'
import type { HttpRequest } from '../kit/request.ts'

export interface Cors {
  preflight(): Reply | undefined
  headers(): readonly string[]
}

/** Undefined where CORS is off. */
export function corsFor(request: HttpRequest, configuration: Configuration): Cors | undefined {
  if (!configuration.get(SETTINGS.enableCors)) return undefined
  if (request.message.headers.origin === undefined) return SAME_ORIGIN
  const settings = settingsFor(request, configuration)
  return {
    preflight: () => preflightReply(request, settings),
    headers: () => [...corsHeaders(request, settings), ...VARY],
  }
}

/** The origin is echoed, so caches must keep an answer per origin. */
const VARY = ['Vary', 'Origin']
const SAME_ORIGIN: Cors = { preflight: () => undefined, headers: () => VARY }

/** Our own names of headers that CouchDB's clients know under others. */
const OWN_HEADERS = [
  ...HEADER_NAMES.fullCommit,
  ...HEADER_NAMES.persist,
  ...HEADER_NAMES.requestId,
  ...HEADER_NAMES.wwwAuthenticate,
  ...HEADER_NAMES.vhostPath,
]

function settingsFor(request: HttpRequest, configuration: Configuration): CorsSettings {
  const host = request.header('host')
  const own = host === undefined ? {} : configuration.section(`cors:${host}`)
  const origins = own.origins ?? configuration.get(SETTINGS.corsOrigins)
  const credentials = own.credentials ?? String(configuration.get(SETTINGS.corsCredentials))
  const headers = list(own.headers ?? configuration.get(SETTINGS.corsHeaders))
  const methods = list(own.methods ?? configuration.get(SETTINGS.corsMethods))
  const exposed = list(own.exposed_headers ?? configuration.get(SETTINGS.corsExposedHeaders))
  return {
    origins: origins === '*' ? '*' : list(origins),
    credentials: credentials === 'true',
    headers: [...CORS_DEFAULTS.headers, ...OWN_HEADERS, ...headers.map(name => name.toLowerCase())],
    methods: methods.length === 0 ? CORS_DEFAULTS.methods : methods,
    exposedHeaders: [...CORS_DEFAULTS.exposedHeaders, ...exposed],
    maxAgeSeconds: configuration.get(SETTINGS.corsMaxAgeS),
  }
}

const list = (text: string): string[] =>
  text
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
