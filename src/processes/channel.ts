/**
 * Requests, replies and notices between two processes of the server over Node's IPC pipe.
 *
 * A request is answered exactly once, or fails when the other side dies or is silent for too long. Failures cross
 * the pipe with their code, so the asker can present them as if they had happened at home. Everything on it is small
 * (configuration, notices, task lists); documents never travel here.
 */
import { Failure, type FailureCode, type FailureDetail } from '../base/errors.ts'

/** One end of a pipe: a child process or the parent. */
export interface Pipe {
  send(message: unknown): void
  onMessage(listener: (message: unknown) => void): void
  onClose(listener: () => void): void
}

export type Handler = (payload: never) => unknown

export class Channel {
  readonly #pipe: Pipe
  readonly #handlers = new Map<string, Handler>()
  readonly #waiting = new Map<number, Waiting>()
  #nextId = 1
  #closed = false

  constructor(pipe: Pipe) {
    this.#pipe = pipe
    pipe.onMessage(message => this.#receive(message as Message))
    pipe.onClose(() => this.#close())
  }

  /** Answers requests and takes notices of this topic. */
  on(topic: string, handler: Handler): void {
    this.#handlers.set(topic, handler)
  }

  notify(topic: string, payload: unknown): void {
    if (!this.#closed) this.#pipe.send({ topic, payload } satisfies Message)
  }

  request<T>(topic: string, payload: unknown, timeoutMs = REPLY_TIMEOUT_MS): Promise<T> {
    if (this.#closed) return Promise.reject(gone(topic))
    const id = this.#nextId++
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id)
        reject(new Failure('timeout', { subject: topic }))
      }, timeoutMs)
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject, timer, topic })
      this.#pipe.send({ id, topic, payload } satisfies Message)
    })
  }

  async #receive(message: Message): Promise<void> {
    if ('reply' in message) return this.#settle(message)
    const handler = this.#handlers.get(message.topic)
    if (message.id === undefined) {
      handler?.(message.payload as never)
      return
    }
    const reply = await answer(handler, message)
    if (!this.#closed) this.#pipe.send({ reply: message.id, ...reply } satisfies Message)
  }

  #settle(message: Reply): void {
    const waiting = this.#waiting.get(message.reply)
    if (!waiting) return
    this.#waiting.delete(message.reply)
    clearTimeout(waiting.timer)
    if (message.failure) {
      waiting.reject(new Failure(message.failure.code, message.failure.detail))
    } else waiting.resolve(message.value)
  }

  #close(): void {
    this.#closed = true
    for (const waiting of this.#waiting.values()) {
      clearTimeout(waiting.timer)
      waiting.reject(gone(waiting.topic))
    }
    this.#waiting.clear()
  }
}

const REPLY_TIMEOUT_MS = 30_000

interface Waiting {
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: Failure) => void
  readonly timer: NodeJS.Timeout
  readonly topic: string
}

interface Call {
  readonly id?: number
  readonly topic: string
  readonly payload: unknown
}

interface Reply {
  readonly reply: number
  readonly value?: unknown
  readonly failure?: { readonly code: FailureCode; readonly detail: FailureDetail }
}

type Message = Call | Reply

async function answer(handler: Handler | undefined, call: Call): Promise<Omit<Reply, 'reply'>> {
  try {
    if (!handler) throw new Failure('not_supported', { subject: call.topic })
    return { value: await handler(call.payload as never) }
  } catch (thrown) {
    const failure =
      thrown instanceof Failure
        ? thrown
        : new Failure('unexpected', { reason: String((thrown as Error)?.stack ?? thrown) })
    return { failure: { code: failure.code, detail: failure.detail } }
  }
}

const gone = (topic: string) =>
  new Failure('service_unavailable', { subject: topic, reason: 'The other process is gone' })
