/** The query, headers and body of a `_changes` request, turned into our types. */
import { Failure, isFailure } from '../../base/errors.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { JsonObject, JsonValue } from '../../core/mango/json-value.ts'
import { parseSelector } from '../../core/mango/parse-selector.ts'
import { parseFields } from '../../core/mango/projection.ts'
import type { ChangesFilter, ChangesQuery } from '../../core/operations/follow-changes.ts'
import type { Exchange } from './exchange.ts'
import {
  badRequest,
  type FeedParameters,
  feedParameters,
  LIMIT_DEFAULT,
  parseCount,
  parseHeartbeat,
} from './parse-feed.ts'
import { requestObject } from './request-object.ts'

export interface ParsedChanges {
  readonly query: ChangesQuery
  readonly isEventSource: boolean
  readonly seqInterval: number
  /** Documents come with the data of their attachments. */
  readonly attachments: boolean
  readonly attEncodingInfo: boolean
}

/** What a POST sent: as JSON, and as filter functions see it. */
export interface ChangesBody {
  readonly json: Readonly<Record<string, unknown>>
  readonly bytes: Buffer
}

/** @param sent undefined for GET */
export function parseChanges(exchange: Exchange, sent: ChangesBody | undefined): ParsedChanges {
  const body = sent?.json
  const parameters = feedParameters(exchange.request.query)
  const isTrue = (name: string): boolean => parameters.get(name) === 'true'
  const feed = parseFeed(parameters.get('feed'))
  const filter = parseFilter(exchange, parameters, sent)
  const fields = filter?.kind === 'selector' ? parseTrimming(body) : undefined
  const documents = isTrue('include_docs')
    ? { conflicts: isTrue('conflicts'), ...(fields === undefined ? {} : { fields }) }
    : undefined
  const query: ChangesQuery = {
    feed: feed === 'eventsource' ? 'continuous' : feed,
    since: parseSince(exchange, parameters, feed === 'eventsource'),
    descending: isTrue('descending'),
    limit: parseLimit(exchange, parameters.get('limit')),
    allLeaves: parseStyle(parameters.get('style')) === 'all_docs',
    ...(documents === undefined ? {} : { documents }),
    ...(filter === undefined ? {} : { filter }),
    ...parseWaiting(exchange, parameters),
  }
  return {
    query,
    isEventSource: feed === 'eventsource',
    seqInterval: parseInterval(parameters.get('seq_interval')),
    attachments: documents !== undefined && isTrue('attachments'),
    attEncodingInfo: isTrue('att_encoding_info'),
  }
}

function parseFeed(text = 'normal'): 'normal' | 'longpoll' | 'continuous' | 'eventsource' {
  switch (text) {
    case 'live':
      return 'continuous'
    case 'normal':
    case 'longpoll':
    case 'continuous':
    case 'eventsource':
      return text
  }
  throw badRequest('Supported `feed` types: normal, continuous, live, longpoll, eventsource')
}

function parseSince(
  exchange: Exchange,
  parameters: FeedParameters,
  isEventSource: boolean,
): string {
  const header = exchange.request.header('last-event-id')
  if (header !== undefined && (isEventSource || exchange.dialect.lastEventIdAlways)) return header
  return parameters.get('last-event-id') ?? parameters.get('since') ?? '0'
}

function parseLimit(exchange: Exchange, text: string | undefined): number {
  const limit = parseCount(text, 'The limit value should be a non-negative integer.')
  if (limit === 0 && exchange.dialect.changesLimitZeroIsOne) return 1
  return limit ?? LIMIT_DEFAULT
}

function parseStyle(text = 'main_only'): 'main_only' | 'all_docs' {
  if (text === 'main_only' || text === 'all_docs') return text
  throw badRequest('Supported `style` values: main_only, all_docs')
}

