/**
 * The application's API as the lifecycle wants it: who sends the request, may they come here, which handler, and how
 * failures look. Answers are JSON; plain text for those who ask for text and not for JSON; browsers that are not logged
 * in are sent to the login page.
 */

import { type AccessRule, accessCheck } from '../../app/access/access-rule.ts'
import type { Application } from '../../app/application.ts'
import { Failure, isFailure } from '../../base/errors.ts'
import { applicationDatabase } from '../../base/product-names.ts'
import type { Authenticated, RequestCredentials } from '../../core/auth/authenticate.ts'
import { ANONYMOUS } from '../../core/auth/user.ts'
import type { Api } from '../kit/lifecycle.ts'
import type { Reply } from '../kit/reply.ts'
import type { HttpRequest } from '../kit/request.ts'
import type { ProcessMetrics } from '../kit/request-metrics.ts'
import { type Match, Router } from '../kit/router.ts'
import { AppExchange, type AppHandler, type AppRoute, type AppVisitor } from './app-exchange.ts'
import { failureJson, failureText, type PresentedFailure, presentFailure } from './error-table.ts'
import { APP_ROUTES } from './routes.ts'

/** What both APIs of the server have in common. */
export interface SharedManners {
  credentialsOf(request: HttpRequest): RequestCredentials
  corsFor(
    request: HttpRequest,
  ): { preflight(): Reply | undefined; headers(): readonly string[] } | undefined
  /** What every process tells about itself. */
  gatherProcessMetrics(): Promise<readonly ProcessMetrics[]>
}

const LOGGED_IN: AccessRule = {}

export class AppApi implements Api<AppVisitor, AppRoute> {
  readonly router = new Router<AppRoute>(APP_ROUTES)
  readonly #application: Application
  readonly #manners: SharedManners

  constructor(application: Application, manners: SharedManners) {
    this.#application = application
    this.#manners = manners
  }

  preflight(request: HttpRequest): Reply | undefined {
    return this.#manners.corsFor(request)?.preflight()
  }

  async identify(request: HttpRequest): Promise<AppVisitor> {
    const { server } = this.#application
    const isOpen = this.#ruleFor(request)?.everybody === true
    try {
      const { user, setCookie, upgrade } = await this.#authenticate(request)
      if (upgrade !== undefined) server.upgradePassword(upgrade)
      return setCookie === undefined ? { user } : { user, setCookie }
    } catch (thrown) {
      if (isOpen && (isFailure(thrown, 'unauthorized') || isFailure(thrown, 'rate_limited'))) {
        return { user: ANONYMOUS }
      }
      throw thrown
    }
  }

  async admit(match: Match<AppRoute>, request: HttpRequest, visitor: AppVisitor): Promise<void> {
    visitor.route = match.route
    const rule = ruleOf(match.route, request.method)
    // Strangers learn that they are strangers, whatever state the application is in.
    if (rule.everybody !== true && visitor.user.name === null && !isAdminParty(visitor)) {
      throw new Failure('unauthorized')
    }
    if (rule.everybody === true && rule.needsNothing === true) return
    visitor.context = await this.#application.context()
    accessCheck(rule, visitor.user, visitor.context.settings)
  }

  handle(
    handler: AppHandler,
    { params }: Match<AppRoute>,
    request: HttpRequest,
    visitor: AppVisitor,
  ): Reply | Promise<Reply> {
    const application = this.#application
    const { gatherProcessMetrics } = this.#manners
    const credentials = this.#manners.credentialsOf(request)
    const sender = { request, params, visitor, credentials }
    return handler(new AppExchange({ ...sender, application, gatherProcessMetrics }))
  }

  fallback(_request: HttpRequest, { user }: AppVisitor): Reply {
    throw new Failure(
      user.name === null && user.roles.length === 0 ? 'unauthorized' : 'route_missing',
    )
  }

