/** Databases: made, removed, described and listed. */
import { Failure } from '../../base/errors.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { DatabaseInfo, NewDatabase } from '../../core/operations/operations.ts'
import { etagOf, notModifiedReply } from '../kit/conditional.ts'
import type { Reply } from '../kit/reply.ts'
import type { Query } from '../kit/url.ts'
import { encodePathPart } from './encode-path.ts'
import type { Exchange } from './exchange.ts'
import { parseNameRange, selectNames } from './name-range.ts'

export async function putDatabase(exchange: Exchange): Promise<Reply> {
  const name = exchange.params.get('db')
  await exchange.server.createDatabase(
    exchange.user,
    name,
    parseNewDatabase(exchange.request.query),
  )
  return exchange.ok(201, ['Location', exchange.url(`/${encodePathPart(name)}`)])
}

export async function deleteDatabase(exchange: Exchange): Promise<Reply> {
  if (exchange.request.query.has('rev')) {
    const reason =
      'You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?'
    throw new Failure('request_invalid', { reason })
  }
  await exchange.server.deleteDatabase(exchange.user, exchange.params.get('db'))
  return exchange.ok()
}

export async function getDatabase(exchange: Exchange): Promise<Reply> {
  return exchange.value(200, presentInfo(await exchange.database.info()))
}

export async function allDbs(exchange: Exchange): Promise<Reply> {
  const range = parseNameRange(exchange.request.query)
  const names = selectNames(await exchange.server.databaseNames(), range)
  return withEtag(exchange, JSON.stringify(names))
}

export async function getDbsInfo(exchange: Exchange): Promise<Reply> {
  const range = parseNameRange(exchange.request.query)
  const names = selectNames(await exchange.server.databaseNames(), range)
  return withEtag(exchange, JSON.stringify(await infosOf(exchange, names)))
}

export async function postDbsInfo(exchange: Exchange): Promise<Reply> {
  exchange.requireJsonType()
  const { keys } = await exchange.jsonObject()
  if (keys === undefined) {
    throw new Failure('request_invalid', { reason: '`keys` member must exist.' })
  }
  if (!Array.isArray(keys)) {
    throw new Failure('request_invalid', { reason: '`keys` member must be an array.' })
  }
  if (keys.length > exchange.server.configuration.get(SETTINGS.maxDbsInfo)) {
    throw new Failure('request_invalid', { reason: 'too_many_keys' })
  }
  return exchange.value(200, await infosOf(exchange, keys))
}

/** A few at a time: each opens a file. */
async function infosOf(exchange: Exchange, names: readonly unknown[]): Promise<unknown[]> {
  const infos: unknown[] = []
  for (const key of names) {
    const info = typeof key === 'string' ? await exchange.server.databaseInfo(key) : undefined
    if (info === undefined) infos.push({ key, error: 'not_found' })
    else infos.push({ key, info: presentDbsInfo(exchange, info) })
  }
  return infos
}

function withEtag(exchange: Exchange, body: string): Reply {
  const etag = etagOf(Buffer.from(body))
  return notModifiedReply(exchange.request, etag) ?? exchange.json(200, body, ['ETag', etag])
}

/** Of what a database is made on the embedded engine, as a number that grows with the layout. */
const DISK_FORMAT_VERSION = 8

export function presentInfo(info: DatabaseInfo) {
  const quorum = Math.floor(info.n / 2) + 1
  return {
    instance_start_time: String(Math.floor(info.createdMs / 1000)),
    db_name: info.name,
    purge_seq: info.purgeSeqText,
    update_seq: info.updateSeq,
    sizes: { file: info.fileBytes, external: info.externalBytes, active: info.liveBytes },
    props: info.partitioned ? { partitioned: true } : {},
    doc_del_count: info.deletedCount,
    doc_count: info.liveCount,
    disk_format_version: DISK_FORMAT_VERSION,
    compact_running: info.compactRunning,
    cluster: { q: info.q, n: info.n, w: quorum, r: quorum },
  }
}

function presentDbsInfo(exchange: Exchange, info: DatabaseInfo) {
  const presented = presentInfo(info)
  if (!exchange.dialect.oldSizeFields) return presented
  return {
    ...presented,
    purge_seq: info.purgeSeq,
    other: { data_size: info.externalBytes },
    disk_size: info.fileBytes,
    data_size: info.liveBytes,
  }
}

function parseNewDatabase(query: Query): NewDatabase {
  const q = positive(query, 'q')
  const n = positive(query, 'n')
  const partitioned = query.get('partitioned')
  if (partitioned !== undefined && partitioned !== 'true' && partitioned !== 'false') {
    throw new Failure('request_invalid', { reason: 'Invalid `partitioned` parameter' })
  }
  const engine = query.get('engine')
  if (engine !== undefined) {
    const reason = `Invalid engine extension: ${engine}`
    throw new Failure('request_invalid', { error: 'invalid_engine_extension', reason })
  }
  return {
    ...(q === undefined ? {} : { q }),
    ...(n === undefined ? {} : { n }),
    ...(partitioned === undefined ? {} : { partitioned: partitioned === 'true' }),
  }
}

function positive(query: Query, name: string): number | undefined {
  const text = query.get(name)
  if (text === undefined) return undefined
  if (/^\d{1,6}$/.test(text) && Number(text) > 0) return Number(text)
  const reason = `The \`${name}\` value should be a positive integer.`
  throw new Failure('request_invalid', { reason })
}
