/** A small API for the tests of the kit: handlers by path, failures as their code, everything logged. */
import { Log } from '../../../../src/base/log.ts'
import type { AccessEntry } from '../../../../src/http/kit/access-log.ts'
import { HttpServer, type HttpServerOptions } from '../../../../src/http/kit/http-server.ts'
import { type Api, answererOf } from '../../../../src/http/kit/lifecycle.ts'
import { jsonReply, type Reply } from '../../../../src/http/kit/reply.ts'
import {
  type HttpRequest,
  REQUEST_DEFAULTS,
  type RequestOptions,
  RequestScope,
} from '../../../../src/http/kit/request.ts'
import { RESPOND_DEFAULTS, type RespondOptions } from '../../../../src/http/kit/respond.ts'
import { type Params, Router, type RouteShape } from '../../../../src/http/kit/router.ts'

export type Handler = (request: HttpRequest, params: Params, user: string) => Reply | Promise<Reply>
export type TinyApi = Api<string, RouteShape<Handler>>

const STATUSES: Readonly<Record<string, number>> = {
  url_invalid: 400,
  url_too_long: 414,
  request_invalid: 400,
  request_too_large: 413,
  content_encoding_unsupported: 415,
  method_not_allowed: 405,
  unauthorized: 401,
  route_missing: 404,
  unexpected: 500,
}

export interface TinyOptions {
  readonly routes: Readonly<Record<string, Handler | Readonly<Record<string, Handler>>>>
  readonly api?: Partial<TinyApi>
  readonly request?: Partial<RequestOptions>
  readonly respond?: Partial<RespondOptions>
  readonly server?: Partial<HttpServerOptions>
}

export function tinyServer(options: TinyOptions) {
  const lines: string[] = []
  const entries: AccessEntry[] = []
  const log = new Log({ level: 'debug', format: 'json', sink: { write: line => lines.push(line) } })
  const routes = Object.entries(options.routes).map(([path, handlers]) => ({
    path,
    methods: typeof handlers === 'function' ? { GET: handlers } : handlers,
  }))
  const api: TinyApi = {
    router: new Router(routes),
    identify: request => request.header('authorization') ?? 'nobody',
    admit: () => {},
    handle: (handler, match, request, user) => handler(request, match.params, user),
    fallback: () => jsonReply(404, '{"error":"route_missing"}'),
    presentFailure: failure =>
      jsonReply(
        STATUSES[failure.code] ?? 400,
        JSON.stringify({ error: failure.code, reason: failure.detail.reason }),
      ),
    userName: user => user,
    ...options.api,
  }
  const answer = answererOf(api)
  const scope = new RequestScope({ ...REQUEST_DEFAULTS, ...options.request })
  const server = new HttpServer({
    scope,
    life: {
      choose: () => answer,
      respond: { ...RESPOND_DEFAULTS, ...options.respond },
      log,
      onDone: entry => entries.push(entry),
    },
    ...options.server,
  })
  return { server, api, scope, lines, entries }
}

export async function* pieces<T>(...items: readonly T[]): AsyncGenerator<T, void, undefined> {
  yield* items
}

/** Turns of the event loop until the condition holds; gives up after many. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 5000 && !condition(); turn++) {
    await new Promise(resolve => setImmediate(resolve))
  }
  if (!condition()) throw new Error('the condition never came true')
}
