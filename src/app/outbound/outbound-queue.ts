/**
 * Pushes that are to be made: a document `task:outbound:{id}` in the sentinel database names those of one document. They
 * are queued together with what transitions did, so none is lost; a push that fails stays in the queue and is tried again.
 *
 * What was sent last is kept as a hash in the info document: the same content is not sent twice in a row. Between sending
 * and remembering that there is a moment in which a crash makes it be sent again; no other system can be asked.
 */
import { Failure } from '../../base/errors.ts'
import type { ApplicationContext } from '../application-context.ts'
import { hydrateOne } from '../contacts/hydrate.ts'
import type { CredentialStore } from '../credentials/credential-store.ts'
import { type Document, isText, type JsonObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { lastPush, withPush } from '../info-documents/info-document.ts'
import type { InfoStore } from '../info-documents/info-store.ts'
import { isCronTime } from '../schedules/cron.ts'
import type { Expressions } from '../transitions/expressions.ts'
import { type OutboundPush, outboundPushes } from './outbound-settings.ts'
import { hashOf, payloadOf } from './payload.ts'
import { sendPayload } from './send-payload.ts'

const PREFIX = 'task:outbound:'
const ATTEMPTS_MAX = 10
/** Pushes under way at once. */
const AT_ONCE_MAX = 4
const SLICE = 100
/** More are left to the regular run. */
const ADDED_MAX = 10_000
/** A push may be made so long after its time. */
const WINDOW_MS = 5 * 60_000

export interface OutboundParts {
  readonly context: () => Promise<ApplicationContext>
  readonly sentinel: DocumentDatabase
  readonly infos: InfoStore
  readonly credentials: CredentialStore
  readonly expressions: Expressions
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
}

export class OutboundQueue {
  readonly #parts: OutboundParts
  /** Documents with pushes that were queued by this process and not tried yet. */
  #added = new Set<string>()

  constructor(parts: OutboundParts) {
    this.#parts = parts
  }

  /** @param pushes names by the id of the document */
  async add(pushes: ReadonlyMap<string, readonly string[]>): Promise<void> {
    const { context } = this.#parts
    if (pushes.size === 0) return
    const created = (await context()).clock()
    let left = [...pushes.keys()]
    for (let attempt = 1; left.length > 0; attempt++) {
      if (attempt > ATTEMPTS_MAX)
        throw new Failure('document_conflict', { subject: String(left[0]) })
      left = await this.#addOnce(left, pushes, created)
    }
    for (const id of pushes.keys()) if (this.#added.size < ADDED_MAX) this.#added.add(id)
  }

  get isWaiting(): boolean {
    return this.#added.size > 0
  }

  /** Makes the pushes that were queued since the last time; others are made by `runAll`. */
  async runAdded(signal: AbortSignal): Promise<void> {
    while (this.isWaiting && !signal.aborted) {
      const ids = [...this.#added]
      this.#added = new Set()
      await this.run(ids, signal)
    }
  }

  async #addOnce(
    ids: readonly string[],
    pushes: ReadonlyMap<string, readonly string[]>,
    created: number,
  ): Promise<string[]> {
    const { sentinel } = this.#parts
    const earlier = await sentinel.getMany(ids.map(id => PREFIX + id))
    const tasks = ids.map((id, index) => {
      const before = earlier[index]
      const queue = [...new Set([...queueOf(before), ...(pushes.get(id) ?? [])])]
      return { created, ...before, _id: PREFIX + id, type: 'task:outbound', doc_id: id, queue }
    })
    const outcomes = await sentinel.putMany(tasks)
    return outcomes.flatMap((outcome, index) => {
      if (outcome.ok) return []
      if (outcome.failure.code !== 'document_conflict') throw outcome.failure
      return [ids[index] as string]
    })
  }

  /** Makes the pushes of some documents. */
  async run(documentIds: readonly string[], signal: AbortSignal): Promise<void> {
    const tasks = await this.#parts.sentinel.getMany(documentIds.map(id => PREFIX + id))
    const left = tasks.filter(task => task !== undefined)
    const work = async (): Promise<void> => {
      for (let task = left.pop(); task !== undefined; task = left.pop()) {
        if (signal.aborted) return
        await this.#runTask(task)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE_MAX }, work))
  }

  /** Makes all that are queued. */
  async runAll(signal: AbortSignal): Promise<void> {
    const { sentinel } = this.#parts
    const rows = sentinel.rows('sentinel', 'outbound_push_tasks', { reduce: false }, signal)
    for await (const batch of rows) {
      for (let at = 0; at < batch.length && !signal.aborted; at += SLICE) {
        const ids = batch.slice(at, at + SLICE).map(({ id }) => id.slice(PREFIX.length))
        await this.run(ids, signal)
      }
    }
  }

  async #runTask(task: Document): Promise<void> {
    const context = await this.#parts.context()
    const id = isText(task.doc_id) ? task.doc_id : task._id.slice(PREFIX.length)
    const stored = await context.data.get(id)
    if (stored === undefined) return this.#finish(task, queueOf(task))
    const document = await hydrateOne(context, stored)
    const done: string[] = []
    for (const name of queueOf(task)) {
      const push = outboundPushes(context.settings).find(each => each.name === name)
      // One that the settings do not have any more is not wanted.
      if (push === undefined || (await this.#push(push, id, document, context))) done.push(name)
    }
    await this.#finish(task, done)
  }

  /** True when there is nothing more to do about it. */
  async #push(
    push: OutboundPush,
    id: string,
    document: JsonObject,
    { clock }: ApplicationContext,
  ): Promise<boolean> {
    const { infos, credentials, expressions, warn } = this.#parts
    const nowMs = clock()
    if (push.cron !== undefined && !isCronTime(push.cron, nowMs - WINDOW_MS, nowMs)) return false
    try {
      const payload = await payloadOf(push, document, expressions)
      const hash = hashOf(payload)
      const info = (await infos.read([id])).get(id)
      if (info !== undefined && lastPush(info, push.name)?.hash === hash) return true
      await sendPayload(push.destination, payload, credentials)
      const task = { type: 'outbound', name: push.name, timestamp: clock(), hash } as const
      await infos.change(new Map([[id, before => withPush(before, task)]]))
      return true
    } catch (thrown) {
      const reason = thrown instanceof Error ? (thrown.cause ?? thrown.message) : thrown
      warn('a push failed and will be tried again', { push: push.name, id, reason: String(reason) })
      return false
    }
  }

  /** Shortens the queue; the empty task goes. */
  async #finish(task: Document, done: readonly string[]): Promise<void> {
    if (done.length === 0) return
    const { sentinel } = this.#parts
    let current: Document | undefined = task
    for (let attempt = 1; current !== undefined; attempt++) {
      const queue = queueOf(current).filter(name => !done.includes(name))
      const next: Document =
        queue.length === 0 ? { ...current, _deleted: true } : { ...current, queue }
      const [outcome] = await sentinel.putMany([next])
      if (outcome?.ok !== false) return
      if (outcome.failure.code !== 'document_conflict' || attempt === ATTEMPTS_MAX) {
        throw outcome.failure
      }
      current = await sentinel.get(task._id)
    }
  }
}

const queueOf = (task: Document | undefined): string[] =>
  Array.isArray(task?.queue) ? task.queue.filter(isText) : []
