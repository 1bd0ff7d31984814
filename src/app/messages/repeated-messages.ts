/**
 * Notices when the same text goes to the same number again and again: two machines that answer each other would never
 * stop. A pair counts on as long as it comes again within half an hour. Known to one process, and bounded: the pairs seen
 * longest ago are forgotten first.
 */
import type { Settings } from '../settings/settings.ts'
import { smsSettings } from './denied-recipient.ts'

const WINDOW_MS = 30 * 60 * 1000
const LIMIT_DEFAULT = 5
const LIMIT_MAX = 20
const PAIRS_MAX = 50_000

export class RepeatedMessages {
  /** In the order of the last time they were seen. */
  readonly #seen = new Map<string, { count: number; atMs: number }>()

  /** Counts one more; true when it is one too many. */
  isOneTooMany(to: string, text: string, settings: Settings, nowMs: number): boolean {
    const key = JSON.stringify([to, text])
    const known = this.#seen.get(key)
    const isRecent = known !== undefined && nowMs - known.atMs <= WINDOW_MS
    const count = isRecent ? known.count + 1 : 1
    this.#seen.delete(key)
    this.#seen.set(key, { count, atMs: nowMs })
    for (const oldest of this.#seen.keys()) {
      if (this.#seen.size <= PAIRS_MAX) break
      this.#seen.delete(oldest)
    }
    return count > limitOf(settings)
  }
}

function limitOf(settings: Settings): number {
  const given = Number(smsSettings(settings).duplicate_limit ?? LIMIT_DEFAULT)
  return Number.isInteger(given) && given > 0 ? Math.min(given, LIMIT_MAX) : LIMIT_DEFAULT
}
