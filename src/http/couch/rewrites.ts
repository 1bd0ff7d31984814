/**
 * `_rewrite`: a request that a design document turns into another one, which is then answered as if it had come so, by
 * the same user with the same rights. Rules are in `core/design/rewrite-rules.ts`; functions run in the sandbox.
 */
import { Failure } from '../../base/errors.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import {
  applyRewriteRules,
  CLIMB,
  type PathStep,
  resolveRewritePath,
} from '../../core/design/rewrite-rules.ts'
import type { DesignFunctions } from '../../core/operations/run-design-function.ts'
import type { Reply } from '../kit/reply.ts'
import type { Redirection } from '../kit/request.ts'
import type { Exchange } from './exchange.ts'
import { parseFunctionResponse, responseHeaders } from './function-response.ts'
import { methodOf, readFunctionBody, requestObject } from './request-object.ts'

export async function rewrite(exchange: Exchange): Promise<Reply> {
  countRewrite(exchange)
  const design = await exchange.database.openDesign(exchange.params.get('ddoc'))
  const { rewrites } = design.document
  if (typeof rewrites === 'string') return rewriteByFunction(exchange, design)
  if (rewrites === undefined) throw noRewrite()
  const { request, params } = exchange
  const path = params.rest
  const target = applyRewriteRules(rewrites, {
    method: methodOf(request),
    path,
    query: request.query.all(),
  })
  if (target === undefined) throw new Failure('route_missing')
  const query = target.query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
  return send(exchange, { target: targetOf(exchange, target.path, query) })
}

function countRewrite({ visitor, server }: Exchange): void {
  visitor.rewriteCount = (visitor.rewriteCount ?? 0) + 1
  if (visitor.rewriteCount > server.configuration.get(SETTINGS.rewriteLimit)) {
    throw new Failure('request_invalid', { reason: 'Exceeded rewrite recursion limit' })
  }
}

async function rewriteByFunction(exchange: Exchange, design: DesignFunctions): Promise<Reply> {
  const body = await readFunctionBody(exchange)
  const request = await requestObject(exchange, { body, isRewrite: true })
  const answer = await design.rewrite(request)
  if (answer === null) throw noRewrite()
  const value = JSON.parse(answer.toString()) as unknown
  const fields = isObject(value) ? value : { path: value }
  if (fields.code !== undefined) return directReply(exchange, fields)
  if (typeof fields.path !== 'string') {
    const reason = 'Rewrite result must produce a new path.'
    throw new Failure('function_failed', { error: 'rewrite_error', reason })
  }
  const given = typeof fields.body === 'string' ? Buffer.from(fields.body) : body
  return send(exchange, {
    target: targetOfPath(exchange, fields.path, fields.query),
    ...(typeof fields.method === 'string' ? { method: fields.method.toUpperCase() } : {}),
    ...(isObject(fields.headers) ? { headers: headersOf(fields.headers) } : {}),
    ...(given === undefined ? {} : { body: given }),
  })
}

/** The function answers by itself. */
function directReply(exchange: Exchange, { code, headers, body }: Fields): Reply {
  const given = { code, ...(headers === undefined ? {} : { headers }), body: body ?? '' }
  const response = parseFunctionResponse(Buffer.from(JSON.stringify(given)))
  const status = response.code ?? 200
  return { status, headers: responseHeaders(exchange, response), body: response.body }
}

const send = (exchange: Exchange, redirection: Redirection): Reply | Promise<Reply> =>
  exchange.dispatch(exchange.request.redirect(redirection))

function targetOf(exchange: Exchange, path: readonly PathStep[], query: string): string {
  const { params, server } = exchange
  const design = [params.get('db'), '_design', params.get('ddoc')] as const
  const segments = resolveRewritePath(
    design,
    path,
    server.configuration.get(SETTINGS.secureRewrites),
  )
  return `/${segments.map(encode).join('/')}${query === '' ? '' : `?${query}`}`
}

/** A path as text, perhaps with a query; that of the request is kept unless the function gives one. */
function targetOfPath(exchange: Exchange, text: string, query: unknown): string {
  const mark = text.indexOf('?')
  const path = mark < 0 ? text : text.slice(0, mark)
  const own = mark < 0 ? '' : text.slice(mark + 1)
  const added = isObject(query)
    ? Object.entries(query)
        .map(([name, value]) => `${encode(name)}=${encode(textOf(value))}`)
        .join('&')
    : exchange.request.query.raw
  const steps = path
    .split('/')
    .filter(part => part !== '' && part !== '.')
    .map((part): PathStep => (part === '..' ? CLIMB : decode(part)))
  return targetOf(exchange, steps, [own, added].filter(part => part !== '').join('&'))
}

function headersOf(fields: Fields): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(fields)) headers[name.toLowerCase()] = textOf(value)
  return headers
}

type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '')

const encode = (text: string): string => encodeURIComponent(text)

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // No percent-encoding: a name with a percent sign in it.
    return part
  }
}

const noRewrite = (): Failure =>
  new Failure('route_missing', { error: 'rewrite_error', reason: 'Invalid path.' })
