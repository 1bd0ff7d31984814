/**
 * The feed of what happened to databases (`/_db_updates`): the update log as events, for readers who take what there is
 * and for those who wait. Only server admins see it; that is asked where the route is admitted.
 */
import type { DatabaseUpdate, UpdateLog } from '../database/update-log.ts'
import {
  type FeedEnd,
  type FeedEvent,
  type FeedPass,
  type FeedTiming,
  followFeed,
} from './follow-feed.ts'

export interface UpdatesQuery extends FeedTiming {
  /** A sequence text, or `now`. */
  readonly since: string
  readonly limit: number
}

export interface UpdatesFeed {
  readonly printSequence: (seq: number) => string
  events(signal: AbortSignal): AsyncGenerator<FeedEvent<DatabaseUpdate>, void, undefined>
}

/** Fails with `request_invalid` for a malformed sequence. */
export async function openUpdates(log: UpdateLog, query: UpdatesQuery): Promise<UpdatesFeed> {
  const { seq } = await log.head()
  const asked = query.since === 'now' ? seq : await log.parseSequence(query.since)
  const since = query.descending ? seq : Math.min(asked, seq)
  return {
    printSequence: await log.printer(),
    events: signal =>
      followFeed(new UpdatesPass(log, query, since), query, { followers: log.followers, signal }),
  }
}

const ROWS_MAX = 1000

class UpdatesPass implements FeedPass<DatabaseUpdate> {
  readonly #log: UpdateLog
  readonly #descending: boolean
  #cursor: number
  #edge: number
  #left: number
  #ended = false

  constructor(log: UpdateLog, query: UpdatesQuery, since: number) {
    this.#log = log
    this.#descending = query.descending
    this.#cursor = since
    this.#edge = query.descending ? since + 1 : since
    this.#left = query.limit
  }

  get cursor(): number {
    return this.#cursor
  }

  get isFull(): boolean {
    return this.#left <= 0
  }

  get isOver(): boolean {
    return this.#ended || this.isFull
  }

  begin(): void {
    this.#ended = false
  }

  async next(): Promise<readonly DatabaseUpdate[] | undefined> {
    if (this.isOver) return undefined
    const limit = Math.min(ROWS_MAX, this.#left)
    const { updates, headSeq, isLast } = await this.#log.read(this.#edge, limit, this.#descending)
    this.#left -= updates.length
    this.#moveTo(updates.at(-1)?.seq ?? this.#cursor)
    if (isLast) {
      this.#ended = true
      if (!this.#descending) this.#moveTo(Math.max(this.#cursor, headSeq))
    }
    return updates
  }

  async end(): Promise<FeedEnd> {
    return { lastSeq: this.#cursor, pending: 0 }
  }

  #moveTo(seq: number): void {
    this.#cursor = seq
    this.#edge = seq
  }
}
