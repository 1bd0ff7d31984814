/**
 * Scopes of offline users, kept from one request to the next. What is handed out is never older than the request that
 * asks: the main database's head is looked at each time, and where it moved on, the documents that changed since. A scope
 * is made anew when one of them is, was or becomes part of it, and when the user's account or the settings changed.
 *
 * So reports, which are most of what is written, cost a look and no more. Bounded: by users, by subjects of all of them,
 * and by the changes that are looked at before making anew is the cheaper way.
 */
import { readChanges } from '../../core/database/changes.ts'
import type { Database } from '../../core/database/database.ts'
import { decodeDocument } from '../../core/database/stored-document.ts'
import { isDesign } from '../../core/operations/write-documents.ts'
import type { ApplicationContext } from '../application-context.ts'
import type { JsonObject } from '../documents/document.ts'
import type { Settings } from '../settings/settings.ts'
import { type LoadedScope, loadScope } from './load-scope.ts'
import { loadOfflineUser, type OfflineAccount } from './offline-user.ts'
import type { Scope } from './scope.ts'

export interface ScopeCacheLimits {
  readonly usersMax: number
  /** Of all scopes together; each takes about a hundred bytes. */
  readonly subjectsMax: number
}

const LIMITS: ScopeCacheLimits = { usersMax: 2000, subjectsMax: 300_000 }
const CHANGES_MAX = 500

interface Kept {
  readonly account: OfflineAccount
  readonly settings: Settings
  /** Which database of this name. */
  readonly storeId: string
  readonly purgeSeq: number
  /** Everything up to here is in the scope, or was seen to be none of its business. */
  seq: number
  readonly loading: Promise<LoadedScope>
  subjectCount: number
}

export class ScopeCache {
  readonly #limits: ScopeCacheLimits
  /** By user name; the one that was used last stands last. */
  readonly #kept = new Map<string, Kept>()
  #subjectCount = 0
  /** Scopes that were made: how often the cache was of no use. */
  #loadCount = 0

  constructor(limits = LIMITS) {
    this.#limits = limits
  }

  get loadCount(): number {
    return this.#loadCount
  }

  async scopeOf(context: ApplicationContext, account: OfflineAccount): Promise<Scope> {
    const { database } = await context.data.open()
    const { updateSeq, purgeSeq } = await database.head()
    const kept = this.#kept.get(account.name)
    if (kept !== undefined) {
      const isSame =
        kept.storeId === database.store.id &&
        kept.purgeSeq === purgeSeq &&
        kept.settings === context.settings &&
        isSameAccount(kept.account, account)
      if (isSame && (await isCurrent(kept, database, updateSeq))) {
        this.#touch(account.name, kept)
        return (await kept.loading).scope
      }
      this.#drop(account.name, kept)
    }
    return this.#load(context, account, {
      storeId: database.store.id,
      purgeSeq,
      seq: updateSeq,
    })
  }

  /** The head was read before: whatever comes in while the scope is made is looked at the next time. */
  async #load(
    context: ApplicationContext,
    account: OfflineAccount,
    state: Pick<Kept, 'storeId' | 'purgeSeq' | 'seq'>,
  ): Promise<Scope> {
    this.#loadCount++
    const loading = loadOfflineUser(context.data, account).then(user => loadScope(context, user))
    const { name } = account
    const kept: Kept = { account, settings: context.settings, ...state, loading, subjectCount: 0 }
    this.#kept.set(name, kept)
    try {
      const { scope, watchedIds } = await loading
      this.#count(name, kept, scope.subjects.size + watchedIds.size)
      return scope
    } catch (thrown) {
      this.#drop(name, kept)
      throw thrown
    }
  }

  #count(name: string, kept: Kept, subjectCount: number): void {
    if (this.#kept.get(name) !== kept) return
    kept.subjectCount = subjectCount
    this.#subjectCount += subjectCount
    for (const [oldest, entry] of this.#kept) {
      const { usersMax, subjectsMax } = this.#limits
      if (this.#kept.size <= usersMax && this.#subjectCount <= subjectsMax) return
      this.#drop(oldest, entry)
    }
  }

  #touch(name: string, kept: Kept): void {
    if (this.#kept.get(name) !== kept) return
    this.#kept.delete(name)
    this.#kept.set(name, kept)
  }

  #drop(name: string, kept: Kept): void {
    if (this.#kept.get(name) !== kept) return
    this.#kept.delete(name)
    this.#subjectCount -= kept.subjectCount
  }
}

const isSameAccount = (a: OfflineAccount, b: OfflineAccount): boolean =>
  a.contactId === b.contactId &&
  isSameList(a.facilityIds, b.facilityIds) &&
  isSameList(a.roles, b.roles)

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((each, index) => each === b[index])

/** Does the scope hold for the database as it is by now? */
async function isCurrent(kept: Kept, database: Database, updateSeq: number): Promise<boolean> {
  const from = kept.seq
  if (from >= updateSeq) return true
  const loaded = await kept.loading
  const { changes, headSeq, isLast } = await readChanges(database, {
    from,
    descending: false,
    limit: CHANGES_MAX,
    withRecords: true,
  })
  if (!isLast) return false
  for (const { id, record } of changes) {
    const stored = record === undefined ? undefined : decodeDocument(record, id)
    const body = stored === undefined || stored.deleted ? undefined : stored.body
    if (concerns(loaded, id, body)) return false
  }
  kept.seq = Math.max(kept.seq, headSeq)
  return true
}

/** Is the document part of the scope, or would it be? One that left it is known by its id. */
function concerns(
  { scope, watchedIds }: LoadedScope,
  id: string,
  body: Buffer | undefined,
): boolean {
  if (scope.subjects.has(id) || watchedIds.has(id) || isDesign(id)) return true
  if (body === undefined) return false
  return scope.subjectsOf(id, JSON.parse(body.toString()) as JsonObject) !== undefined
}
