/** `/api/v1/users-info` and `/api/v1/users-doc-count`: how many documents a user holds, or would hold. */
import { insufficient } from '../../app/access/access-rule.ts'
import { hasPermission, isOnline } from '../../app/access/permissions.ts'
import { loadScope } from '../../app/offline-users/load-scope.ts'
import { parseOfflineRoles } from '../../app/offline-users/offline-roles.ts'
import { imagineOfflineUser } from '../../app/offline-users/offline-user.ts'
import { REPLICATION_LIMIT, replicatedIds } from '../../app/offline-users/replicated-documents.ts'
import { allCounts, readCount } from '../../app/offline-users/replication-counts.ts'
import { Failure } from '../../base/errors.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'
import { countOwnDocuments } from './replication.ts'

export async function getUsersInfo(exchange: AppExchange): Promise<Reply> {
  const { user } = exchange
  const { ids, warnCount } = isOnline(user)
    ? await countForSomebody(exchange)
    : await countOwnDocuments(exchange)
  return exchange.json({
    total_docs: ids.length,
    warn_docs: warnCount,
    warn: warnCount > REPLICATION_LIMIT,
    limit: REPLICATION_LIMIT,
  })
}

async function countForSomebody(exchange: AppExchange) {
  const { user, context, application } = exchange
  if (!hasPermission(user, context.settings, 'can_update_users')) throw insufficient()
  const facilityIds = [exchange.param('facility_id') ?? []].flat().filter(id => id !== '')
  const role = exchange.param('role')
  if (facilityIds.length === 0 || role === undefined || role === '') throw missingParams()
  const roles = parseOfflineRoles(role, context.settings)
  if (roles === undefined) throw missingParams()
  const contactId = exchange.param('contact_id')
  const imagined = await imagineOfflineUser(context.data, {
    roles,
    facilityIds,
    contactId: typeof contactId === 'string' && contactId !== '' ? contactId : undefined,
  })
  const { scope } = await loadScope(context, imagined)
  return replicatedIds(application.server, context, scope)
}

const missingParams = (): Failure =>
  new Failure('request_invalid', {
    reason: 'Missing required query params: role and/or facility_id',
  })

export async function getUsersDocCount(exchange: AppExchange): Promise<Reply> {
  const { logs } = exchange.application
  const user = exchange.param('user')
  if (Array.isArray(user)) {
    throw new Failure('request_invalid', { reason: 'The parameter user must be given once.' })
  }
  const limit = REPLICATION_LIMIT
  if (typeof user === 'string' && user !== '') {
    return exchange.json({ limit, users: await readCount(logs, user) })
  }
  const prefix = `{"limit":${limit},"users":[`
  return exchange.list(allCounts(logs), { prefix, suffix: ']}' })
}
