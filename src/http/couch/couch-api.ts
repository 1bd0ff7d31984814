/**
 * CouchDB's protocol as the lifecycle wants it: who sends the request, may they come here, which handler, and how
 * failures look. The steps in order are in `http/kit/lifecycle.ts`.
 */

import { Failure, isFailure } from '../../base/errors.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import { HEADER_NAMES } from '../../base/product-names.ts'
import { authenticatedCheck, metricsCheck, serverAdminCheck } from '../../core/auth/authorize.ts'
import { isServerAdmin, type User } from '../../core/auth/user.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { DatabaseOperations, ServerOperations } from '../../core/operations/operations.ts'
import { type Api, dispatch } from '../kit/lifecycle.ts'
import type { Reply } from '../kit/reply.ts'
import type { HttpRequest } from '../kit/request.ts'
import { type Match, type Params, Router } from '../kit/router.ts'
import { corsFor } from './cross-origin.ts'
import { presentFailure } from './error-table.ts'
import { type CouchRoute, Exchange, type Handler, jsonTypeFor, type Visitor } from './exchange.ts'
import { documentIdIn } from './parse-document.ts'
import { ROUTES } from './routes.ts'
import { credentialsOf } from './session.ts'

export class CouchApi implements Api<Visitor, CouchRoute> {
  readonly router = new Router<CouchRoute>(ROUTES)
  readonly #server: ServerOperations
  readonly #nodeLocal: boolean

  constructor(server: ServerOperations, options: { nodeLocal: boolean }) {
    this.#server = server
    this.#nodeLocal = options.nodeLocal
  }

