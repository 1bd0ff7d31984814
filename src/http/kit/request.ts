/**
 * One request as handlers see it, over node:http's IncomingMessage.
 *
 * Promises: the method after X-HTTP-Method-Override, decoded segments and a lazy query, headers by any
 * spelling, the body within bounds, `signal` that fires when the client goes away and `feedSignal` that
 * fires also when the server wants to stop. Everything that costs is done when first asked for.
 * Leaves to others: who the user is, what the answer is. `open()` is called by the lifecycle only.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Failure } from '../../base/errors.ts'
import { type AcceptedType, accepts, namesType, parseAccept } from './accept.ts'
import { ClientGone, RequestBody } from './request-body.ts'
import { RequestIds } from './request-id.ts'
import { NO_PROXIES, type TrustedProxies } from './trusted-proxies.ts'
import { type ParsedUrl, parseUrl, Query, URL_DEFAULTS, type UrlOptions } from './url.ts'

export interface RequestOptions {
  readonly url: UrlOptions
  /** Names (lower case) under which a client may hand in a request id; the first that is there counts. */
  readonly requestIdHeaders: readonly string[]
  /** Largest body where a handler gives no limit of its own. */
  readonly bodyBytesMax: number
  /** A client that sends nothing of its body for so long is cut off. */
  readonly bodyIdleMs: number
  readonly trustedProxies: TrustedProxies
}

export const REQUEST_DEFAULTS: RequestOptions = {
  url: URL_DEFAULTS,
  requestIdHeaders: ['x-request-id'],
  bodyBytesMax: 4_294_967_296,
  bodyIdleMs: 120_000,
  trustedProxies: NO_PROXIES,
}

/** What requests of one server share. */
export class RequestScope {
  readonly options: RequestOptions
  readonly ids: RequestIds
  /** Those that wait on purpose: woken when the server drains. */
  readonly feeds = new Set<AbortController>()
  draining = false

  constructor(options: RequestOptions = REQUEST_DEFAULTS, ids = new RequestIds()) {
    this.options = options
    this.ids = ids
  }

  /** From now on no feed waits, and every answer closes its connection. */
  drain(): void {
    this.draining = true
    for (const feed of this.feeds) feed.abort(new Failure('service_unavailable'))
    this.feeds.clear()
  }
}

export interface Redirection {
  readonly target: string
  readonly method?: string
  /** Replaces headers by name (lower case). */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

const OVERRIDES = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT', 'COPY'])

export class HttpRequest {
  readonly message: IncomingMessage
  readonly scope: RequestScope
  /** The request target as it came, or as a rewrite made it. */
  readonly target: string
  readonly method: string
  readonly body: RequestBody
  /** Of the answer's body; known once it is sent. */
  responseBytes = 0
  readonly #response: ServerResponse
  readonly #redirection: Redirection | undefined
  #url: ParsedUrl | undefined
  #query: Query | undefined
  #requestId: string | undefined
  #accepted: readonly AcceptedType[] | undefined
  #signal: AbortSignal | undefined
  #feedSignal: AbortSignal | undefined

  constructor(
    message: IncomingMessage,
    response: ServerResponse,
    scope: RequestScope,
    from?: { request: HttpRequest; redirection: Redirection },
  ) {
    this.message = message
    this.scope = scope
    this.#response = response
    this.#redirection = from?.redirection
    this.target = from?.redirection.target ?? message.url ?? '/'
    this.method = from?.redirection.method ?? methodOfMessage(message)
    this.body = from?.request.body ?? new RequestBody(message, response, scope.options.bodyIdleMs)
    this.#requestId = from?.request.requestId
  }

  /** Parses the target. A target that cannot be parsed fails here and reads as empty afterwards. */
  open(): void {
    try {
      this.#url = parseUrl(this.target, this.scope.options.url)
    } catch (thrown) {
      this.#url = { rawPath: this.target, rawQuery: '', segments: [], invalidUtf8At: -1 }
      throw thrown
    }
  }

