/**
 * One run of one replication: everything the source has and the target lacks goes over, in batches of which several
 * are under way at once; how far it came is remembered on both ends now and then and at the end.
 *
 * Promises: a change counts as done only when all its revisions are on the target or were refused there for good (and
 * counted); a checkpoint names a sequence only when everything before it is done and on disk at both ends. So
 * whatever dies at whatever moment, the next run loses nothing and repeats at most what was not checkpointed. Memory
 * is bounded by the batches under way. It does not decide whether to try again after a failure: that is for
 * `scheduler.ts`.
 */
import {
  type Checkpoint,
  commonAncestor,
  type HistoryEntry,
  makeCheckpoint,
  readCheckpoint,
  type Session,
} from './checkpoint.ts'
import { CheckpointStore } from './checkpoint-store.ts'
import { copyBatch } from './copy-batch.ts'
import type { ChangeRow, ChangesPage, Narrowing, Peer, WriteFailure } from './peer.ts'
import { type PeerSequence, sameSequence } from './peer-sequence.ts'
import type { ReplicationProgress } from './replication-progress.ts'
import { passing, type RetryPolicy } from './retry.ts'

export interface ReplicationPlan {
  readonly source: Peer
  readonly target: Peer
  /** Names the checkpoint. */
  readonly checkpointId: string
  /** What checkpoints of earlier versions are called, newest first. */
  readonly earlierIds: readonly string[]
  readonly continuous: boolean
  readonly narrow: Narrowing
  readonly allLeaves: boolean
  readonly sinceSeq: unknown
  readonly useCheckpoints: boolean
  readonly createTarget: boolean
  readonly createTargetParams: Readonly<Record<string, string>>
  readonly batchSize: number
  /** Batches under way at once. */
  readonly workers: number
  readonly checkpointMs: number
  /** How long the source may wait for a change before it answers. */
  readonly pollMs: number
  readonly retry: RetryPolicy
}

export interface RunParts {
  readonly progress: ReplicationProgress
  readonly sessionId: string
  readonly clock: () => number
  readonly signal: AbortSignal
  readonly onWriteFailure: (failure: WriteFailure) => void
  /** Something moved. */
  readonly onProgress: () => void
  /** The ends are there and may be used: from now on it can only be interrupted. */
  readonly onStarted: () => void
  /** Cuts what is still under way at either end. */
  readonly endPeers: () => void
}

export type ReplicationResult =
  | { readonly kind: 'done'; readonly checkpoint: Checkpoint }
  | { readonly kind: 'nothing_new'; readonly checkpoint: Checkpoint }
  | { readonly kind: 'unrecorded' }

/** Ends when everything is over there; a continuous one only by its signal or a failure. */
export async function replicate(
  plan: ReplicationPlan,
  parts: RunParts,
): Promise<ReplicationResult> {
  const run = await Run.begin(plan, parts)
  parts.onStarted()
  return await run.toTheEnd()
}

/** Rows asked of the source at once, in batches. */
const PAGE_BATCHES = 8

interface Batch {
  readonly rows: readonly ChangeRow[]
  readonly lastSeq: PeerSequence
}

class Run {
  readonly #plan: ReplicationPlan
  readonly #parts: RunParts
  readonly #session: Session
  readonly #history: readonly HistoryEntry[]
  readonly #checkpoints: CheckpointStore
  readonly #stored: Checkpoint | undefined
  /** Fires when the run must end, for whatever reason. */
  readonly #stop = new AbortController()
  readonly #inFlight = new Set<Promise<void>>()
  /** In the order of the source, with those that are done marked. */
  readonly #batches: { readonly lastSeq: PeerSequence; done: boolean }[] = []
  #failure: { readonly thrown: unknown } | undefined
  #lastCheckpointMs: number

