/**
 * What somebody asks a replicator to do: the body of `POST /_replicate` and the documents of `_replicator` databases,
 * read and checked. Every complaint has CouchDB's text. Nothing here opens a connection.
 */
import { Failure } from '../../base/errors.ts'
import { parseJson, printJson } from '../../base/json/exact-json.ts'
import { parseSocketOptions, type SocketOptions } from '../configuration/replication-settings.ts'
import { SETTINGS } from '../configuration/settings.ts'
import { type Endpoint, parseEndpoint } from './endpoint.ts'
import type { Narrowing } from './peer.ts'

export interface ReplicationRequest {
  readonly source: Endpoint
  readonly target: Endpoint
  readonly continuous: boolean
  readonly createTarget: boolean
  readonly createTargetParams: Readonly<Record<string, string>>
  readonly narrow: Narrowing
  readonly winningRevsOnly: boolean
  readonly sinceSeq: unknown
  readonly useCheckpoints: boolean
  readonly useBulkGet: boolean
  readonly tuning: Tuning
}

/** Undefined: as the configuration says. */
export interface Tuning {
  readonly workers?: number | undefined
  readonly batchSize?: number | undefined
  readonly connections?: number | undefined
  readonly timeoutMs?: number | undefined
  readonly retries?: number | undefined
  readonly checkpointMs?: number | undefined
  readonly sockets?: SocketOptions | undefined
}

type Body = Readonly<Record<string, unknown>>

/** The JSON text of a request. Fails with `json_invalid` or `request_invalid`. */
export function readBody(text: string): { body: Body; selector: string | undefined } {
  const exact = parseJson(text)
  if (!(exact instanceof Map)) refuse('Request body must be a JSON object')
  const selector = exact.get('selector')
  return {
    body: JSON.parse(text) as Body,
    selector: selector === undefined ? undefined : printJson(selector),
  }
}

/** The id that a cancellation names directly; undefined when it repeats the request instead. */
export function idToCancel(body: Body): string | undefined {
  for (const name of ['replication_id', '_local_id', 'id']) {
    const id = body[name]
    if (typeof id === 'string') return id
  }
  return undefined
}

/** @param text the whole body as JSON; numbers of a selector keep their exact form */
export function parseReplication(text: string): ReplicationRequest {
  const { body, selector } = readBody(text)
  return parseBody(body, selector)
}

function parseBody(body: Body, selector: string | undefined): ReplicationRequest {
  const { source, target } = body
  if (source === undefined || target === undefined) throw missingDatabase()
  const proxies = readProxies(body)
  return {
    source: parseEndpoint(source, proxies.source),
    target: parseEndpoint(target, proxies.target),
    continuous: flag(body, 'continuous', false),
    createTarget: flag(body, 'create_target', false),
    createTargetParams: readCreateParams(body.create_target_params),
    narrow: readNarrowing(body, selector),
    winningRevsOnly: flag(body, 'winning_revs_only', false),
    sinceSeq: body.since_seq,
    useCheckpoints: flag(body, 'use_checkpoints', true),
    useBulkGet: flag(body, 'use_bulk_get', true),
    tuning: {
      workers: whole(body, 'worker_processes'),
      batchSize: whole(body, 'worker_batch_size'),
      connections: whole(body, 'http_connections'),
      timeoutMs: whole(body, 'connection_timeout'),
      retries: whole(body, 'retries_per_request'),
      checkpointMs: whole(body, 'checkpoint_interval'),
      sockets: readSockets(body),
    },
  }
}

export const missingDatabase = (): Failure =>
  new Failure('replication_failed', { reason: 'Missing replicator database' })

function readNarrowing(body: Body, selector: string | undefined): Narrowing {
  const { doc_ids: ids, filter, selector: plain } = body
  checkType(body, 'doc_ids', Array.isArray, 'an array')
  checkType(body, 'selector', isObject, 'a JSON object')
  checkType(body, 'filter', isText, 'a string')
  checkType(body, 'query_params', isObject, 'a JSON object')
  const given = [ids, filter, plain].filter(each => each !== undefined && each !== null)
  if (given.length > 1) refuse('`doc_ids`,`filter`,`selector` are mutually exclusive')
  if (Array.isArray(ids)) {
    if (!ids.every(isText)) refuse('parameter `doc_ids` must be an array of strings')
    return { kind: 'ids', ids: [...new Set(ids)] }
  }
  if (isObject(plain)) return { kind: 'selector', selector: selector as string }
  if (!isText(filter)) return { kind: 'all' }
  if (!filter.startsWith('_') && !/^[^/]+\/[^/]+$/.test(filter)) {
    const reason = 'Invalid filter. Must match `ddocname/filtername`.'
    throw new Failure('replication_failed', { reason })
  }
  const params = (body.query_params ?? {}) as Readonly<Record<string, unknown>>
  return { kind: 'filter', name: filter, params }
}

function readProxies(body: Body): { source: string | undefined; target: string | undefined } {
  for (const name of ['proxy', 'source_proxy', 'target_proxy'])
    checkType(body, name, isText, 'a string')
  const [proxy, source, target] = ['proxy', 'source_proxy', 'target_proxy'].map(name =>
    isText(body[name]) && body[name] !== '' ? body[name] : undefined,
  )
  if (proxy !== undefined && source !== undefined) {
    refuse('`proxy` is mutually exclusive with `source_proxy`')
  }
  if (proxy !== undefined && target !== undefined) {
    refuse('`proxy` is mutually exclusive with `target_proxy`')
  }
  return { source: source ?? proxy, target: target ?? proxy }
}

function readCreateParams(params: unknown): Readonly<Record<string, string>> {
  if (params === undefined || params === null) return {}
  if (!isObject(params)) refuse('parameter `create_target_params` must be a JSON object')
  return Object.fromEntries(Object.entries(params).map(([key, value]) => [key, String(value)]))
}

function flag(body: Body, name: string, fallback: boolean): boolean {
  checkType(body, name, value => typeof value === 'boolean', 'a boolean')
  return typeof body[name] === 'boolean' ? body[name] : fallback
}

/** Numbers came as texts in old documents. */
function whole(body: Body, name: string): number | undefined {
  const value = body[name]
  if (value === undefined || value === null) return undefined
  const number = typeof value === 'string' ? Number(value) : value
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 1) {
    refuse(`parameter \`${name}\` must be a positive integer`)
  }
  return Math.min(number, WHOLE_MAX)
}

/** An option that would have no effect is refused. */
function readSockets(body: Body): SocketOptions | undefined {
  checkType(body, 'socket_options', isText, 'a string')
  const { socket_options: given } = body
  if (!isText(given)) return undefined
  const options = parseSocketOptions(given, SETTINGS.replicationSockets.default)
  if (options !== undefined) return options
  refuse('parameter `socket_options` may hold only {keepalive, true|false}, {nodelay, true|false}')
}

const WHOLE_MAX = 2_147_483_647

function checkType(body: Body, name: string, is: (value: unknown) => boolean, kind: string): void {
  const value = body[name]
  if (value === undefined || value === null || is(value)) return
  refuse(`parameter \`${name}\` must be ${kind}`)
}

const isText = (value: unknown): value is string => typeof value === 'string'

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function refuse(reason: string): never {
  throw new Failure('request_invalid', { reason })
}
