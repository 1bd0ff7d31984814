/**
 * The changes of a database as a stream of events, for feeds that end with what there is and for those that wait.
 *
 * Promises: every document that has changed since `since` comes at its latest sequence, in order; nothing committed
 * after the feed began is missed. Memory is bounded by a batch, and batches are read at the consumer's pace.
 *
 * A pass reads from the last sequence seen to the newest; `follow-feed.ts` says when the next one begins. What the events
 * look like on a wire is for `http/couch/present-changes.ts`.
 */
import {
  type BatchRequest,
  type Change,
  type ChangesBatch,
  changesOfDesignDocuments,
  changesOfDocuments,
  countChanges,
  loadRecords,
  readChanges,
} from '../database/changes.ts'
import type { Database } from '../database/database.ts'
import {
  type DocumentFilter,
  type FilterParts,
  openFilter,
  type RunFilter,
} from './change-filters.ts'
import { type ChangeRow, RowBuilder, type RowDocumentOptions } from './change-rows.ts'
import {
  asksForNothing,
  beginning,
  type FeedEnd,
  type FeedEvent,
  type FeedTiming,
  followFeed,
  noFeed,
  SequencePass,
} from './follow-feed.ts'
import type { ReadableDatabase } from './opened-database.ts'

export interface ChangesQuery extends FeedTiming {
  /** A sequence text, or `now`. Not looked at when descending: that begins at the newest change. */
  readonly since: string
  readonly limit: number
  /** List all leaves, not only the winner. */
  readonly allLeaves: boolean
  /** Bring the winner along. */
  readonly documents?: RowDocumentOptions
  readonly filter?: ChangesFilter
}

export type ChangesFilter =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'design' }
  | DocumentFilter

export type ChangesEvent = FeedEvent<ChangeRow>

export interface ChangesFeed {
  /** Another one whenever the answer may be another. */
  readonly tag: string
  /** @param signal ends a feed that waits; it then tells its end as usual */
  events(signal: AbortSignal): AsyncGenerator<ChangesEvent, void, undefined>
}

export type FeedParts = Omit<FilterParts, 'operations' | 'allLeaves'>

/** Fails with `request_invalid` for a malformed sequence, and when the filter's function does not exist. */
export async function openChanges(
  operations: ReadableDatabase,
  query: ChangesQuery,
  parts: FeedParts,
): Promise<ChangesFeed> {
  operations.requireListing()
  const { database } = operations
  const asked = query.since === 'now' ? undefined : database.parseSequence(query.since)
  const { updateSeq, purgeSeq } = await database.head()
  const filter = query.filter
  const { allLeaves } = query
  const run = isDocumentFilter(filter)
    ? await openFilter(filter, { ...parts, operations, allLeaves })
    : undefined
  const since = beginning(asked, updateSeq, query.descending)
  return {
    tag: `${database.life}:${updateSeq}:${purgeSeq}`,
    events: signal => {
      if (asksForNothing(query)) return noFeed(since)
      const pass = new ChangesPass(operations, query, since, run)
      return followFeed(pass, query, { followers: database.followers, signal })
    },
  }
}

const isDocumentFilter = (filter: ChangesFilter | undefined): filter is DocumentFilter =>
  filter !== undefined && filter.kind !== 'ids' && filter.kind !== 'design'

const ROWS_MAX = 1000
const ROWS_WITH_RECORDS_MAX = 400
/** Longer lists of ids are looked for in the sequence index: what CouchDB does past the same number. */
const POINT_READS_MAX = 100

/** One pass after another over the changes: where it is, and how many rows may still come. */
class ChangesPass extends SequencePass<ChangeRow> {
  readonly #database: Database
  readonly #query: ChangesQuery
  readonly #filter: RunFilter | undefined
  readonly #ids: ReadonlySet<string> | undefined
  readonly #rows: RowBuilder
  readonly #withRecords: boolean
  /** Found by looking at documents, not yet handed out. */
  #found: readonly Change[] | undefined
  /** What lies after the beginning of the pass, when documents were looked at instead; else undefined. */
  #foundCount: number | undefined
  #foundSent = 0
  #headSeq = 0
  #passes = 0

  constructor(
    operations: ReadableDatabase,
    query: ChangesQuery,
    since: number,
    filter: RunFilter | undefined,
  ) {
    super(query, since)
    this.#database = operations.database
    this.#query = query
    this.#filter = filter
    this.#ids = query.filter?.kind === 'ids' ? new Set(query.filter.ids) : undefined
    this.#rows = new RowBuilder(operations, query)
    this.#withRecords = filter !== undefined || this.#rows.wantsRecords
  }

  override begin(): void {
    super.begin()
    this.#passes++
    this.#found = undefined
    this.#foundCount = undefined
    this.#foundSent = 0
  }

