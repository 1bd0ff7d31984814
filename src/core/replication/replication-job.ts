/**
 * One replication that was asked for: what it is, how its runs went, and the run under way. It runs when it is told
 * to; when that is, is for `scheduler.ts`.
 */
import { type Failure, isFailure } from '../../base/errors.ts'
import type { User } from '../auth/user.ts'
import type { JobEvent, JobView } from '../operations/replication-operations.ts'
import type { TaskHandle } from '../tasks/active-tasks.ts'
import { showEndpoint } from './endpoint.ts'
import type { WriteFailure } from './peer.ts'
import type { PeerSequence } from './peer-sequence.ts'
import { type ReplicationPlan, type ReplicationResult, replicate } from './replicate.ts'
import { presentStats, presentTask, ReplicationProgress } from './replication-progress.ts'
import type { ReplicationRequest } from './replication-request.ts'
import { failuresAfter } from './scheduler.ts'

export interface JobIdentity {
  readonly id: string
  /** Names the checkpoint. */
  readonly base: string
  /** Names that earlier versions gave it. */
  readonly earlier: readonly string[]
  readonly request: ReplicationRequest
  readonly user: User
  /** The document that asks for it; undefined when a request did. */
  readonly document?: { readonly database: string; readonly id: string } | undefined
}

export interface JobSurroundings {
  readonly nodeName: string
  readonly clock: () => number
  readonly newSessionId: () => string
  /** Both ends, opened for one run; `end` lets go of them. */
  readonly open: (job: JobIdentity) => OpenedEnds
  readonly startTask: (fields: Readonly<Record<string, unknown>>) => TaskHandle
  readonly presentSequence: (seq: PeerSequence) => unknown
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
}

export interface OpenedEnds {
  readonly plan: ReplicationPlan
  readonly end: () => void
}

export type RunEnd =
  | { readonly kind: 'completed'; readonly result: ReplicationResult }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'crashed'; readonly failure: Failure | Error }

const HISTORY_MAX = 20
const TASK_UPDATE_MS = 500
const WARNINGS_MAX = 10

export class ReplicationJob {
  readonly identity: JobIdentity
  readonly #surroundings: JobSurroundings
  readonly #history: JobEvent[] = []
  readonly addedMs: number
  #progress = new ReplicationProgress()
  #run: { readonly controller: AbortController; readonly ended: Promise<RunEnd> } | undefined
  #pid: string | null = null
  #hasStarted = false
  failures = 0
  lastError: string | undefined
  lastStartedMs = 0
  notBeforeMs = 0
  updatedMs: number

  constructor(identity: JobIdentity, surroundings: JobSurroundings) {
    this.identity = identity
    this.#surroundings = surroundings
    this.addedMs = surroundings.clock()
    this.updatedMs = this.addedMs
    this.#record('added')
  }

  get id(): string {
    return this.identity.id
  }

  get running(): boolean {
    return this.#run !== undefined
  }

  /** Both ends were reached in the run under way. */
  get hasStarted(): boolean {
    return this.running && this.#hasStarted
  }

  get continuous(): boolean {
    return this.identity.request.continuous
  }

