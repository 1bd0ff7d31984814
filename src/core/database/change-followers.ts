/**
 * Who in this process waits for the next change of one store, be it a database's or the record of database updates.
 *
 * However many wait, there is one subscription to notices and one timer, and both exist only while somebody waits. The
 * timer makes good for a notice that was lost with a dead process: it looks at the store's newest sequence every few
 * seconds. A waiting follower is one small object and a timer of its own; it holds nothing it has read.
 *
 * How nothing is missed: a follower joins, notes `version`, reads the store, and then waits for a version other than the
 * one it noted. Whatever was committed after the read began has raised the version by then.
 */
import { isFailure } from '../../base/errors.ts'
import type { Notices } from '../notices/notices.ts'

export interface FollowedStore {
  readonly storeId: string
  readonly notices: Notices
  /** Fails with `database_missing` or `store_missing` once the store is gone. */
  readonly newestSeq: () => Promise<number>
  readonly checkMs?: number
}

export type Wakening = 'changed' | 'timeout' | 'ended' | 'stopped'

const CHECK_MS = 10_000

export class ChangeFollowers {
  readonly #store: FollowedStore
  readonly #followers = new Set<Follower>()
  readonly #shared = new Map<string, Promise<unknown>>()
  #unsubscribe: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #version = 0
  #newestSeq = 0
  #ended = false

  constructor(store: FollowedStore) {
    this.#store = store
  }

  get count(): number {
    return this.#followers.size
  }

  /** Raised whenever the store has something newer. */
  get version(): number {
    return this.#version
  }

  get ended(): boolean {
    return this.#ended
  }

  /** From now on no change goes unnoticed, until `leave`. */
  join(): Follower {
    const follower = new Follower(this, gone => this.#leave(gone))
    if (this.#followers.size === 0) this.#begin()
    this.#followers.add(follower)
    return follower
  }

  /**
   * A read that all who were woken together and want the same may share. It is forgotten at the end of the turn, so
   * that nobody keeps memory for those who come late.
   */
  share<T>(what: string, read: () => Promise<T>): Promise<T> {
    const running = this.#shared.get(what)
    if (running !== undefined) return running as Promise<T>
    if (this.#shared.size === 0) setImmediate(() => this.#shared.clear())
    const reading = read()
    this.#shared.set(what, reading)
    return reading
  }

  #begin(): void {
    const { notices, storeId } = this.#store
    this.#unsubscribe = notices.subscribeTo(storeId, notice => {
      if (notice.kind === 'database_deleted') this.#end()
      else this.#changed('seq' in notice ? notice.seq : 0)
    })
    this.#timer = setInterval(() => void this.#check(), this.#store.checkMs ?? CHECK_MS)
    this.#timer.unref()
  }

  #leave(follower: Follower): void {
    if (!this.#followers.delete(follower) || this.#followers.size > 0) return
    this.#unsubscribe?.()
    clearInterval(this.#timer)
  }

  #changed(seq: number): void {
    this.#newestSeq = Math.max(this.#newestSeq, seq)
    this.#version++
    this.#shared.clear()
    for (const follower of this.#followers) follower.wake('changed')
  }

  #end(): void {
    this.#ended = true
    this.#version++
    for (const follower of this.#followers) follower.wake('ended')
  }

  /** Wakes all when the store is further than any notice said; a needless wakening only costs a read. */
  async #check(): Promise<void> {
    try {
      const seq = await this.#store.newestSeq()
      if (seq > this.#newestSeq) this.#changed(seq)
    } catch (thrown) {
      if (isFailure(thrown, 'database_missing') || isFailure(thrown, 'store_missing')) this.#end()
      // Anything else is met again by whoever reads next, and told there.
    }
  }
}

export class Follower {
  readonly #followers: ChangeFollowers
  readonly #onLeave: (follower: Follower) => void
  #resume: ((why: Wakening) => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #stopped = false

  constructor(followers: ChangeFollowers, onLeave: (follower: Follower) => void) {
    this.#followers = followers
    this.#onLeave = onLeave
  }

  get version(): number {
    return this.#followers.version
  }

  get stopped(): boolean {
    return this.#stopped
  }

  /** Resolves when the version is another than `seen`, or after the time, or when nothing more will come. */
  wait(seen: number, timeoutMs: number): Promise<Wakening> {
    if (this.#stopped) return Promise.resolve('stopped')
    if (this.#followers.ended) return Promise.resolve('ended')
    if (this.#followers.version !== seen) return Promise.resolve('changed')
    return new Promise(resolve => {
      this.#resume = resolve
      this.#timer = setTimeout(() => this.wake('timeout'), timeoutMs)
    })
  }

  wake(why: Wakening): void {
    const resume = this.#resume
    if (resume === undefined) return
    this.#resume = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
    resume(why)
  }

  /** Ends the wait, and all further ones at once. */
  stop(): void {
    this.#stopped = true
    this.wake('stopped')
  }

  leave(): void {
    this.stop()
    this.#onLeave(this)
  }
}