  get url(): ParsedUrl {
    if (this.#url === undefined) this.open()
    return this.#url as ParsedUrl
  }

  get segments(): readonly string[] {
    return this.url.segments
  }

  get rawPath(): string {
    return this.url.rawPath
  }

  get query(): Query {
    this.#query ??= new Query(this.url.rawQuery)
    return this.#query
  }

  /** @param name in lower case */
  header(name: string): string | undefined {
    const replaced = this.#redirection?.headers?.[name]
    if (replaced !== undefined) return replaced
    const value = this.message.headers[name]
    return typeof value === 'object' ? value.join(', ') : value
  }

  /** In lower case; those that came, then those that a rewrite added. */
  get headerNames(): string[] {
    return Object.keys({ ...this.message.headers, ...this.#redirection?.headers })
  }

  /** A rewrite gave the request another body. */
  get hasReplacedBody(): boolean {
    return this.#redirection?.body !== undefined
  }

  /** The first of several spellings that is there. */
  firstHeader(names: readonly string[]): string | undefined {
    for (const name of names) {
      const value = this.header(name)
      if (value !== undefined) return value
    }
    return undefined
  }

  get accepted(): readonly AcceptedType[] {
    this.#accepted ??= parseAccept(this.header('accept'))
    return this.#accepted
  }

  /** Would the client take this type? Without an Accept header it takes all. */
  accepts(type: string): boolean {
    return accepts(this.accepted, type)
  }

  /** Does the client name this very type? */
  acceptNames(type: string): boolean {
    return namesType(this.accepted, type)
  }

  /** Content type without parameters, as it was spelt; empty when absent. */
  get contentType(): string {
    const value = this.header('content-type') ?? ''
    const semicolon = value.indexOf(';')
    return semicolon < 0 ? value.trim() : value.slice(0, semicolon).trim()
  }

  /** Of the client, as far as proxies that are trusted tell. */
  get peerAddress(): string {
    const { remoteAddress = '' } = this.message.socket
    return this.scope.options.trustedProxies.clientOf(remoteAddress, name => this.#sent(name))
  }

  /** The client's connection is encrypted: ours, or that to a trusted proxy. */
  get isTls(): boolean {
    const { socket } = this.message
    if ('encrypted' in socket) return true
    return this.scope.options.trustedProxies.saysTls(socket.remoteAddress, name => this.#sent(name))
  }

  /** Scheme and host under which the client knows this server. */
  get origin(): string {
    const { remoteAddress } = this.message.socket
    const told = this.scope.options.trustedProxies.hostOf(remoteAddress, name => this.#sent(name))
    return `${this.isTls ? 'https' : 'http'}://${told ?? this.header('host') ?? 'localhost'}`
  }

  /** A header as it was sent, whatever a rewrite made of it. */
  #sent(name: string): string | undefined {
    const value = this.message.headers[name]
    return typeof value === 'object' ? value.join(', ') : value
  }

  get requestId(): string {
    this.#requestId ??= this.scope.ids.idFor(this.firstHeader(this.scope.options.requestIdHeaders))
    return this.#requestId
  }

  /** The whole body; Failure('request_too_large') past the limit. Once a request. */
  bytes(options: { readonly limitBytes?: number } = {}): Promise<Buffer> {
    const replaced = this.#redirection?.body
    if (replaced !== undefined) return Promise.resolve(replaced)
    return this.body.bytes(options.limitBytes ?? this.scope.options.bodyBytesMax)
  }

  /** The body as it comes, at the reader's pace and still packed. Once a request. */
  stream(options: { readonly limitBytes?: number } = {}): AsyncIterable<Buffer> {
    const replaced = this.#redirection?.body
    if (replaced !== undefined) return once(replaced)
    return this.body.stream(options.limitBytes ?? this.scope.options.bodyBytesMax)
  }

  get bodyReadMs(): number {
    return this.body.readMs
  }

  /** Fires when the client went away before the answer was complete. */
  get signal(): AbortSignal {
    this.#signal ??= this.#watch(new AbortController())
    return this.#signal
  }

  /** As `signal`, and fires when the server drains: a feed then writes its last line and ends. */
  get feedSignal(): AbortSignal {
    if (this.#feedSignal === undefined) {
      const controller = new AbortController()
      const { feeds, draining } = this.scope
      feeds.add(controller)
      this.#response.once('close', () => feeds.delete(controller))
      this.#feedSignal = this.#watch(controller)
      if (draining) controller.abort(new Failure('service_unavailable'))
    }
    return this.#feedSignal
  }

  /** The same request seen at another place: rewrites inside the server. The body is shared. */
  redirect(redirection: Redirection): HttpRequest {
    const earlier = this.#redirection
    const headers = { ...earlier?.headers, ...redirection.headers }
    const body = redirection.body ?? earlier?.body
    const merged: Redirection = {
      target: redirection.target,
      method: redirection.method ?? this.method,
      headers,
      ...(body === undefined ? {} : { body }),
    }
    const from = { request: this, redirection: merged }
    return new HttpRequest(this.message, this.#response, this.scope, from)
  }

  #watch(controller: AbortController): AbortSignal {
    const response = this.#response
    const gone = (): void => {
      if (!response.writableFinished) controller.abort(new ClientGone())
    }
    if (response.destroyed || this.message.socket.destroyed) gone()
    else response.once('close', gone)
    return controller.signal
  }
}

/** Only a POST may pretend to be something else; the value counts in upper case only. */
function methodOfMessage(message: IncomingMessage): string {
  const method = message.method ?? 'GET'
  if (method !== 'POST') return method
  const override = message.headers['x-http-method-override']
  return typeof override === 'string' && OVERRIDES.has(override) ? override : method
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer, void, undefined> {
  yield bytes
}
