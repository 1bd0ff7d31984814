/**
 * One request to the application with everything a handler may need: the request, its path's parameters, who asks, one
 * settings snapshot. Handlers parse, call the application, and present.
 */

import type { AccessRule } from '../../app/access/access-rule.ts'
import type { Application } from '../../app/application.ts'
import type { ApplicationContext } from '../../app/application-context.ts'
import type { Page } from '../../app/documents/page.ts'
import { assert } from '../../base/assert.ts'
import { Failure } from '../../base/errors.ts'
import type { RequestCredentials } from '../../core/auth/authenticate.ts'
import type { User } from '../../core/auth/user.ts'
import { joinRows } from '../kit/json-stream.ts'
import { type Reply, streamReply } from '../kit/reply.ts'
import type { HttpRequest } from '../kit/request.ts'
import type { ProcessMetrics } from '../kit/request-metrics.ts'
import type { Params, RouteShape } from '../kit/router.ts'

export type AppHandler = (exchange: AppExchange) => Reply | Promise<Reply>

export interface AppRoute extends RouteShape<AppHandler> {
  /** By method: who may. */
  readonly access: Readonly<Record<string, AccessRule>>
  /** Those who are not logged in are told how. */
  readonly prompts?: boolean
  /** Failures are `{error}` and nothing else, whatever the client prefers to read. */
  readonly bareErrors?: boolean
}

/** What is known about the sender of a request; filled on its way through the lifecycle. */
export interface AppVisitor {
  readonly user: User
  readonly setCookie?: string
  context?: ApplicationContext
  route?: AppRoute
}

export interface AppExchangeParts {
  readonly request: HttpRequest
  readonly params: Params
  readonly visitor: AppVisitor
  readonly application: Application
  readonly credentials: RequestCredentials
  readonly gatherProcessMetrics: () => Promise<readonly ProcessMetrics[]>
}

interface ListFrame {
  readonly prefix: string
  readonly suffix: string | (() => string)
}

const BARE: ListFrame = { prefix: '[', suffix: ']' }

/** Bytes of a JSON body. */
export const BODY_BYTES_MAX = 32 * 1024 * 1024

const JSON_TYPE = 'application/json; charset=utf-8'
const JSON_HEADERS: readonly string[] = ['Content-Type', JSON_TYPE]

export class AppExchange {
  readonly request: HttpRequest
  readonly params: Params
  readonly application: Application
  readonly credentials: RequestCredentials
  /** What every process tells about itself. */
  readonly gatherProcessMetrics: () => Promise<readonly ProcessMetrics[]>
  readonly #visitor: AppVisitor

  constructor(parts: AppExchangeParts) {
    this.request = parts.request
    this.params = parts.params
    this.application = parts.application
    this.credentials = parts.credentials
    this.gatherProcessMetrics = parts.gatherProcessMetrics
    this.#visitor = parts.visitor
  }

  get user(): User {
    return this.#visitor.user
  }

  get context(): ApplicationContext {
    assert(this.#visitor.context, 'settings are read before a handler is called')
    return this.#visitor.context
  }

  /** A value of the query; a list where it came several times. */
  param(name: string): string | readonly string[] | undefined {
    const values = this.request.query
      .all()
      .filter(pair => pair[0] === name)
      .map(pair => pair[1])
    return values.length > 1 ? values : values[0]
  }

  /** On for the one word only. */
  isParamTrue(name: string): boolean {
    return this.param(name) === 'true'
  }

  json(value: unknown, status = 200, headers: readonly string[] = []): Reply {
    return { status, headers: [...JSON_HEADERS, ...headers], body: JSON.stringify(value) }
  }

  /** `{data, cursor}`, sent while it is read. */
  page(page: Page<unknown>): Reply {
    const suffix = () => `],"cursor":${JSON.stringify(page.cursor())}}`
    return this.list(page.batches, { prefix: '{"data":[', suffix })
  }

  /** A list, sent while it is read; what is around it is JSON text. */
  list(batches: AsyncIterable<readonly unknown[]>, around: ListFrame = BARE): Reply {
    return streamReply(200, JSON_HEADERS, joinRows({ separator: ',', ...around }, printed(batches)))
  }

  /** The body of routes that take nothing but JSON. One that is empty reads as an empty object. */
  async jsonBody(): Promise<unknown> {
    if (this.request.contentType !== 'application/json') {
      const reason = 'Content-Type must be application/json'
      throw new Failure('content_type_unsupported', { reason })
    }
    const bytes = await this.request.bytes({ limitBytes: BODY_BYTES_MAX })
    return bytes.length === 0 ? {} : parseJson(bytes)
  }

  /** The body where JSON is one way among others: whatever else it is reads as an empty object. */
  async jsonBodyIfAny(): Promise<unknown> {
    return this.request.contentType === 'application/json' ? this.jsonBody() : {}
  }
}

/** A reply with a JSON text that is made already. */
export const jsonText = (text: string): Reply => ({
  status: 200,
  headers: JSON_HEADERS,
  body: text,
})

async function* printed(
  batches: AsyncIterable<readonly unknown[]>,
): AsyncGenerator<readonly string[], void, undefined> {
  for await (const batch of batches) yield batch.map(item => JSON.stringify(item))
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes)) as unknown
  } catch (thrown) {
    throw new Failure('json_invalid', {}, thrown)
  }
}