  private constructor(
    plan: ReplicationPlan,
    parts: RunParts,
    begun: {
      session: Session
      history: readonly HistoryEntry[]
      checkpoints: CheckpointStore
      stored: Checkpoint | undefined
    },
  ) {
    this.#plan = plan
    this.#parts = parts
    this.#session = begun.session
    this.#history = begun.history
    this.#checkpoints = begun.checkpoints
    this.#stored = begun.stored
    this.#lastCheckpointMs = begun.session.startedMs
  }

  static async begin(plan: ReplicationPlan, parts: RunParts): Promise<Run> {
    const { source, target } = plan
    const sourceEnd = { peer: source, begun: await source.info() }
    if (plan.createTarget) await target.create(plan.createTargetParams)
    const targetEnd = { peer: target, begun: await target.info() }
    const checkpoints = new CheckpointStore(plan, sourceEnd, targetEnd)
    const [ours, theirs] = plan.useCheckpoints ? await checkpoints.read() : []
    const { seq, history } = commonAncestor(ours, theirs)
    const startSeq = plan.sinceSeq === undefined || plan.sinceSeq === null ? seq : plan.sinceSeq
    const { progress } = parts
    progress.sourceSeq = startSeq
    progress.throughSeq = startSeq
    progress.checkpointedSeq = startSeq
    return new Run(plan, parts, {
      session: { id: parts.sessionId, startedMs: parts.clock(), startSeq },
      history,
      checkpoints,
      stored: readCheckpoint(ours),
    })
  }