  presentFailure(failure: Failure, request: HttpRequest, visitor: AppVisitor | undefined): Reply {
    const presented = presentFailure(failure)
    if (this.#routeOf(request, visitor)?.bareErrors === true) return bareReply(presented)
    if (presented.status === 401) return this.#presentStranger(presented, request, visitor)
    const { allow } = failure.detail
    const isMethod = failure.code === 'method_not_allowed' && typeof allow === 'string'
    const headers = isMethod ? ['Allow', allow] : []
    return wantsText(request) && failure.detail.alwaysJson !== true
      ? textReply(presented.status, failureText(presented), headers)
      : jsonReply(presented, headers)
  }

  decorate(request: HttpRequest, visitor: AppVisitor | undefined): readonly string[] {
    const cors = this.#manners.corsFor(request)?.headers() ?? []
    return visitor?.setCookie === undefined ? cors : [...cors, 'Set-Cookie', visitor.setCookie]
  }

  userName({ user }: AppVisitor): string | undefined {
    return user.name ?? undefined
  }

  /** Whoever failed too often is told so in the application's own words. */
  async #authenticate(request: HttpRequest): Promise<Authenticated> {
    const { server } = this.#application
    const credentials = this.#manners.credentialsOf(request)
    try {
      return await server.authenticator.authenticate(credentials, server.authSettings, {
        anonymousAllowed: true,
      })
    } catch (thrown) {
      throw isFailure(thrown, 'forbidden') ? new Failure('rate_limited', {}, thrown) : thrown
    }
  }

  #ruleFor(request: HttpRequest): AccessRule | undefined {
    const match = this.router.match(request.segments)
    return match && ruleOf(match.route, request.method)
  }

  #routeOf(request: HttpRequest, visitor: AppVisitor | undefined): AppRoute | undefined {
    return visitor?.route ?? this.router.match(request.segments)?.route
  }

  #presentStranger(
    presented: PresentedFailure,
    request: HttpRequest,
    visitor: AppVisitor | undefined,
  ): Reply {
    const route = this.#routeOf(request, visitor)
    const headers = [...LOGGED_OUT]
    if (request.acceptNames('text/html') && !request.acceptNames('application/json')) {
      const location = `/${applicationDatabase()}/login?redirect=${encodeURIComponent(request.target)}`
      const cookie = 'login=force; Path=/; SameSite=Lax'
      return { status: 302, headers: [...headers, 'Location', location, 'Set-Cookie', cookie] }
    }
    if (route?.prompts === true) headers.push('WWW-Authenticate', 'Basic realm="Svc Web Services"')
    return wantsText(request)
      ? textReply(401, 'not logged in', headers)
      : jsonReply(presented, headers)
  }
}

const ruleOf = (route: AppRoute, method: string): AccessRule =>
  route.access[method] ?? (method === 'HEAD' ? route.access.GET : undefined) ?? LOGGED_IN

/** While nobody is configured as admin, everybody is one. */
const isAdminParty = ({ user }: AppVisitor): boolean => user.roles.includes('_admin')

const wantsText = (request: HttpRequest): boolean =>
  (request.acceptNames('text/plain') || request.acceptNames('text/*')) &&
  !request.acceptNames('application/json')

const LOGGED_OUT: readonly string[] = ['logout-authorization', 'Svc API']

const bareReply = ({ status, error }: PresentedFailure): Reply => ({
  status,
  headers: [
    'Content-Type',
    'application/json; charset=utf-8',
    ...(status === 401 ? LOGGED_OUT : []),
  ],
  body: JSON.stringify({ error: status === 401 ? 'Not logged in' : error }),
})

const textReply = (status: number, text: string, headers: readonly string[]): Reply => ({
  status,
  headers: ['Content-Type', 'text/plain; charset=utf-8', ...headers],
  body: text,
})

const jsonReply = (presented: PresentedFailure, headers: readonly string[]): Reply => ({
  status: presented.status,
  headers: ['Content-Type', 'application/json; charset=utf-8', ...headers],
  body: failureJson(presented),
})
