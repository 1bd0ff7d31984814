/**
 * One list function at work: it sends text and asks for rows, the caller feeds them.
 *
 * The clock runs only while it is the function's turn; while rows are awaited a longer bound keeps an
 * absent caller from holding a process for ever. The process is given back at the end, or killed when
 * the conversation is closed before it.
 */
import { Failure } from '../../base/errors.ts'
import type { ReplyFrame } from './frame-reader.ts'
import { GrammarError } from './reply-text.ts'
import type { ListConversation } from './sandbox.ts'
import type { SandboxChild } from './sandbox-child.ts'
import { parseThrown, renderFailure } from './thrown-failure.ts'

export interface ListRunOptions {
  readonly timeoutMs: number
  readonly idleMsMax: number
  readonly release: () => void
  readonly log: (lines: readonly string[]) => void
}

export class ListRun implements ListConversation {
  readonly response: Buffer
  readonly chunk: Buffer
  readonly #child: SandboxChild
  readonly #options: ListRunOptions
  #idleTimer: NodeJS.Timeout | undefined
  #state: 'waiting' | 'running' | 'ended' = 'waiting'
  #isExpired = false

  constructor(child: SandboxChild, started: ReplyFrame, options: ListRunOptions) {
    this.#child = child
    this.#options = options
    const { body } = started
    if (started.kind === 'failed') throw failureOf(child, body)
    const at = body.indexOf(0x1e)
    if (started.kind !== 'start' || at < 0) {
      throw child.distrust(new GrammarError('a list without a start'))
    }
    this.response = body.subarray(0, at)
    this.chunk = body.subarray(at + 1)
    this.#awaitRows()
  }

  get wantsRows(): boolean {
    return this.#state === 'waiting'
  }

  async feed(rows: Uint8Array, isLast: boolean): Promise<Buffer> {
    if (this.#state !== 'waiting') throw expired(this.#isExpired)
    clearTimeout(this.#idleTimer)
    this.#state = 'running'
    const header = { op: isLast ? 'last-rows' : 'rows' }
    const { timeoutMs } = this.#options
    try {
      const reply = await this.#child.request({ header, parts: [rows], timeoutMs, callCount: 1 })
      return this.#take(reply)
    } catch (error) {
      this.#end()
      throw error
    }
  }

  close(): void {
    if (this.#state === 'ended') return
    this.#child.kill()
    this.#end()
  }

  #take(reply: ReplyFrame): Buffer {
    this.#options.log(reply.log)
    if (reply.kind === 'chunks') {
      this.#awaitRows()
      return reply.body
    }
    if (reply.kind === 'failed') throw failureOf(this.#child, reply.body)
    if (reply.kind !== 'done' || reply.body[0] !== 0x2b) {
      throw this.#child.distrust(new GrammarError('a list without an end'))
    }
    this.#end()
    return reply.body.subarray(1)
  }

  #awaitRows(): void {
    this.#state = 'waiting'
    this.#idleTimer = setTimeout(() => {
      this.#isExpired = true
      this.close()
    }, this.#options.idleMsMax)
  }

  #end(): void {
    if (this.#state === 'ended') return
    clearTimeout(this.#idleTimer)
    this.#state = 'ended'
    this.#options.release()
  }
}

function failureOf(child: SandboxChild, body: Buffer): Failure {
  try {
    const thrown = parseThrown(body)
    if (thrown.form === 'fatal') child.mustRetire = true
    return renderFailure(thrown)
  } catch (error) {
    if (error instanceof GrammarError) return child.distrust(error)
    throw error
  }
}

function expired(isExpired: boolean): Failure {
  const reason = isExpired ? 'The list waited too long for rows.' : 'The list has ended.'
  return new Failure('sandbox_timeout', { error: 'os_process_error', reason })
}