  /** The next rows; none when the filter held all of a batch back; undefined at the end of the pass. */
  next(): Promise<readonly ChangeRow[] | undefined> {
    if (this.isOver) return NOTHING
    if (this.#found !== undefined) return this.#nextFound()
    const looksAtDocuments =
      this.#query.filter?.kind === 'design' ||
      (this.#ids !== undefined && this.#ids.size <= POINT_READS_MAX)
    return looksAtDocuments ? this.#find() : this.#nextScanned()
  }

  async end(): Promise<FeedEnd> {
    return { lastSeq: this.cursor, pending: await this.#pending() }
  }

  async #nextScanned(): Promise<readonly ChangeRow[]> {
    const filters = this.#filter !== undefined || this.#ids !== undefined
    const most = this.#withRecords ? ROWS_WITH_RECORDS_MAX : ROWS_MAX
    const batch = await this.#read({
      from: this.edge,
      descending: this.#query.descending,
      limit: filters ? most : Math.min(most, this.left),
      withRecords: this.#withRecords,
    })
    const rows = await this.#listed(batch.changes)
    this.count(rows)
    this.#advance(batch, rows)
    return rows
  }

  /** Those of the changes that pass, as rows, no more than may come. */
  async #listed(changes: readonly Change[]): Promise<readonly ChangeRow[]> {
    if (this.#filter !== undefined) {
      return this.#rows.filtered(changes, await this.#filter(changes), this.left)
    }
    const ids = this.#ids
    if (ids === undefined) return this.#rows.plain(changes)
    const own = changes.filter(change => ids.has(change.id))
    return this.#rows.plain(own.slice(0, this.left))
  }

  #advance({ changes, headSeq, isLast }: ChangesBatch, rows: readonly ChangeRow[]): void {
    if (this.isFull) {
      this.moveTo(rows.at(-1)?.seq)
      return
    }
    this.moveTo(changes.at(-1)?.seq)
    if (isLast) this.finish(headSeq)
  }

  /** All that were woken together stand at the same place: they share one read. */
  #read(request: BatchRequest): Promise<ChangesBatch> {
    const read = () => readChanges(this.#database, request)
    if (this.#passes === 0) return read()
    const { from, limit, withRecords } = request
    return this.#database.followers.share(`${from} ${limit} ${withRecords}`, read)
  }

  /** Looks at the documents themselves, unless fewer changes have come than there are documents to look at. */
  async #find(): Promise<readonly ChangeRow[] | undefined> {
    const after = this.#query.descending ? 0 : this.cursor
    const ids = this.#ids
    if (ids !== undefined && this.#passes > 0) {
      const limit = ids.size + 1
      const recent = { from: after, descending: false, limit, withRecords: false }
      const batch = await this.#read(recent)
      if (batch.isLast) {
        const own = batch.changes.filter(change => ids.has(change.id))
        this.#take(own, batch.headSeq, batch.changes.length)
        return this.#nextFound()
      }
    }
    const found =
      ids === undefined
        ? await changesOfDesignDocuments(this.#database, after)
        : await changesOfDocuments(this.#database, [...ids], after)
    const { changes, headSeq, count } = found
    this.#take(this.#query.descending ? [...changes].reverse() : changes, headSeq, count)
    return this.#nextFound()
  }

  #take(found: readonly Change[], headSeq: number, count: number): void {
    this.#found = found
    this.#headSeq = headSeq
    this.#foundCount = count
  }

  async #nextFound(): Promise<readonly ChangeRow[] | undefined> {
    const found = this.#found as readonly Change[]
    if (found.length === 0) {
      this.finish(this.#headSeq)
      return undefined
    }
    const slice = found.slice(0, Math.min(ROWS_WITH_RECORDS_MAX, this.left))
    const changes = this.#withRecords ? await loadRecords(this.#database, slice) : slice
    this.#found = found.slice(changes.length)
    const rows = await this.#rows.plain(changes)
    this.count(rows)
    this.#foundSent += rows.length
    this.moveTo(changes.at(-1)?.seq)
    return rows
  }

  /**
   * Changes left beyond the last sequence, whether or not they would pass. Where documents were looked at, all changes
   * that were not told count, as in CouchDB.
   */
  async #pending(): Promise<number> {
    if (this.#foundCount !== undefined) return Math.max(0, this.#foundCount - this.#foundSent)
    const { descending, limit } = this.#query
    if (!descending) return (await countChanges(this.#database, this.cursor)).after
    if (!this.isFull) return 0
    const { after, all } = await countChanges(this.#database, this.cursor - 1)
    return limit === 0 ? all : all - after
  }
}

const NOTHING = Promise.resolve(undefined)
