/**
 * Who works on the upgrade: one process at a time, of all that share the database. The lease is a document of the
 * database of logs that its holder writes again and again; somebody else takes it once it has not moved for a while.
 * Two who believe to hold it do no harm for the moment that lasts: every step of an upgrade may be done twice.
 */
import { randomUUID } from 'node:crypto'
import { isFailure } from '../../base/errors.ts'
import type { Document } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'

const LEASE_ID = 'upgrade-lease'

export interface LeaseTiming {
  readonly leaseMs: number
  readonly renewMs: number
}

export class UpgradeLease {
  readonly #logs: DocumentDatabase
  readonly #timing: LeaseTiming
  readonly #owner = randomUUID()
  /** The revision that somebody else was last seen to hold, and since when. */
  #foreign: { readonly rev: string | undefined; readonly sinceMs: number } | undefined

  constructor(logs: DocumentDatabase, timing: LeaseTiming) {
    this.#logs = logs
    this.#timing = timing
  }

  /** Runs the work while this process holds the lease; false when another one does. */
  async hold(work: (signal: AbortSignal) => Promise<void>, stop: AbortSignal): Promise<boolean> {
    if (!(await this.#claim())) return false
    const lost = new AbortController()
    let renewing: Promise<unknown> = Promise.resolve()
    const timer = setInterval(() => {
      renewing = this.#renew().then(
        isHeld => isHeld || lost.abort(),
        () => lost.abort(),
      )
    }, this.#timing.renewMs)
    try {
      await work(AbortSignal.any([lost.signal, stop]))
    } finally {
      clearInterval(timer)
      await renewing
      if (!lost.signal.aborted) await this.#release()
    }
    return true
  }

  async #claim(): Promise<boolean> {
    const stored = await this.#logs.get(LEASE_ID)
    return this.#isFree(stored) ? this.#write(stored, this.#owner) : false
  }

  /** Clocks of other machines are not asked: what counts is how long it stood still before these eyes. */
  #isFree(stored: Document | undefined): boolean {
    if (stored === undefined || stored.owner === '' || stored.owner === this.#owner) return true
    const nowMs = performance.now()
    if (this.#foreign?.rev !== stored._rev) this.#foreign = { rev: stored._rev, sinceMs: nowMs }
    return nowMs - (this.#foreign?.sinceMs ?? nowMs) >= this.#timing.leaseMs
  }

  async #renew(): Promise<boolean> {
    const stored = await this.#logs.get(LEASE_ID)
    return stored?.owner === this.#owner && (await this.#write(stored, this.#owner))
  }

  /** Whoever cannot release it leaves it to its end. */
  async #release(): Promise<void> {
    try {
      const stored = await this.#logs.get(LEASE_ID)
      if (stored?.owner === this.#owner) await this.#write(stored, '')
    } catch (thrown) {
      if (!isFailure(thrown)) throw thrown
    }
  }

  async #write(stored: Document | undefined, owner: string): Promise<boolean> {
    const rev = stored?._rev === undefined ? {} : { _rev: stored._rev }
    const turn = typeof stored?.turn === 'number' ? stored.turn + 1 : 1
    try {
      await this.#logs.put({ _id: LEASE_ID, ...rev, owner, turn })
      return true
    } catch (thrown) {
      if (isFailure(thrown, 'document_conflict')) return false
      throw thrown
    }
  }
}
