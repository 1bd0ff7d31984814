/**
 * The feed of what happened to databases (`/_db_updates`): the update log as events, for readers who take what there is
 * and for those who wait. Only server admins see it; that is asked where the route is admitted.
 */
import { parseSequence, printSequence } from '../database/sequence-text.ts'
import type { DatabaseUpdate, UpdateLog } from '../database/update-log.ts'
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
  const { seq, life } = await log.head()
  const asked = query.since === 'now' ? undefined : parseSequence(query.since, life)
  const since = beginning(asked, seq, query.descending)
  const { followers } = log
  return {
    printSequence: each => printSequence(each, life),
    events: signal =>
      asksForNothing(query)
        ? noFeed(since)
        : followFeed(new UpdatesPass(log, query, since), query, { followers, signal }),
  }
}

const ROWS_MAX = 1000

class UpdatesPass extends SequencePass<DatabaseUpdate> {
  readonly #log: UpdateLog
  readonly #descending: boolean

  constructor(log: UpdateLog, query: UpdatesQuery, since: number) {
    super(query, since)
    this.#log = log
    this.#descending = query.descending
  }

  async next(): Promise<readonly DatabaseUpdate[] | undefined> {
    if (this.isOver) return undefined
    const limit = Math.min(ROWS_MAX, this.left)
    const { updates, headSeq, isLast } = await this.#log.read(this.edge, limit, this.#descending)
    this.count(updates)
    this.moveTo(updates.at(-1)?.seq)
    if (isLast) this.finish(headSeq)
    return updates
  }

  async end(): Promise<FeedEnd> {
    return { lastSeq: this.cursor, pending: 0 }
  }
}
