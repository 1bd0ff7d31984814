/**
 * The exact set of documents an offline user's devices hold: those that replicate under one of his subjects, without
 * what is private, too deep or purged; his settings document and the design document of the clients.
 */
import { printRevisionId } from '../../core/document/revision.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import type { ApplicationContext } from '../application-context.ts'
import { newUserId } from '../users/account-documents.ts'
import { purgedAmong } from './purged-documents.ts'
import type { KeyFacts, Subject } from './replication-keys.ts'
import { CLIENT_DESIGN_ID, type Scope } from './scope.ts'

/** As many documents a device should hold at the most. */
export const REPLICATION_LIMIT = 10_000

export interface ReplicatedIds {
  /** In order, each once. */
  readonly ids: readonly string[]
  /** Without tasks: these go away by themselves. */
  readonly warnCount: number
  /** With those that are purged. */
  readonly unpurgedCount: number
}

/** Ids of documents that are listed for the user, whether they exist or not. */
export async function replicatedIds(
  server: ServerOperations,
  context: ApplicationContext,
  scope: Scope,
): Promise<ReplicatedIds> {
  const { user } = scope
  const { ids, taskIds } = await idsInScope(context, scope)
  ids.add(CLIENT_DESIGN_ID)
  ids.add(user.settingsIds[0] ?? newUserId(''))
  const all = [...ids].sort()
  const purged = await purgedAmong(server, user.roles, all)
  const kept = purged.size === 0 ? all : all.filter(id => !purged.has(id))
  const taskCount = kept.reduce((count, id) => count + (taskIds.has(id) ? 1 : 0), 0)
  return { ids: kept, warnCount: kept.length - taskCount, unpurgedCount: all.length }
}

async function idsInScope(
  { data }: ApplicationContext,
  scope: Scope,
): Promise<{ ids: Set<string>; taskIds: Set<string> }> {
  const ids = new Set<string>()
  const taskIds = new Set<string>()
  // In order: neighbours in the index are then read together.
  const keys = [...scope.subjects.keys()].sort()
  for await (const batch of data.rows(data.name, 'docs_by_replication_key', { keys })) {
    for (const { id, key, value } of batch) {
      const facts = value as KeyFacts
      if (!scope.allowsKey(key as Subject, facts)) continue
      ids.add(id)
      if (facts.type === 'task') taskIds.add(id)
    }
  }
  return { ids, taskIds }
}

export interface IdAndRevision {
  readonly id: string
  readonly rev: string
}

/** Those of the ids that exist, with their revisions. */
export async function withRevisions(
  { data }: ApplicationContext,
  ids: readonly string[],
): Promise<IdAndRevision[]> {
  const { rows } = await (await data.open()).listNamedDocuments('all', ids)
  const found: IdAndRevision[] = []
  let at = 0
  for await (const batch of rows) {
    for (const row of batch) {
      const id = ids[at++] as string
      if (row === undefined || row.deleted) continue
      const { value, pos, revIdStart, revIdEnd } = row
      const rev = row.revText ?? `${pos}-${printRevisionId(value.subarray(revIdStart, revIdEnd))}`
      found.push({ id, rev })
    }
  }
  return found
}

/** Those of a device's documents that it should let go: deleted, or purged for its user. */
export async function lostIds(
  server: ServerOperations,
  { data }: ApplicationContext,
  roles: readonly string[],
  ids: readonly string[],
): Promise<string[]> {
  const purged = await purgedAmong(server, roles, ids)
  const lost: string[] = []
  const { rows } = await (await data.open()).listNamedDocuments('all', ids)
  let at = 0
  for await (const batch of rows) {
    for (const row of batch) {
      const id = ids[at++] as string
      if (row?.deleted === true || purged.has(id)) lost.push(id)
    }
  }
  return lost
}
