/**
 * All replications of this server: added, started as the scheduler says, started again after failures, removed. Who
 * asked for one is told how each of its runs ended.
 */
import type { RunEnd } from './replication-job.ts'
import { type JobIdentity, type JobSurroundings, ReplicationJob } from './replication-job.ts'
import { backoffMs, type SchedulerLimits, schedule, spreadMs } from './scheduler.ts'

export interface JobsParts {
  readonly surroundings: JobSurroundings
  readonly limits: () => SchedulerLimits
  readonly turnMs: () => number
  /** The longest time by which starts are spread. */
  readonly jitterMs: () => number
  /** A number from 0 to 1. */
  readonly random: () => number
}

/** Says what is to become of a job whose run is over. */
export type OnRunEnd = (end: RunEnd, job: ReplicationJob) => 'keep' | 'remove'

interface Entry {
  readonly job: ReplicationJob
  readonly onEnd: OnRunEnd
}

/** Timers cannot wait longer. */
const TIMER_MS_MAX = 60_000

export class ReplicationJobs {
  readonly #parts: JobsParts
  readonly #entries = new Map<string, Entry>()
  #timer: NodeJS.Timeout | undefined
  #lastTurnMs: number
  #closed = false

  constructor(parts: JobsParts) {
    this.#parts = parts
    this.#lastTurnMs = parts.surroundings.clock()
  }

  get(id: string): ReplicationJob | undefined {
    return this.#entries.get(id)?.job
  }

  list(): ReplicationJob[] {
    return [...this.#entries.values()].map(({ job }) => job)
  }

  /** One that a document asks for may start a little later: thousands of them begin when a server does. */
  add(identity: JobIdentity, onEnd: OnRunEnd): ReplicationJob {
    const { surroundings } = this.#parts
    const job = new ReplicationJob(identity, surroundings)
    if (identity.document !== undefined) job.notBeforeMs = surroundings.clock() + this.#jitterMs()
    this.#entries.set(identity.id, { job, onEnd })
    this.#schedule()
    return job
  }

  async remove(id: string): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    this.#entries.delete(id)
    await entry.job.stop()
    this.#schedule()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    const jobs = this.list()
    this.#entries.clear()
    await Promise.all(jobs.map(job => job.stop()))
  }

  #schedule(): void {
    if (this.#closed) return
    const nowMs = this.#parts.surroundings.clock()
    const isTurn = nowMs - this.#lastTurnMs >= this.#parts.turnMs()
    if (isTurn) this.#lastTurnMs = nowMs
    const { start, stop } = schedule(this.list(), nowMs, this.#parts.limits(), isTurn)
    for (const id of stop) void this.get(id)?.stop()
    for (const id of start) this.#start(this.#entries.get(id) as Entry)
    this.#wakeLater(nowMs)
  }

  #start({ job, onEnd }: Entry): void {
    void job.start().then(end => {
      if (this.#entries.get(job.id)?.job === job) this.#runEnded(job, onEnd, end)
    })
  }

  #runEnded(job: ReplicationJob, onEnd: OnRunEnd, end: RunEnd): void {
    if (end.kind === 'crashed') {
      const waitMs = backoffMs(job.failures) + this.#jitterMs()
      job.notBeforeMs = this.#parts.surroundings.clock() + waitMs
    }
    if (onEnd(end, job) === 'remove') this.#entries.delete(job.id)
    this.#schedule()
  }

  #jitterMs(): number {
    const { jitterMs, random } = this.#parts
    return Math.floor(spreadMs(this.#entries.size, jitterMs()) * random())
  }

  /** When the next one may try again, or others must make room. */
  #wakeLater(nowMs: number): void {
    clearTimeout(this.#timer)
    const waiting = this.list().filter(job => !job.running)
    if (waiting.length === 0) return
    const next = Math.min(...waiting.map(job => Math.max(job.notBeforeMs, nowMs + 100)))
    const turn = this.#lastTurnMs + this.#parts.turnMs()
    const isCrowded = waiting.some(job => job.notBeforeMs <= nowMs)
    const atMs = isCrowded ? turn : next
    const waitMs = Math.min(TIMER_MS_MAX, Math.max(10, atMs - nowMs))
    this.#timer = setTimeout(() => this.#schedule(), waitMs)
    this.#timer.unref()
  }
}
