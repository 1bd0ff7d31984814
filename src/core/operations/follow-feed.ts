/**
 * Feeds: events about something that grows, for readers who take what there is and for those who wait for more. The
 * changes of a database and the updates of all databases are both told this way.
 *
 * Promises: nothing committed after the feed began is missed, whichever process committed it, because the feed subscribes
 * before it reads and reads again after every wakening. Rows are read at the consumer's pace, with a turn of the event
 * loop between batches so that a long feed holds nobody up. A waiting feed ends as usual, with its last sequence, when
 * its signal fires or the database goes away.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isFailure } from '../../base/errors.ts'
import type { ChangeFollowers, Follower } from '../database/change-followers.ts'

export interface FeedTiming {
  /** `normal` ends at the newest row, `longpoll` after the first that there is, `continuous` never by itself. */
  readonly feed: 'normal' | 'longpoll' | 'continuous'
  /** Newest first; such a feed never waits. */
  readonly descending: boolean
  /** How long a feed may be silent: it then ends, or beats. */
  readonly waitMs: number
  readonly beats: boolean
}

export interface FeedEnd {
  readonly lastSeq: number
  readonly pending: number
}

export type FeedEvent<Row> =
  | { readonly kind: 'rows'; readonly rows: readonly Row[] }
  /** All there is was told; the feed waits for more. */
  | { readonly kind: 'waiting' }
  | { readonly kind: 'heartbeat' }
  | ({ readonly kind: 'end' } & FeedEnd)

/** Reads from where it stands to the newest; `begin` lets it go on from there. */
export interface FeedPass<Row> {
  /** The last sequence that was looked at. */
  readonly cursor: number
  /** As many rows as were asked for were told. */
  readonly isFull: boolean
  /** Nothing more will come in this pass. */
  readonly isOver: boolean
  /** The next rows; an empty list when none of a batch was wanted; undefined at the end of the pass. */
  next(): Promise<readonly Row[] | undefined>
  begin(): void
  end(): Promise<FeedEnd>
}

/** Where a pass stands, for those that go along sequences. */
export abstract class SequencePass<Row> implements FeedPass<Row> {
  readonly #descending: boolean
  #cursor: number
  /** Where the next read begins: the cursor, or just before the first of all when descending. */
  #edge: number
  #left: number
  #ended = false

  constructor(
    { descending, limit }: { readonly descending: boolean; readonly limit: number },
    since: number,
  ) {
    this.#descending = descending
    this.#cursor = since
    this.#edge = descending ? since + 1 : since
    this.#left = limit
  }

  abstract next(): Promise<readonly Row[] | undefined>
  abstract end(): Promise<FeedEnd>

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

  protected get edge(): number {
    return this.#edge
  }

  /** How many rows may still come. */
  protected get left(): number {
    return this.#left
  }

  protected count(rows: readonly Row[]): void {
    this.#left -= rows.length
  }

  protected moveTo(seq: number | undefined): void {
    if (seq === undefined) return
    this.#cursor = seq
    this.#edge = seq
  }

  /** All up to the head was looked at, also where sequences were given up since. */
  protected finish(headSeq: number): void {
    this.#ended = true
    if (!this.#descending) this.moveTo(Math.max(this.#cursor, headSeq))
  }
}

/**
 * Where a feed begins: after what was asked for, at the newest when descending.
 *
 * @param asked undefined: now
 */
export const beginning = (asked: number | undefined, headSeq: number, descending: boolean) =>
  descending ? headSeq : Math.min(asked ?? headSeq, headSeq)

/** What is newer than now, for somebody who does not wait: nothing, also when something comes before it is looked for. */
export const asksForNothing = (query: FeedTiming & { readonly since: string }): boolean =>
  query.since === 'now' && query.feed === 'normal' && !query.descending

export async function* noFeed(lastSeq: number): AsyncGenerator<FeedEvent<never>, void, undefined> {
  yield { kind: 'end', lastSeq, pending: 0 }
}

export interface FeedPlace {
  readonly followers: ChangeFollowers
  readonly signal: AbortSignal
}

export async function* followFeed<Row>(
  pass: FeedPass<Row>,
  timing: FeedTiming,
  { followers, signal }: FeedPlace,
): AsyncGenerator<FeedEvent<Row>, void, undefined> {
  const waits = timing.feed !== 'normal' && !timing.descending
  const follower = waits ? followers.join() : undefined
  const stop = (): void => follower?.stop()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  const silence = new Silence(timing)
  try {
    for (;;) {
      const seen = follower?.version ?? 0
      const sent = yield* tellPass(pass, silence, signal)
      if (follower === undefined || pass.isFull || signal.aborted) break
      if (timing.feed === 'longpoll' && sent > 0) break
      yield WAITING
      if (!(yield* awaitChange(follower, seen, silence))) break
      pass.begin()
    }
    yield { kind: 'end', ...(await pass.end()) }
  } catch (thrown) {
    // Those who waited when the database was deleted are told that this is all.
    if (!waits || !isFailure(thrown, 'database_missing')) throw thrown
    yield { kind: 'end', lastSeq: pass.cursor, pending: 0 }
  } finally {
    signal.removeEventListener('abort', stop)
    follower?.leave()
  }
}

const WAITING = { kind: 'waiting' } as const
const HEARTBEAT = { kind: 'heartbeat' } as const

/** Tells the rows of a pass; answers how many. */
async function* tellPass<Row>(
  pass: FeedPass<Row>,
  silence: Silence,
  signal: AbortSignal,
): AsyncGenerator<FeedEvent<Row>, number, undefined> {
  let sent = 0
  for (;;) {
    const rows = await pass.next()
    if (rows === undefined || signal.aborted) return sent
    if (rows.length > 0) {
      sent += rows.length
      yield { kind: 'rows', rows }
      silence.broken()
    } else if (silence.beats && silence.leftMs <= 0) {
      yield HEARTBEAT
      silence.broken()
    }
    // Reads of the embedded engine answer at once: without this a long pass would let nobody else run.
    if (!pass.isOver) await nextTurn()
  }
}

/** True when there may be something new; false when the feed is to end. */
async function* awaitChange(
  follower: Follower,
  seen: number,
  silence: Silence,
): AsyncGenerator<typeof HEARTBEAT, boolean, undefined> {
  for (;;) {
    // Changes that the filter holds back do not keep a feed alive.
    if (silence.leftMs <= 0 && !silence.beats) return false
    const why = await follower.wait(seen, Math.max(1, silence.leftMs))
    if (why === 'changed') return true
    if (why !== 'timeout' || !silence.beats) return false
    yield HEARTBEAT
    silence.broken()
  }
}

/** For how long nothing was sent. */
class Silence {
  readonly beats: boolean
  readonly #waitMs: number
  #sinceMs = performance.now()

  constructor({ beats, waitMs }: FeedTiming) {
    this.beats = beats
    this.#waitMs = waitMs
  }

  get leftMs(): number {
    return this.#waitMs - (performance.now() - this.#sinceMs)
  }

  broken(): void {
    this.#sinceMs = performance.now()
  }
}
