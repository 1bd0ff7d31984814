/** `/api/v1/users`, `/api/v2/users`, `/api/v3/users`: making users, one or many; reading, changing and deleting them. */
import { insufficient } from '../../app/access/access-rule.ts'
import { hasPermission } from '../../app/access/permissions.ts'
import { isObject, type JsonObject } from '../../app/documents/document.ts'
import { type CreatedUser, createUser } from '../../app/users/create-user.ts'
import { deleteUser } from '../../app/users/delete-user.ts'
import { ImportLog } from '../../app/users/import-log.ts'
import { type ImportOutcome, importUsers } from '../../app/users/import-users.ts'
import { parseUsersCsv, type UserRow } from '../../app/users/parse-users-csv.ts'
import { listUsers, readOneUser, withType } from '../../app/users/read-users.ts'
import { updateUser } from '../../app/users/update-user.ts'
import { updateCheck } from '../../app/users/user-access.ts'
import type { UserContext } from '../../app/users/user-context.ts'
import { refusalText } from '../../app/users/user-refusal.ts'
import { Failure } from '../../base/errors.ts'
import { readBasic } from '../../core/auth/basic-auth.ts'
import type { User } from '../../core/auth/user.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'
import { requireBody } from './require-body.ts'

/** Of a table: it is read as it comes and never kept. */
const CSV_BYTES_MAX = 256 * 1024 * 1024

export function userContextOf({ application, context, request }: AppExchange): UserContext {
  return { ...context, users: application.users, baseUrl: request.origin }
}

export async function postUsersV1(exchange: AppExchange): Promise<Reply> {
  return createFromJson(exchange, await exchange.jsonBody(), undefined)
}

export async function postUsersV2(exchange: AppExchange): Promise<Reply> {
  const { contentType } = exchange.request
  if (contentType !== 'text/csv' && contentType !== 'application/json') {
    const reason = 'Content-Type must be application/json or text/csv'
    throw new Failure('content_type_unsupported', { reason })
  }
  const { application, user } = exchange
  const isParsed = contentType === 'text/csv'
  const given = isParsed ? undefined : await exchange.jsonBody()
  const { logs, clock } = application
  const log = await ImportLog.begin({ logs, clock, isParsed, uploadedBy: user.name })
  try {
    return isParsed
      ? await importRows(exchange, tableOf(exchange), log)
      : await createFromJson(exchange, given, log)
  } finally {
    await log.finish()
  }
}

export async function postUsersV3(exchange: AppExchange): Promise<Reply> {
  const given = await exchange.jsonBody()
  if (!isObject(given)) throw new Failure('request_invalid', { reason: 'User must be an object.' })
  return exchange.json(await createUser(userContextOf(exchange), given, 'ids'))
}

const tableOf = ({ request }: AppExchange): AsyncIterable<UserRow> =>
  parseUsersCsv(request.stream({ limitBytes: CSV_BYTES_MAX }))

async function createFromJson(
  exchange: AppExchange,
  given: unknown,
  log: ImportLog | undefined,
): Promise<Reply> {
  if (Array.isArray(given)) {
    const rows = given.map(record => ({ record: isObject(record) ? record : {} }))
    return importRows(exchange, rows, log)
  }
  const record = isObject(given) ? given : {}
  let created: CreatedUser
  try {
    created = await createUser(userContextOf(exchange), record, 'things')
  } catch (thrown) {
    await log?.saved(record, 'error', refusalText(thrown) ?? 'Server error')
    throw thrown
  }
  await log?.saved(record, 'imported')
  return exchange.json(created)
}

async function importRows(
  exchange: AppExchange,
  rows: AsyncIterable<UserRow> | Iterable<UserRow>,
  log: ImportLog | undefined,
): Promise<Reply> {
  const { application } = exchange
  const outcome: ImportOutcome = await importUsers(userContextOf(exchange), rows, {
    log,
    onFailure: error => application.logFailure('a user could not be imported', error),
  })
  return exchange.json(outcome.results, outcome.lacksFields ? 400 : 200)
}

export const getUsersV1 = (exchange: AppExchange): Reply => listReply(exchange, withType)

export const getUsersV2 = (exchange: AppExchange): Reply => listReply(exchange, user => user)

function listReply(exchange: AppExchange, shape: (user: JsonObject) => JsonObject): Reply {
  const filter = {
    facilityId: single(exchange, 'facility_id'),
    contactId: single(exchange, 'contact_id'),
  }
  return exchange.list(shaped(listUsers(userContextOf(exchange), filter), shape))
}

function single(exchange: AppExchange, name: string): string | undefined {
  const value = exchange.param(name)
  if (value === undefined || typeof value === 'string') return value
  throw new Failure('request_invalid', { reason: `The parameter ${name} must be given once.` })
}

async function* shaped(
  batches: AsyncIterable<readonly JsonObject[]>,
  shape: (user: JsonObject) => JsonObject,
): AsyncGenerator<readonly JsonObject[], void, undefined> {
  for await (const batch of batches) yield batch.map(shape)
}

export async function getUserV2(exchange: AppExchange): Promise<Reply> {
  const name = exchange.params.get('username')
  const { user, context } = exchange
  if (user.name !== name && !hasPermission(user, context.settings, 'can_view_users')) {
    throw insufficient()
  }
  return exchange.json(await readOneUser(userContextOf(exchange), name))
}

export async function postUser(exchange: AppExchange): Promise<Reply> {
  const given = requireBody(await exchange.jsonBody())
  if (!isObject(given)) throw new Failure('request_invalid', { reason: 'User must be an object.' })
  const requester = await requesterOf(exchange)
  const target = exchange.params.get('username')
  const { settings } = exchange.context
  const by = updateCheck({ requester, target, given, settings })
  const { configuration } = exchange.application.server
  const updated = await updateUser(userContextOf(exchange), target, given, {
    isSelf: by === 'self' || requester.name === target,
    isServerAdmin: configuration.text('admins', target) !== undefined,
  })
  return exchange.json(updated)
}

/** A name and a password that come along must be right, also beside a session that would do. */
async function requesterOf({ application, credentials, user }: AppExchange): Promise<User> {
  const { authorization, peer, isTls } = credentials
  if (user.authenticated === 'default' || readBasic(authorization) === undefined) return user
  const { authenticator, authSettings } = application.server
  const named = { authorization, peer, isTls, header: (name: string) => credentials.header(name) }
  return (await authenticator.authenticate(named, authSettings)).user
}

export async function removeUser(exchange: AppExchange): Promise<Reply> {
  const outcomes = await deleteUser(userContextOf(exchange), exchange.params.get('username'))
  for (const outcome of outcomes) if (!outcome.ok) throw outcome.failure
  return exchange.json(outcomes)
}
