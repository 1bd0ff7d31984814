/**
 * The way from the workers to the process that replicates, in the primary. A worker need not know whether that
 * process is there at the moment: what it asks waits for it, and what it had asked of one that died is asked of the
 * next, which goes on from the checkpoints. Continuous replications that requests began are in no document, so they
 * are kept here, in memory, and begun anew.
 */
import { Failure, isFailure } from '../base/errors.ts'
import type { User } from '../core/auth/user.ts'
import type { ReplicateAnswer } from '../core/operations/replication-operations.ts'
import { TOPIC } from './boot.ts'
import type { Channel } from './channel.ts'

/** A replication takes as long as it takes; timers know no more than this. */
export const REPLICATE_MS = 2_147_483_647
const CONNECT_MS = 30_000
const ATTEMPTS = 5
const ASK_MS = 25_000

export interface ReplicateCall {
  readonly user: User
  readonly body: string
}

export class ReplicatorLink {
  #channel: Channel | undefined
  readonly #waiting = new Set<(channel: Channel) => void>()
  /** By id. */
  readonly #kept = new Map<string, ReplicateCall>()

  /** Lets a process of the tree ask. */
  serve(channel: Channel): void {
    channel.on(TOPIC.replicate, (call: ReplicateCall) => this.#replicate(call))
    channel.on(TOPIC.replicationJobs, (payload: unknown) =>
      this.#ask(TOPIC.replicationJobs, payload, ASK_MS),
    )
    channel.on(TOPIC.replicationDocuments, (payload: unknown) =>
      this.#ask(TOPIC.replicationDocuments, payload, ASK_MS),
    )
  }

  connect(channel: Channel): void {
    this.#channel = channel
    for (const call of this.#kept.values()) {
      // One that cannot be begun now fails as it would have failed before: it is told in its job.
      channel.request(TOPIC.replicate, call, REPLICATE_MS).catch(() => {})
    }
    for (const resume of this.#waiting) resume(channel)
    this.#waiting.clear()
  }

  disconnect(channel: Channel): void {
    if (this.#channel === channel) this.#channel = undefined
  }

  async #replicate(call: ReplicateCall): Promise<ReplicateAnswer> {
    const answer = await this.#ask<ReplicateAnswer>(TOPIC.replicate, call, REPLICATE_MS)
    if (answer.kind === 'started') this.#kept.set(answer.id, call)
    else if (answer.kind === 'cancelled') this.#kept.delete(answer.id)
    return answer
  }

  async #ask<T>(topic: string, payload: unknown, timeoutMs: number): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const channel = this.#channel ?? (await this.#connected())
      try {
        return await channel.request<T>(topic, payload, timeoutMs)
      } catch (thrown) {
        const isGone = isFailure(thrown, 'service_unavailable') && this.#channel !== channel
        if (!isGone || attempt >= ATTEMPTS) throw thrown
      }
    }
  }

  #connected(): Promise<Channel> {
    return new Promise((resolve, reject) => {
      const resume = (channel: Channel): void => {
        clearTimeout(timer)
        resolve(channel)
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(resume)
        reject(new Failure('service_unavailable', { reason: 'The replicator does not start.' }))
      }, CONNECT_MS)
      this.#waiting.add(resume)
    })
  }
}