  /** One run. Never fails: how it ended is what it resolves to. */
  start(): Promise<RunEnd> {
    const controller = new AbortController()
    // Later, so that a run that ends at once ends after it is known to be under way.
    const ended = Promise.resolve().then(() => this.#runOnce(controller.signal))
    this.#run = { controller, ended }
    return ended
  }

  /** Resolves when the run under way, if any, is over. */
  async stop(): Promise<void> {
    this.#run?.controller.abort()
    await this.#run?.ended
  }

  get stats(): Record<string, unknown> {
    return {
      ...presentStats(this.#progress, this.#surroundings.presentSequence),
      start_time: isoSeconds(this.lastStartedMs || this.addedMs),
    }
  }

  view(): JobView {
    const { id, request, user, document } = this.identity
    return {
      database: document?.database ?? null,
      id,
      pid: this.running ? this.#pid : null,
      source: showEndpoint(request.source),
      target: showEndpoint(request.target),
      user: user.name,
      doc_id: document?.id ?? null,
      info: this.lastError !== undefined && !this.running ? { error: this.lastError } : this.stats,
      history: [...this.#history],
      node: this.#surroundings.nodeName,
      start_time: isoSeconds(this.addedMs),
    }
  }

  async #runOnce(signal: AbortSignal): Promise<RunEnd> {
    const { clock, open, newSessionId } = this.#surroundings
    this.lastStartedMs = clock()
    this.#hasStarted = false
    this.#progress = new ReplicationProgress()
    this.#record('started')
    const sessionId = newSessionId()
    try {
      const opened = open(this.identity)
      return await this.#runOpened(opened, sessionId, signal)
    } catch (thrown) {
      return this.#ended(thrown, signal)
    } finally {
      this.#run = undefined
    }
  }

  async #runOpened({ plan, end }: OpenedEnds, sessionId: string, signal: AbortSignal) {
    const task = this.#beginTask(plan)
    try {
      const result = await replicate(plan, {
        progress: this.#progress,
        sessionId,
        clock: this.#surroundings.clock,
        signal,
        onWriteFailure: this.#writeFailures(),
        onProgress: this.#taskUpdater(task),
        onStarted: () => {
          this.#hasStarted = true
          this.lastError = undefined
        },
        endPeers: end,
      })
      this.failures = 0
      this.#record('stopped')
      return { kind: 'completed', result } as const
    } finally {
      task.end()
      end()
    }
  }

  #ended(thrown: unknown, signal: AbortSignal): RunEnd {
    if (signal.aborted) {
      this.#record('stopped')
      return { kind: 'stopped' }
    }
    const failure = thrown instanceof Error ? thrown : new Error(String(thrown))
    const ranMs = this.#surroundings.clock() - this.lastStartedMs
    this.failures = failuresAfter(this.failures, ranMs)
    this.lastError = describeFailure(failure)
    this.#record('crashed', this.lastError)
    return { kind: 'crashed', failure }
  }

  #beginTask(plan: ReplicationPlan): TaskHandle {
    const { id, request, user, document } = this.identity
    const task = this.#surroundings.startTask({
      user: user.name,
      replication_id: id,
      database: document?.database ?? null,
      doc_id: document?.id ?? null,
      source: showEndpoint(request.source),
      target: showEndpoint(request.target),
      continuous: request.continuous,
      checkpoint_interval: plan.checkpointMs,
      node: this.#surroundings.nodeName,
      process_status: 'waiting',
      ...presentTask(this.#progress, this.#surroundings.presentSequence),
    })
    this.#pid = `<0.${process.pid}.${this.#history.length}>`
    return task
  }

  /** Progress comes thousands of times a second; who looks at tasks does not. */
  #taskUpdater(task: TaskHandle): () => void {
    let lastMs = 0
    const { clock, presentSequence } = this.#surroundings
    return () => {
      const nowMs = clock()
      if (nowMs - lastMs < TASK_UPDATE_MS) return
      lastMs = nowMs
      this.updatedMs = nowMs
      task.update(presentTask(this.#progress, presentSequence))
    }
  }

  #writeFailures(): (failure: WriteFailure) => void {
    let count = 0
    return ({ id, error, reason }) => {
      if (++count > WARNINGS_MAX) return
      const facts = { replication: this.id, document: id, error, reason: String(reason) }
      this.#surroundings.warn('a document could not be replicated', facts)
    }
  }

  #record(type: JobEvent['type'], reason?: string): void {
    this.updatedMs = this.#surroundings.clock()
    const timestamp = isoSeconds(this.updatedMs)
    this.#history.unshift(reason === undefined ? { timestamp, type } : { timestamp, type, reason })
    if (this.#history.length > HISTORY_MAX) this.#history.pop()
  }
}

export function describeFailure(failure: Error): string {
  if (!isFailure(failure)) return 'unexpected: see the log'
  const { error, reason } = failure.detail
  return `${error ?? failure.code}: ${typeof reason === 'string' ? reason : failure.message}`
}

/** `2026-01-31T12:00:00Z`. */
export const isoSeconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`