function parseInterval(text: string | undefined): number {
  const interval = parseCount(text, 'invalid_seq_interval') ?? 1
  if (interval >= 1) return interval
  throw badRequest('invalid_seq_interval')
}

/** A feed is silent for no longer than the server's own bound, whatever the client asks for. */
function parseWaiting(
  exchange: Exchange,
  parameters: FeedParameters,
): { readonly waitMs: number; readonly beats: boolean } {
  const heartbeatMs = parseHeartbeat(parameters.get('heartbeat'))
  const timeoutMs = parseCount(
    parameters.get('timeout'),
    'The timeout value should be a non-negative integer (in milliseconds).',
  )
  const mostMs = exchange.server.configuration.get(SETTINGS.changesTimeoutMs)
  const waitMs = Math.min(mostMs, heartbeatMs ?? timeoutMs ?? mostMs)
  return { waitMs, beats: heartbeatMs !== undefined }
}

function parseFilter(
  exchange: Exchange,
  parameters: FeedParameters,
  sent: ChangesBody | undefined,
): ChangesFilter | undefined {
  const body = sent?.json
  const name = parameters.get('filter') ?? ''
  switch (name) {
    case '':
      return undefined
    case '_doc_ids':
      return { kind: 'ids', ids: parseIds(parameters, body) }
    case '_selector':
      return { kind: 'selector', selector: parseSelectorBody(exchange, body) }
    case '_design':
      return { kind: 'design' }
    case '_view':
      return { kind: 'view', ...parseView(parameters.get('view')) }
  }
  if (name.startsWith('_')) throw badRequest('unknown builtin filter name')
  const parts = designAndName(name)
  if (parts === undefined) {
    throw badRequest('`filter` must be of the form `designname/filtername`')
  }
  return {
    kind: 'function',
    ...parts,
    request: () => requestObject(exchange, { body: sent?.bytes }),
  }
}

function designAndName(text: string): { design: string; name: string } | undefined {
  const [design, name, ...more] = text.split('/')
  if (!design || !name || more.length > 0) return undefined
  return { design, name }
}

function parseView(text: string | undefined): { design: string; name: string } {
  if (text === undefined || text === '') {
    throw badRequest('`view` filter parameter is not provided.')
  }
  const parts = designAndName(text)
  if (parts === undefined) throw badRequest('`view` must be of the form `designname/viewname`')
  return parts
}

function parseIds(
  parameters: FeedParameters,
  body: Readonly<Record<string, unknown>> | undefined,
): string[] {
  const ids = body === undefined ? parseJsonList(parameters.get('doc_ids')) : body.doc_ids
  if (Array.isArray(ids) && ids.every(id => typeof id === 'string')) return ids
  throw badRequest('`doc_ids` filter parameter is not a list of doc ids.')
}

function parseJsonList(text = ''): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function parseSelectorBody(
  exchange: Exchange,
  body: Readonly<Record<string, unknown>> | undefined,
): JsonObject {
  const { selectorErrorWord: error, selectorErrorPrefix: prefix } = exchange.dialect
  const refuse = (reason: string): Failure => new Failure('request_invalid', { error, reason })
  if (body === undefined) throw refuse('Selector must be specified in POST payload')
  const { selector } = body
  if (typeof selector !== 'object' || selector === null || Array.isArray(selector)) {
    throw refuse('Selector error: expected a JSON object')
  }
  try {
    parseSelector(selector as JsonObject)
  } catch (thrown) {
    if (!isFailure(thrown, 'mango_invalid')) throw thrown
    throw refuse(`${prefix}${thrown.detail.reason}`)
  }
  return selector as JsonObject
}

/** `fields` beside the selector: what is left of the documents. Empty or absent: everything. */
function parseTrimming(
  body: Readonly<Record<string, unknown>> | undefined,
): readonly string[] | undefined {
  if (body?.fields === undefined) return undefined
  const fields = parseFields(body.fields as JsonValue)
  return fields.length === 0 ? undefined : fields
}
