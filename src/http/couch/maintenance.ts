/** What is asked of a database as a whole: limits, security, purging, compaction, and the shapes that clusters show. */
import { crc32 } from '../../base/crc32.ts'
import { Failure } from '../../base/errors.ts'
import { parseJson, printJson } from '../../base/json/exact-json.ts'
import { serverAdminCheck, usersSecurityCheck } from '../../core/auth/authorize.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import { parseRevision, printRevision, type Revision } from '../../core/document/revision.ts'
import type { Reply } from '../kit/reply.ts'
import type { Exchange } from './exchange.ts'
import { parseJsonObject } from './parse-view-query.ts'

export async function getSecurity(exchange: Exchange): Promise<Reply> {
  return exchange.json(200, await exchange.database.securityText())
}

export async function putSecurity(exchange: Exchange): Promise<Reply> {
  const { configuration } = exchange.server
  if (exchange.database.name === configuration.get(SETTINGS.authenticationDb)) {
    usersSecurityCheck(configuration.get(SETTINGS.usersDbSecurityEditable))
  }
  const security = parseJsonObject(await exchange.request.bytes())
  await exchange.database.setSecurity(Buffer.from(printJson(security)))
  return exchange.ok()
}

export async function getRevsLimit(exchange: Exchange): Promise<Reply> {
  return exchange.value(200, await exchange.database.revisionLimit())
}

export async function putRevsLimit(exchange: Exchange): Promise<Reply> {
  const limit = await limitOfBody(exchange)
  // CouchDB takes a bad limit for its own mistake, and clients see a 500.
  if (limit === undefined) {
    throw new Failure('unexpected', { reason: '`revs_limit` must be positive integer' })
  }
  await exchange.database.setRevisionLimit(limit)
  return exchange.ok()
}

export async function getPurgedInfosLimit(exchange: Exchange): Promise<Reply> {
  return exchange.value(200, await exchange.database.purgedInfosLimit())
}

export async function putPurgedInfosLimit(exchange: Exchange): Promise<Reply> {
  const limit = await limitOfBody(exchange)
  if (limit === undefined) {
    const reason = '`purged_infos_limit` must be positive integer'
    throw new Failure('request_invalid', { reason })
  }
  await exchange.database.setPurgedInfosLimit(limit)
  return exchange.ok()
}

/** A positive whole number as the whole body; undefined when it is none. */
async function limitOfBody(exchange: Exchange): Promise<number | undefined> {
  const bytes = await exchange.request.bytes()
  if (bytes.length === 0) throw new Failure('request_invalid', { reason: 'Missing request body' })
  const value = parseJson(bytes)
  return typeof value === 'number' && value > 0 ? value : undefined
}

export async function postPurge(exchange: Exchange): Promise<Reply> {
  const { database, server } = exchange
  exchange.requireJsonType()
  const requests = [...parseJsonObject(await exchange.request.bytes())].map(([id, revs]) => {
    if (Array.isArray(revs)) return { id, revs: revs.map(parseRevision) }
    throw new Failure('request_invalid', { reason: 'Invalid list of revisions' })
  })
  const removed = await database.purge(requests, {
    documentsMax: server.configuration.get(SETTINGS.purgeMaxDocuments),
    revisionsMax: server.configuration.get(SETTINGS.purgeMaxRevisions),
  })
  const purged = requests.map(({ id }, index) => printPurge(id, removed[index] ?? []))
  return exchange.json(201, `{"purge_seq":null,"purged":{${purged.join(',')}}}`)
}

const printPurge = (id: string, revs: readonly Revision[]): string =>
  `${JSON.stringify(id)}:${JSON.stringify(revs.map(printRevision))}`

export async function getPurgedInfos(exchange: Exchange): Promise<Reply> {
  const infos = (await exchange.database.purges()).map(({ id, revs }) => ({
    id,
    revs: revs.map(printRevision),
  }))
  return exchange.value(200, { purged_infos: infos })
}

/** Every write was on disk before its answer went out. */
export async function postEnsureFullCommit(exchange: Exchange): Promise<Reply> {
  exchange.requireJsonType()
  const { createdMs } = await exchange.database.info()
  const started = String(Math.floor(createdMs / 1000))
  return exchange.value(201, { ok: true, instance_start_time: started })
}

export function postCompact(exchange: Exchange): Reply {
  exchange.requireJsonType()
  exchange.database.compact()
  return exchange.ok(202)
}

export async function postCompactDesign(exchange: Exchange): Promise<Reply> {
  exchange.requireJsonType()
  await exchange.database.compactDesign(`_design/${exchange.params.get('ddoc')}`)
  return exchange.ok(202)
}

export async function postViewCleanup(exchange: Exchange): Promise<Reply> {
  await exchange.database.cleanUpViews()
  return exchange.ok(202)
}

/** One machine holds all ranges; the shape is what clients of clusters read. */
export async function getShards(exchange: Exchange): Promise<Reply> {
  const { q } = await exchange.database.info()
  const node = exchange.server.node.name
  const shards = Object.fromEntries(shardRanges(q).map(range => [range, [node]]))
  return { ...exchange.value(200, { shards }), withoutRequestHeaders: true }
}

export async function getShardOf(exchange: Exchange): Promise<Reply> {
  const { q } = await exchange.database.info()
  const id = exchange.params.rest.join('/')
  const ranges = shardRanges(q)
  const place = crc32(Buffer.from(id))
  const range = ranges[Math.min(q - 1, Math.floor(place / shardSize(q)))]
  const reply = exchange.value(200, { range, nodes: [exchange.server.node.name] })
  return { ...reply, withoutRequestHeaders: true }
}

const HASHES = 0x1_0000_0000
const shardSize = (q: number): number => Math.floor(HASHES / q)

const shardRanges = (q: number): string[] =>
  Array.from({ length: q }, (_, index) => {
    const start = index * shardSize(q)
    const end = index === q - 1 ? HASHES - 1 : start + shardSize(q) - 1
    return `${hex(start)}-${hex(end)}`
  })

const hex = (value: number): string => value.toString(16).padStart(8, '0')

export function postSyncShards(exchange: Exchange): Reply {
  serverAdminCheck(exchange.user)
  return exchange.ok(202)
}

export function postTempView(exchange: Exchange): Reply {
  const reason = 'Temporary views are not supported in CouchDB'
  return exchange.value(410, { error: 'gone', reason })
}

/** `_local` without an id. */
export function refuseLocalPlace(): Reply {
  throw new Failure('request_invalid', { reason: 'Invalid _local document id.' })
}
