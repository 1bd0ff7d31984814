/**
 * One request on CouchDB's wire with everything a handler may need: the request, its path's parameters, who asks, the
 * database it is about (opened and allowed by then) and the server's operations. Handlers parse, call an operation,
 * and present; the ways of presenting JSON that the dialects differ in are here.
 */
import { assert } from '../../base/assert.ts'
import { Failure } from '../../base/errors.ts'
import type { User } from '../../core/auth/user.ts'
import type { Dialect } from '../../core/dialect/dialect.ts'
import type { DatabaseOperations, ServerOperations } from '../../core/operations/operations.ts'
import type { Reply } from '../kit/reply.ts'
import type { HttpRequest } from '../kit/request.ts'
import type { Params, RouteShape } from '../kit/router.ts'

export type Handler = (exchange: Exchange) => Reply | Promise<Reply>

/** Who may come to a server-level route; database-level routes ask the database's security object. */
export type Access = 'everybody' | 'user' | 'metrics' | 'lister' | 'admin' | 'database'

export interface CouchRoute extends RouteShape<Handler> {
  readonly access: Access
  /** A database route that asks for a server admin before anything else. */
  readonly serverAdmin?: boolean
  /** GET begins by reading the document `{id}`. */
  readonly readsDocument?: boolean
  /** Invalid JSON is a 400 in every dialect: the endpoint's own table in the specification says so. */
  readonly jsonErrorIs400?: boolean
}

/** What is known about the sender of a request; filled on its way through the lifecycle. */
export interface Visitor {
  readonly user: User
  readonly setCookie?: string
  /** The request came in on the node-local port. */
  readonly nodeLocal: boolean
  database?: DatabaseOperations
  route?: CouchRoute
  /** Rewrites that the request went through. */
  rewriteCount?: number
}

export interface ExchangeParts {
  readonly request: HttpRequest
  readonly params: Params
  readonly visitor: Visitor
  readonly server: ServerOperations
  /** Answers another request of the same visitor: rewrites. */
  readonly dispatch: (request: HttpRequest) => Reply | Promise<Reply>
}

export class Exchange {
  readonly request: HttpRequest
  readonly params: Params
  readonly visitor: Visitor
  readonly server: ServerOperations
  readonly dispatch: ExchangeParts['dispatch']

  constructor({ request, params, visitor, server, dispatch }: ExchangeParts) {
    this.dispatch = dispatch
    this.request = request
    this.params = params
    this.visitor = visitor
    this.server = server
  }

  get user(): User {
    return this.visitor.user
  }

  get dialect(): Dialect {
    return this.server.dialect
  }

  get database(): DatabaseOperations {
    assert(this.visitor.database, 'the route says that it is about a database')
    return this.visitor.database
  }

  /** A reply with a JSON text that is made already. */
  json(status: number, text: string | Buffer, headers: readonly string[] = []): Reply {
    const head = ['Content-Type', this.jsonType, ...headers]
    const body = typeof text === 'string' ? `${text}\n` : Buffer.concat([text, LINE_FEED])
    return { status, headers: head, body }
  }

  /** A reply with a value; for small ones. */
  value(status: number, value: unknown, headers: readonly string[] = []): Reply {
    return this.json(status, JSON.stringify(value), headers)
  }

  ok(status = 200, headers: readonly string[] = []): Reply {
    return this.json(status, '{"ok":true}', headers)
  }

  get jsonType(): string {
    return jsonTypeFor(this.request, this.dialect)
  }

  /** The URL of a path on this server as the client sees it. */
  url(path: string): string {
    return this.request.origin + path
  }

  /** The body as JSON, for bodies where exact numbers do not matter. */
  async jsonBody(): Promise<unknown> {
    const bytes = await this.request.bytes()
    if (bytes.length === 0) throw new Failure('request_invalid', { reason: 'Missing request body' })
    return parseJsonBytes(bytes)
  }

  async jsonObject(): Promise<Record<string, unknown>> {
    return requireObject(await this.jsonBody())
  }

  /** Most POST endpoints take nothing but JSON, spelt exactly so. */
  requireJsonType(): void {
    if (this.request.contentType === 'application/json') return
    const reason = 'Content-Type must be application/json'
    throw new Failure('content_type_unsupported', { reason })
  }
}

export function requireObject(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>
  }
  throw new Failure('request_invalid', { reason: 'Request body must be a JSON object' })
}

const LINE_FEED = Buffer.from('\n')

export function jsonTypeFor(request: HttpRequest, dialect: Dialect): string {
  return !dialect.plainTextJson || request.acceptNames('application/json')
    ? 'application/json'
    : 'text/plain;charset=utf-8'
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function parseJsonBytes(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes)) as unknown
  } catch (thrown) {
    throw new Failure('json_invalid', {}, thrown)
  }
}
