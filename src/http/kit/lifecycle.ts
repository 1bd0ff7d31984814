/**
 * The life of a request, on one page:
 *
 *   url -> preflight -> match -> identify -> admit -> method -> handle -> present -> log
 *
 * `answer` is the life up to the reply, `live` puts it on the wire and into the log. The steps themselves
 * are given by an Api (one for CouchDB's protocol, one for the application); this file only says in which
 * order they happen and what becomes of whatever goes wrong. A step that returns a plain value is not
 * awaited: most requests never leave the turn in which they arrived.
 */
import type { ServerResponse } from 'node:http'
import { Failure } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import type { AccessEntry } from './access-log.ts'
import { type Reply, withHeaders } from './reply.ts'
import type { HttpRequest } from './request.ts'
import { ClientGone } from './request-body.ts'
import { type RespondOptions, respond } from './respond.ts'
import { type HandlerOf, type Match, methodOf, type Router, type RouteShape } from './router.ts'

export interface Api<User, Route extends RouteShape> {
  readonly router: Router<Route>
  /** An answer before anybody is asked who he is (CORS), or undefined to go on. */
  preflight?(request: HttpRequest): Reply | undefined
  /** Throws Failure('unauthorized') for bad credentials; strangers are users too. */
  identify(request: HttpRequest): MaybePromise<User>
  /** May this user come here at all? Throws a Failure when not, or when there is no such database. */
  admit(match: Match<Route>, request: HttpRequest, user: User): MaybePromise<void>
  handle(
    handler: HandlerOf<Route>,
    match: Match<Route>,
    request: HttpRequest,
    user: User,
  ): MaybePromise<Reply>
  /** For paths that no route matches. */
  fallback(request: HttpRequest, user: User): MaybePromise<Reply>
  /** @param user undefined when the failure came before anybody was identified */
  presentFailure(failure: Failure, request: HttpRequest, user: User | undefined): Reply
  /** Headers that every answer of this request gets: CORS, a renewed cookie. Flat list. */
  decorate?(request: HttpRequest, user: User | undefined): readonly string[]
  /** For the log. */
  userName?(user: User): string | undefined
}

/** A reply and, for the log, who asked. */
export interface Answer {
  readonly reply: Reply
  readonly user: string | undefined
  /** The pattern of the route that matched. */
  readonly route: string | undefined
  /** The answer to give instead when the reply's body fails before its first byte. */
  readonly failed: (thrown: unknown) => Answer
}

/** An Api with its types closed over, so that several can stand side by side. */
export type Answerer = (request: HttpRequest, log: Log) => MaybePromise<Answer>

export const answererOf =
  <User, Route extends RouteShape>(api: Api<User, Route>): Answerer =>
  (request, log) =>
    answer(api, request, log)

/** The life of a request up to its reply. Rejects only when the client has gone. */
export function answer<User, Route extends RouteShape>(
  api: Api<User, Route>,
  request: HttpRequest,
  log: Log,
): MaybePromise<Answer> {
  let user: User | undefined
  let route: string | undefined
  const answered = (reply: Reply): Answer => ({
    reply: withHeaders(reply, api.decorate?.(request, user) ?? []),
    user: user === undefined ? undefined : api.userName?.(user),
    route,
    failed,
  })
  const failed = (thrown: unknown): Answer =>
    answered(presentThrown(api, thrown, { request, user, log }))
  try {
    request.open()
    const early = api.preflight?.(request)
    if (early !== undefined) return { reply: early, user: undefined, route, failed }
    const identified = api.identify(request)
    const reply = after(identified, someone => {
      user = someone
      return dispatch(api, request, someone, match => {
        route = match.route.path
      })
    })
    return reply instanceof Promise ? reply.then(answered, failed) : answered(reply)
  } catch (thrown) {
    return failed(thrown)
  }
}

/** The middle of a life: match, admit, method, handle. Rewrites come back here with `redirect`ed requests. */
export function dispatch<User, Route extends RouteShape>(
  api: Api<User, Route>,
  request: HttpRequest,
  user: User,
  onMatch?: (match: Match<Route>) => void,
): MaybePromise<Reply> {
  const match = api.router.match(request.segments)
  if (match === undefined) return api.fallback(request, user)
  onMatch?.(match)
  return after(api.admit(match, request, user), () =>
    api.handle(methodOf(match.route, request.method), match, request, user),
  )
}

