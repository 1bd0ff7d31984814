/**
 * Rules of a `_replicator` database for one document. Pure: what somebody wants to store, what was there, who it is;
 * out comes what is stored, or a refusal. And what people other than the owner may see of it.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import { type Json, type JsonObject, parseJson, printJson } from '../../base/json/exact-json.ts'
import { isServerAdmin, type User } from '../auth/user.ts'
import { parseEndpoint, showEndpoint } from './endpoint.ts'
import { parseReplication } from './replication-request.ts'

/** Whoever has it is the replicator itself: it may write states, and owns nothing. */
export const REPLICATOR_ROLE = '_replicator'

export interface ReplicatorWrite {
  readonly body: Buffer
  readonly deleted: boolean
  /** The body of the document as it is; undefined when there is none. */
  readonly old: Buffer | undefined
  readonly user: User
  readonly isAdmin: boolean
}

/** The body to store, or undefined when it is to be stored as it came. Fails with `forbidden`. */
export function checkReplicatorWrite(write: ReplicatorWrite): Buffer | undefined {
  const { user, isAdmin } = write
  if (user.roles.includes(REPLICATOR_ROLE)) return undefined
  if (write.old !== undefined && !isAdmin) refuseStranger(readObject(write.old), user)
  if (write.deleted) return undefined
  const body = readObject(write.body)
  const owner = body.get('owner')
  const isOwned = owner !== undefined && owner !== null
  if (isOwned && !isAdmin) refuseStranger(body, user)
  checkFields(write.body.toString())
  if (isOwned || user.name === null) return undefined
  return Buffer.from(printJson(new Map([...body, ['owner', user.name]])))
}

function refuseStranger(body: JsonObject, user: User): void {
  if (body.get('owner') === user.name) return
  const reason = "Can't update replication documents from other users."
  throw new Failure('forbidden', { reason })
}

/** What a request would be refused for with 400, a document is with 403. */
function checkFields(text: string): void {
  try {
    const { source, target } = parseReplication(text)
    if (source.kind === 'local' || target.kind === 'local') {
      throw new Failure('forbidden', { reason: 'local_endpoints_not_supported' })
    }
    checkUserContext((JSON.parse(text) as { user_ctx?: unknown }).user_ctx)
  } catch (thrown) {
    if (!isFailure(thrown) || thrown.code === 'forbidden') throw thrown
    throw new Failure('forbidden', { reason: thrown.detail.reason ?? thrown.message })
  }
}

function checkUserContext(context: unknown): void {
  if (context === undefined || context === null) return
  const { name, roles } = context as { name?: unknown; roles?: unknown }
  const hasName = name === undefined || name === null || typeof name === 'string'
  const hasRoles = roles === undefined || (Array.isArray(roles) && roles.every(isText))
  if (typeof context === 'object' && hasName && hasRoles) return
  throw new Failure('forbidden', {
    reason: '`user_ctx` must be an object with a name and a list of roles',
  })
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** Owner and admins see everything; others a document without what opens doors. Undefined: nothing is hidden. */
export function withoutSecrets(body: Buffer, user: User, isAdmin: boolean): Buffer | undefined {
  if (isAdmin || isServerAdmin(user) || user.roles.includes(REPLICATOR_ROLE)) return undefined
  const document = readObject(body)
  if (user.name !== null && document.get('owner') === user.name) return undefined
  const shown = new Map<string, Json>()
  for (const [key, value] of document) {
    const isEndpoint = key === 'source' || key === 'target'
    shown.set(key, isEndpoint ? withoutLogin(value) : PROXIES.has(key) ? '' : value)
  }
  return Buffer.from(printJson(shown))
}

const PROXIES = new Set(['proxy', 'source_proxy', 'target_proxy'])

function withoutLogin(endpoint: Json): Json {
  const url = endpoint instanceof Map ? endpoint.get('url') : endpoint
  return typeof url === 'string' ? shownUrl(url) : ''
}

function shownUrl(url: string): string {
  try {
    return showEndpoint(parseEndpoint(url, undefined))
  } catch {
    return ''
  }
}

function readObject(body: Buffer): JsonObject {
  const value = parseJson(body)
  return value instanceof Map ? value : new Map()
}

/** The members that the replicator itself writes. */
export const STATE_MEMBERS = [
  '_replication_state',
  '_replication_state_time',
  '_replication_state_reason',
  '_replication_id',
  '_replication_stats',
] as const

/** The document without what the replicator wrote: two with the same text ask for the same. */
export function requestText(body: Buffer): string {
  const document = readObject(body)
  for (const name of STATE_MEMBERS) document.delete(name)
  return printJson(document)
}

/** The body with a new state; members that the state does not set are gone. */
export function withState(body: Buffer, state: Readonly<Record<string, unknown>>): Buffer {
  const document = readObject(body)
  for (const name of STATE_MEMBERS) document.delete(name)
  for (const [name, value] of Object.entries(state)) {
    document.set(name, parseJson(JSON.stringify(value)))
  }
  return Buffer.from(printJson(document))
}