  async toTheEnd(): Promise<ReplicationResult> {
    const { signal } = this.#parts
    const stop = (): void => this.#stop.abort()
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const timer = setInterval(() => this.#checkpointIfDue(), CHECK_MS)
    timer.unref()
    try {
      await this.#follow()
      await this.#settle()
      return await this.#finish()
    } catch (thrown) {
      if (signal.aborted && this.#failure === undefined) await this.#lastCheckpoint()
      throw thrown
    } finally {
      clearInterval(timer)
      signal.removeEventListener('abort', stop)
      this.#stop.abort()
      this.#parts.endPeers()
      await Promise.allSettled(this.#inFlight)
    }
  }

  /** Reads pages of changes ahead of the batches that are copied. */
  async #follow(): Promise<void> {
    let page = await this.#page(0)
    for (;;) {
      const isShort = page.rows.length < this.#plan.batchSize * PAGE_BATCHES
      this.#parts.progress.sourceSeq = page.lastSeq
      this.#parts.progress.pending = page.pending
      const next = this.#readAhead(isShort)
      try {
        for (const batch of this.#cut(page)) await this.#copy(batch)
      } catch (thrown) {
        await next?.catch(() => {})
        throw thrown
      }
      if (next === undefined) return
      page = await next
    }
  }

  /** The page after this one; undefined when there is none to come. */
  #readAhead(isShort: boolean): Promise<ChangesPage> | undefined {
    if (isShort && !this.#plan.continuous) return undefined
    const next = this.#page(isShort ? this.#plan.pollMs : 0)
    // Whoever waits for it hears of its failure; until then nobody does.
    next.catch(() => {})
    return next
  }

  #page(waitMs: number): Promise<ChangesPage> {
    const { source, narrow, allLeaves, batchSize } = this.#plan
    const limit = batchSize * PAGE_BATCHES
    const since = this.#parts.progress.sourceSeq
    return source.changes({ since, limit, waitMs, allLeaves, narrow }, this.#stop.signal)
  }

  #cut({ rows, lastSeq }: ChangesPage): Batch[] {
    const { batchSize } = this.#plan
    if (rows.length === 0) return [{ rows, lastSeq }]
    const batches: Batch[] = []
    for (let at = 0; at < rows.length; at += batchSize) {
      const own = rows.slice(at, at + batchSize)
      const isLast = at + batchSize >= rows.length
      batches.push({ rows: own, lastSeq: isLast ? lastSeq : (own.at(-1) as ChangeRow).seq })
    }
    return batches
  }

  /** Begins a batch as soon as there is a place for it. */
  async #copy({ rows, lastSeq }: Batch): Promise<void> {
    this.#throwIfFailed()
    const mark = { lastSeq, done: false }
    this.#batches.push(mark)
    if (rows.length === 0) {
      mark.done = true
      this.#advance()
      return
    }
    while (this.#inFlight.size >= this.#plan.workers) {
      await Promise.race(this.#inFlight)
      this.#throwIfFailed()
    }
    const { source, target, retry } = this.#plan
    const { progress, onWriteFailure, onProgress } = this.#parts
    const copying = copyBatch(rows, {
      source,
      target,
      retry,
      progress,
      signal: this.#stop.signal,
      onWriteFailure,
      onProgress,
    })
      .then(() => {
        mark.done = true
        this.#advance()
      })
      .catch(thrown => {
        this.#failure ??= { thrown }
        this.#stop.abort()
      })
      .finally(() => this.#inFlight.delete(copying))
    this.#inFlight.add(copying)
  }

  /** What is done without a gap before it. */
  #advance(): void {
    while (this.#batches[0]?.done === true) {
      this.#parts.progress.throughSeq = this.#batches.shift()?.lastSeq
    }
    this.#parts.onProgress()
  }

  async #settle(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.race(this.#inFlight)
    this.#throwIfFailed()
  }

  #throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.thrown
    if (this.#parts.signal.aborted) throw passing('the replication was stopped')
  }

  async #finish(): Promise<ReplicationResult> {
    const { progress } = this.#parts
    progress.pending = 0
    if (!this.#plan.useCheckpoints) {
      this.#parts.onProgress()
      return { kind: 'unrecorded' }
    }
    const isRecorded = sameSequence(progress.throughSeq, progress.checkpointedSeq)
    if (isRecorded && this.#stored !== undefined) {
      return { kind: 'nothing_new', checkpoint: this.#stored }
    }
    return { kind: 'done', checkpoint: await this.#checkpoint() }
  }

  /** One that is stopped on purpose remembers how far it came, if that does not take long. */
  async #lastCheckpoint(): Promise<void> {
    const { throughSeq, checkpointedSeq } = this.#parts.progress
    if (!this.#plan.useCheckpoints || sameSequence(throughSeq, checkpointedSeq)) return
    let timer: NodeJS.Timeout | undefined
    const tooLong = new Promise<void>(resolve => {
      timer = setTimeout(resolve, LAST_CHECKPOINT_MS)
    })
    // Without it the next run repeats a little; that is no reason to fail.
    await Promise.race([this.#checkpoint().catch(() => {}), tooLong])
    clearTimeout(timer)
  }

  #isCheckpointing = false

  #checkpointIfDue(): void {
    const { clock, progress, signal } = this.#parts
    const { useCheckpoints, checkpointMs } = this.#plan
    if (!useCheckpoints || this.#isCheckpointing || signal.aborted) return
    if (clock() - this.#lastCheckpointMs < checkpointMs) return
    if (sameSequence(progress.throughSeq, progress.checkpointedSeq)) return
    this.#isCheckpointing = true
    const writing = this.#checkpoint()
      .then(() => {})
      .catch(thrown => {
        this.#failure ??= { thrown }
        this.#stop.abort()
      })
      .finally(() => {
        this.#isCheckpointing = false
        this.#inFlight.delete(writing)
      })
    this.#inFlight.add(writing)
  }

  async #checkpoint(): Promise<Checkpoint> {
    const { progress, clock } = this.#parts
    const seq = progress.throughSeq
    const counts = progress.counts
    const checkpoint = makeCheckpoint({
      session: this.#session,
      nowMs: clock(),
      seq,
      counts,
      history: this.#history,
      countsOnTop: this.#plan.narrow.kind === 'ids',
    })
    await this.#checkpoints.write(checkpoint)
    progress.checkpointedSeq = seq
    this.#lastCheckpointMs = clock()
    this.#parts.onProgress()
    return checkpoint
  }
}

const CHECK_MS = 1000
const LAST_CHECKPOINT_MS = 2000