function presentThrown<User, Route extends RouteShape>(
  api: Api<User, Route>,
  thrown: unknown,
  { request, user, log }: { request: HttpRequest; user: User | undefined; log: Log },
): Reply {
  if (thrown instanceof ClientGone) throw thrown
  if (thrown instanceof Failure && thrown.code !== 'unexpected') {
    return api.presentFailure(thrown, request, user)
  }
  logUnexpected(log, thrown, request)
  const failure = thrown instanceof Failure ? thrown : new Failure('unexpected', {}, thrown)
  return api.presentFailure(failure, request, user)
}

export interface Life {
  /** Which API answers; chosen by the raw target, before anything else. */
  readonly choose: (request: HttpRequest) => Answerer
  readonly respond: RespondOptions
  readonly log: Log
  /** Told once a request, when its answer was sent or given up. */
  readonly onDone: (entry: AccessEntry) => void
}

/** A whole life: answer, put it on the wire, log it. Never throws or rejects. */
export function live(
  life: Life,
  request: HttpRequest,
  response: ServerResponse,
): MaybePromise<void> {
  const startedMs = performance.now()
  let answered: Answer | undefined
  const done = (status: number, outcome: AccessEntry['outcome']): void =>
    life.onDone(entryOf(request, answered, { status, outcome, startedMs }))
  const send = (first: Answer): MaybePromise<void> => {
    answered = first
    const sending = respond(response, request, first.reply, life.respond)
    const { status } = first.reply
    if (sending !== undefined) return sending.then(() => done(status, 'ok'))
    return done(status, response.destroyed ? 'cut' : 'ok')
  }
  const giveUp = (thrown: unknown): void =>
    done(closeAfter(life, thrown, request, response) ?? answered?.reply.status ?? 0, 'cut')
  const retry = (thrown: unknown): MaybePromise<void> =>
    answered === undefined || response.headersSent || thrown instanceof ClientGone
      ? giveUp(thrown)
      : send(answered.failed(thrown))
  try {
    const sent = after(life.choose(request)(request, life.log), send)
    return sent instanceof Promise ? sent.catch(late => caught(late, retry, giveUp)) : sent
  } catch (thrown) {
    return caught(thrown, retry, giveUp)
  }
}

/** `retry` may itself fail at once; then there is nothing left to try. */
function caught(
  thrown: unknown,
  retry: (thrown: unknown) => MaybePromise<void>,
  giveUp: (thrown: unknown) => void,
): MaybePromise<void> {
  try {
    const sent = retry(thrown)
    return sent instanceof Promise ? sent.catch(giveUp) : sent
  } catch (again) {
    return giveUp(again)
  }
}

/** Cuts the connection, or says a bare 500 (and returns it) where nothing was said yet. */
function closeAfter(
  life: Life,
  thrown: unknown,
  request: HttpRequest,
  response: ServerResponse,
): number | undefined {
  if (!(thrown instanceof ClientGone)) logUnexpected(life.log, thrown, request)
  if (response.headersSent || response.destroyed || thrown instanceof ClientGone) {
    response.destroy()
    return undefined
  }
  response.writeHead(500, ['Connection', 'close', 'Content-Length', '0'])
  response.end()
  return 500
}

function logUnexpected(log: Log, thrown: unknown, request: HttpRequest): void {
  const { requestId, method, target } = request
  log.error('a request failed unexpectedly', { requestId, method, target, error: thrown })
}

function entryOf(
  request: HttpRequest,
  answered: Answer | undefined,
  end: { status: number; outcome: AccessEntry['outcome']; startedMs: number },
): AccessEntry {
  return {
    requestId: request.requestId,
    peer: request.peerAddress,
    host: request.header('host'),
    user: answered?.user,
    method: request.method,
    target: request.target,
    route: answered?.route,
    status: end.status,
    outcome: end.outcome,
    durationMs: performance.now() - end.startedMs,
    requestBytes: Number(request.header('content-length') ?? 0),
    responseBytes: request.responseBytes,
  }
}
