/**
 * Which replications run when there are more than may run at once, and when one that failed may try again. Pure: the
 * state of the jobs in, what to start and to stop out.
 *
 * Those that ran least recently come first. At every turn of the clock some continuous ones make room for those that
 * wait; one that is not continuous is never stopped in the middle.
 */
export interface ScheduledJob {
  readonly id: string
  readonly continuous: boolean
  readonly running: boolean
  /** 0: never. */
  readonly lastStartedMs: number
  /** Not to be started before. */
  readonly notBeforeMs: number
}

export interface SchedulerLimits {
  readonly jobsMax: number
  /** Most that may be stopped, and started in their place, at one turn. */
  readonly churnMax: number
}

export interface ScheduleDecision {
  readonly start: readonly string[]
  readonly stop: readonly string[]
}

/** @param isTurn the time between turns has passed; else only free places are filled */
export function schedule(
  jobs: Iterable<ScheduledJob>,
  nowMs: number,
  limits: SchedulerLimits,
  isTurn: boolean,
): ScheduleDecision {
  const all = [...jobs]
  const running = all.filter(job => job.running)
  const waiting = all
    .filter(job => !job.running && job.notBeforeMs <= nowMs)
    .sort((a, b) => a.lastStartedMs - b.lastStartedMs)
  const excess = Math.max(0, running.length - limits.jobsMax)
  const free = Math.max(0, limits.jobsMax - running.length)
  const stillWaiting = Math.max(0, waiting.length - free)
  const wantedStops = excess + (isTurn ? Math.min(limits.churnMax, stillWaiting) : 0)
  const stop = running
    .filter(job => job.continuous)
    .sort((a, b) => a.lastStartedMs - b.lastStartedMs)
    .slice(0, wantedStops)
  const places = free + Math.max(0, stop.length - excess)
  return {
    start: waiting.slice(0, places).map(({ id }) => id),
    stop: stop.map(({ id }) => id),
  }
}

const BACKOFF_MS = 30_000
const BACKOFF_DOUBLINGS_MAX = 10
/** One that ran this long was healthy: its next failure counts as its first. */
const HEALTHY_MS = 120_000

/** How long to wait after so many failures in a row, at least one. */
export const backoffMs = (failures: number): number =>
  BACKOFF_MS * 2 ** Math.min(Math.max(0, failures - 1), BACKOFF_DOUBLINGS_MAX)

const SPREAD_PER_JOB_MS = 10

/** The time over which the start of one more is spread: none for the first, more the more there are. */
export const spreadMs = (jobs: number, mostMs: number): number =>
  Math.min(mostMs, jobs * SPREAD_PER_JOB_MS)

/** Failures in a row, this one included. */
export const failuresAfter = (failuresBefore: number, ranMs: number): number =>
  ranMs >= HEALTHY_MS ? 1 : failuresBefore + 1