  preflight(request: HttpRequest): Reply | undefined {
    return corsFor(request, this.#server.configuration)?.preflight()
  }

  identify(request: HttpRequest): MaybePromise<Visitor> {
    const nodeLocal = this.#nodeLocal
    const { authenticator, authSettings, configuration } = this.#server
    const anonymousAllowed =
      (request.rawPath === '/_session' && request.method === 'POST') ||
      (request.rawPath === '/_up' && configuration.get(SETTINGS.requireValidUserExceptForUp))
    const options = { nodeLocal, anonymousAllowed }
    return after(
      authenticator.authenticate(credentialsOf(request), authSettings, options),
      ({ user, setCookie, upgrade }) => {
        if (upgrade !== undefined) this.#server.upgradePassword(upgrade)
        return setCookie === undefined ? { user, nodeLocal } : { user, nodeLocal, setCookie }
      },
    )
  }

  admit(match: Match<CouchRoute>, request: HttpRequest, visitor: Visitor): MaybePromise<void> {
    visitor.route = match.route
    const { user } = visitor
    switch (match.route.access) {
      case 'everybody':
        return
      case 'user':
        return authenticatedCheck(user)
      case 'metrics':
        return metricsCheck(user)
      case 'lister':
        if (this.#server.configuration.get(SETTINGS.adminOnlyAllDbs)) serverAdminCheck(user)
        return
      case 'admin':
        return serverAdminCheck(user)
      case 'database':
        return this.#admitToDatabase(match, request, visitor)
    }
  }

  handle(
    handler: Handler,
    { params }: Match<CouchRoute>,
    request: HttpRequest,
    visitor: Visitor,
  ): Reply | Promise<Reply> {
    const redirected = (other: HttpRequest) => dispatch(this, other, visitor)
    return handler(
      new Exchange({ request, params, visitor, server: this.#server, dispatch: redirected }),
    )
  }

  /** Whatever no route matches is a place below a database that nobody lives at. */
  fallback(): Reply {
    throw new Failure('route_missing')
  }

  presentFailure(failure: Failure, request: HttpRequest, visitor: Visitor | undefined): Reply {
    const { dialect } = this.#server
    const jsonErrorIs400 = visitor?.route?.jsonErrorIs400 === true
    const { status, error, reason } = presentFailure(failure, dialect, jsonErrorIs400)
    const headers = ['Content-Type', jsonTypeFor(request, dialect)]
    const { allow, details } = failure.detail
    const more = details === undefined ? {} : { code: status, details }
    const body = `${JSON.stringify({ error, reason, ...more })}\n`
    if (failure.code === 'method_not_allowed' && typeof allow === 'string') {
      headers.push('Allow', allow)
    }
    if (status === 401) {
      const location = this.#loginPage(request, reason)
      if (location !== undefined) {
        return { status: 302, headers: [...headers, 'Location', location], body }
      }
      headers.push(...this.#challenge(request))
    }
    return { status, headers, body }
  }

  decorate(request: HttpRequest, visitor: Visitor | undefined): readonly string[] {
    const cors = corsFor(request, this.#server.configuration)?.headers() ?? []
    return visitor?.setCookie === undefined ? cors : [...cors, 'Set-Cookie', visitor.setCookie]
  }

  userName({ user }: Visitor): string | undefined {
    return user.name ?? undefined
  }

  #admitToDatabase(
    { params, route }: Match<CouchRoute>,
    request: HttpRequest,
    visitor: Visitor,
  ): MaybePromise<void> {
    const name = params.get('db')
    const isDatabaseItself = route.path === '/{db}'
    if (isDatabaseItself && (request.method === 'PUT' || request.method === 'DELETE')) {
      return serverAdminCheck(visitor.user)
    }
    if (
      request.method === 'OPTIONS' &&
      visitor.user.name === null &&
      !isServerAdmin(visitor.user)
    ) {
      // A preflight that CORS did not allow: strangers learn nothing about what is here.
      throw new Failure('unauthorized')
    }
    if (name.startsWith('_') && !isServerAdmin(visitor.user)) {
      return this.#admitToSystemDatabase(name, route, visitor)
    }
    if (route.serverAdmin === true) serverAdminCheck(visitor.user)
    const documentId = route.readsDocument ? documentReadFirst(params, request) : undefined
    return after(this.#server.open(visitor.user, name, documentId), database => {
      visitor.database = database
    })
  }

  async #admitToSystemDatabase(name: string, route: CouchRoute, visitor: Visitor): Promise<void> {
    if (!(await this.#exists(name))) serverAdminCheck(visitor.user)
    if (route.serverAdmin === true) serverAdminCheck(visitor.user)
    visitor.database = await this.#openSystem(visitor.user, name, route)
  }

  /** Lists of system databases are for admins; whoever may not come in at all is told that, as in CouchDB. */
  async #openSystem(user: User, name: string, { path }: CouchRoute): Promise<DatabaseOperations> {
    try {
      return await this.#server.open(user, name)
    } catch (thrown) {
      const isList = path === '/{db}/_all_docs' || path === '/{db}/_changes'
      if (isList && isFailure(thrown, 'forbidden')) serverAdminCheck(user)
      throw thrown
    }
  }

  async #exists(name: string): Promise<boolean> {
    return (await this.#server.databaseInfo(name)) !== undefined
  }

  /** Browsers that cannot read JSON are sent to a page where people can log in. */
  #loginPage(request: HttpRequest, reason: unknown): string | undefined {
    const wantsPage = request.acceptNames('text/html') && !request.accepts('application/json')
    const target = this.#server.configuration.get(SETTINGS.authenticationRedirect)
    if (!wantsPage || target === '') return undefined
    const back = encodeURIComponent(request.target)
    const location = `${target}?return=${back}&reason=${encodeURIComponent(String(reason))}`
    return request.origin + location
  }

  #challenge(request: HttpRequest): string[] {
    const { configuration, authSettings } = this.#server
    const asked = request.firstHeader(HEADER_NAMES.wwwAuthenticate)
    if (asked !== undefined) return ['WWW-Authenticate', asked]
    const configured = configuration.get(SETTINGS.wwwAuthenticate)
    if (configured !== '') return ['WWW-Authenticate', configured]
    const required = this.#nodeLocal
      ? authSettings.nodeRequireValidUser
      : authSettings.requireValidUser
    return required ? ['WWW-Authenticate', 'Basic realm="server"'] : []
  }
}

/** Its winner, that is; undefined where something else is asked for. */
function documentReadFirst(params: Params, request: HttpRequest): string | undefined {
  if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
  const { query } = request
  const isWinner = !query.has('rev') && !query.has('open_revs')
  return isWinner ? documentIdIn(params, request) : undefined
}
