/** `/api/v1/replication`: what an offline user's device should hold, and what it should let go; and his own database. */
import { insufficient } from '../../app/access/access-rule.ts'
import { isAdmin, isOnline } from '../../app/access/permissions.ts'
import { isObject } from '../../app/documents/document.ts'
import { readOfflineAccount } from '../../app/offline-users/offline-user.ts'
import {
  ensurePersonalDatabase,
  personalDatabase,
} from '../../app/offline-users/personal-database.ts'
import {
  lostIds,
  REPLICATION_LIMIT,
  type ReplicatedIds,
  replicatedIds,
  withRevisions,
} from '../../app/offline-users/replicated-documents.ts'
import { recordCount } from '../../app/offline-users/replication-counts.ts'
import { assert } from '../../base/assert.ts'
import { Failure } from '../../base/errors.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'

/** Of the requester, who works offline. */
export async function countOwnDocuments(exchange: AppExchange): Promise<ReplicatedIds> {
  const { user, application, context } = exchange
  const { name, roles } = user
  assert(name !== null, 'strangers do not come here')
  const account = await readOfflineAccount(application.users, { name, roles })
  const scope = await application.scopes.scopeOf(context, account)
  const replicated = await replicatedIds(application.server, context, scope)
  await recordCount(application.logs, name, replicated, context.clock())
  return replicated
}

export async function getReplicationIds(exchange: AppExchange): Promise<Reply> {
  requireOffline(exchange)
  const { context } = exchange
  // Read first: what changes meanwhile is then looked at again.
  const { updateSeq } = await (await context.data.open()).info()
  const { ids, warnCount } = await countOwnDocuments(exchange)
  return exchange.json({
    doc_ids_revs: await withRevisions(context, ids),
    warn_docs: warnCount,
    last_seq: updateSeq,
    warn: warnCount > REPLICATION_LIMIT,
    limit: REPLICATION_LIMIT,
  })
}

export async function postReplicationDeletes(exchange: AppExchange): Promise<Reply> {
  requireOffline(exchange)
  const given = await exchange.jsonBody()
  const ids: unknown = isObject(given) ? given.doc_ids : undefined
  if (!Array.isArray(ids) || !ids.every(id => typeof id === 'string')) {
    const reason = '`doc_ids` parameter must be a json array.'
    throw new Failure('request_invalid', { reason })
  }
  const { application, context, user } = exchange
  return exchange.json({ doc_ids: await lostIds(application.server, context, user.roles, ids) })
}

/** For people online there is nothing here. */
function requireOffline({ user }: AppExchange): void {
  if (isOnline(user)) throw new Failure('route_missing')
}

/** Everybody may make his own; it is no mistake when it is there already. */
export async function putPersonalDatabase(exchange: AppExchange): Promise<Reply> {
  const { user, application, request } = exchange
  const { name } = user
  const [database = ''] = request.segments
  if (name === null || database !== personalDatabase(name)) {
    if (!isAdmin(user)) throw insufficient()
    await application.server.createDatabase(user, database, {})
    return exchange.json({ ok: true }, 201)
  }
  await ensurePersonalDatabase(application.server, name, application.version)
  return exchange.json({ ok: true })
}
