/**
 * Which documents of a batch an offline user may write. Each must be his as it is sent, and as it is stored if it is.
 *
 * Documents of a batch may be about contacts that come with it: contacts that are accepted widen the scope for the rest,
 * those that are refused leave it, and all are judged again until nothing changes any more. Pure.
 */
import type { JsonObject } from '../documents/document.ts'
import { replicationKeys, type Subject } from './replication-keys.ts'
import type { Scope } from './scope.ts'

/** Undefined where there is no live document. */
export type StoredBody = JsonObject | undefined

export interface JudgedWrite {
  readonly id: string
  readonly isDesign: boolean
  readonly deleted: boolean
  readonly body: JsonObject
  readonly stored: StoredBody
}

/** Contacts may make others visible, and these others again: so many times at the most. */
const ROUNDS_MAX = 10

/** The places of those that are refused. */
export function judgeWrites(scope: Scope, writes: readonly JudgedWrite[]): ReadonlySet<number> {
  const foreign = writes.map(({ id, stored }) => stored !== undefined && !scope.allows(id, stored))
  let refused = new Set<number>()
  let wider = scope
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const next = new Set<number>()
    for (const [at, write] of writes.entries()) {
      if (foreign[at] || !isAllowed(wider, write)) next.add(at)
    }
    const isSettled = round > 0 && isSame(refused, next)
    refused = next
    const before = wider
    wider = isSettled ? before : widened(scope, writes, refused)
    if (wider === before) return refused
  }
  return refused
}

function isAllowed(scope: Scope, { id, isDesign, deleted, body, stored }: JudgedWrite): boolean {
  if (isDesign) return false
  // A bare tombstone says nothing: what it ends was found to be his.
  if (deleted && stored !== undefined && replicationKeys(id, body).keys.length === 0) return true
  return scope.allows(id, body)
}

function widened(
  scope: Scope,
  writes: readonly JudgedWrite[],
  refused: ReadonlySet<number>,
): Scope {
  const added: (readonly [Subject, number])[] = []
  const removed: Subject[] = []
  for (const [at, { id, body, deleted }] of writes.entries()) {
    if (refused.has(at)) removed.push(id)
    else if (!deleted) added.push(...(scope.subjectsOf(id, body) ?? []))
  }
  return scope.including(added, removed)
}

const isSame = (a: ReadonlySet<number>, b: ReadonlySet<number>): boolean =>
  a.size === b.size && [...a].every(each => b.has(each))
