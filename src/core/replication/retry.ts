/** Trying again what may succeed the next time: a few times, ever more slowly, and no longer than somebody waits. */
import { Failure, isFailure } from '../../base/errors.ts'

export interface RetryPolicy {
  readonly retries: number
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>
  /** A number from 0 to 1, so that many who failed together do not come back together. */
  readonly random: () => number
}

const FIRST_WAIT_MS = 250
const WAIT_MS_MAX = 30_000

export async function withRetries<T>(
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
  work: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work(attempt)
    } catch (thrown) {
      if (signal?.aborted) throw thrown
      if (!mayPass(thrown) || attempt >= policy.retries) throw thrown
      const longest = Math.min(WAIT_MS_MAX, FIRST_WAIT_MS * 2 ** attempt)
      await policy.wait(longest * (0.5 + policy.random() / 2), signal)
    }
  }
}

/** The reason may be gone the next time. */
export const mayPass = (thrown: unknown): boolean =>
  isFailure(thrown) &&
  (thrown.detail.retry === true || thrown.code === 'engine_busy' || thrown.code === 'timeout')

/** Something that may pass. */
export const passing = (reason: string, more: Record<string, unknown> = {}, cause?: unknown) =>
  new Failure('replication_failed', { reason, retry: true, ...more }, cause)
