/**
 * Tries again what may be tried again, for a bounded time: a server that restarts or changes over is back in seconds,
 * and nobody should hear of it. What cannot be done then fails with one line.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Failure } from '../../base/errors.ts'
import { failureOf, kindOf } from './postgres-errors.ts'

export interface RetryRules {
  readonly server: string
  readonly isClosing: () => boolean
  readonly totalMs: number
}

export const RETRY_MS = 30_000
const WAIT_MS_MIN = 5
const WAIT_MS_MAX = 1000

/** @param work may be run more than once */
export async function retrying<T>(rules: RetryRules, work: () => Promise<T>): Promise<T> {
  const startMs = performance.now()
  for (let attempt = 0; ; attempt++) {
    try {
      return await work()
    } catch (thrown) {
      const leftMs = startMs + rules.totalMs - performance.now()
      if (kindOf(thrown) === 'final' || leftMs <= 0) throw failureOf(thrown, rules.server)
      if (rules.isClosing()) throw new Failure('engine_closed', {}, thrown)
      await delay(Math.min(waitMs(attempt), leftMs))
    }
  }
}

/** Ever longer, and not all at the same time. */
const waitMs = (attempt: number): number =>
  Math.min(WAIT_MS_MAX, WAIT_MS_MIN * 2 ** attempt) * (0.5 + Math.random())
