/**
 * XForms made pages (`form.html`) and data (`model.xml`), and read for their names, in a process without rights that is
 * started when it is needed and ended when nobody needs it any more.
 *
 * Promises: one form at a time, a bounded line of those who wait, an answer in bounded time and memory whatever the XML
 * is; a process that died or ran too long is replaced by the next call. Fails with `form_invalid` for the form's fault,
 * `service_unavailable` for ours.
 */
import { Failure, isFailure } from '../../../base/errors.ts'
import { SandboxChild } from '../../../core/sandbox/sandbox-child.ts'
import {
  disposeRuntime,
  type RuntimeName,
  type SandboxRuntime,
} from '../../../core/sandbox/sandbox-runtime.ts'
import { prepareTransformer } from './transform-runtime.ts'

export interface TransformedForm {
  readonly form: string
  readonly model: string
}

export interface FormDescription {
  readonly id: string
  readonly version?: string
  readonly title: string
}

export interface FormTransformerOptions {
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
  readonly runtimes?: readonly RuntimeName[]
  readonly timeoutMs?: number
  readonly idleMsMax?: number
  readonly waitersMax?: number
}

const START_MS_MAX = 20_000
const TIMEOUT_MS = 20_000
const IDLE_MS_MAX = 60_000
const WAITERS_MAX = 50
/** Bytes go as characters, so that those beyond ASCII take two. */
const FRAME_BYTES_MAX = 96 * 1024 * 1024

interface Operation {
  readonly op: 'transform' | 'describe'
  /** Of the encoding. */
  readonly name?: string
}

export class FormTransformer {
  readonly #options: FormTransformerOptions
  #runtime: SandboxRuntime | undefined
  #child: SandboxChild | undefined
  #line: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #idleTimer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(options: FormTransformerOptions) {
    this.#options = options
  }

  /** @param encoding where more is known about it than the XML says */
  transform(xml: Buffer, encoding = ''): Promise<TransformedForm> {
    return this.#inLine<TransformedForm>({ op: 'transform', name: encoding }, xml)
  }

  describe(xml: Buffer): Promise<FormDescription> {
    return this.#inLine<FormDescription>({ op: 'describe' }, xml)
  }

  /** Of the process that runs now, for tests and monitoring. */
  get processId(): number | undefined {
    return this.#child?.processId
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#idleTimer)
    this.#child?.ref(true)
    this.#child?.kill()
    await this.#line.catch(() => {})
    await this.#child?.exited
    if (this.#runtime !== undefined) disposeRuntime(this.#runtime)
    this.#runtime = undefined
  }

  #inLine<T>(header: Operation, xml: Buffer): Promise<T> {
    if (this.#waiting >= (this.#options.waitersMax ?? WAITERS_MAX)) {
      return Promise.reject(unavailable('Too many forms wait to be transformed.'))
    }
    this.#waiting++
    const turn = this.#line.then(
      () => this.#run<T>(header, xml),
      () => this.#run<T>(header, xml),
    )
    this.#line = turn
    return turn.finally(() => this.#waiting--)
  }

  async #run<T>(header: Operation, xml: Buffer): Promise<T> {
    clearTimeout(this.#idleTimer)
    const child = await this.#ready()
    child.ref(true)
    try {
      const { kind, body } = await child.request({
        header,
        parts: [Buffer.from(xml.toString('latin1'))],
        timeoutMs: this.#options.timeoutMs ?? TIMEOUT_MS,
        callCount: 1,
      })
      return resultOf<T>(kind === 'done', JSON.parse(body.toString()))
    } catch (thrown) {
      throw this.#isClosed ? closed() : faultOf(thrown)
    } finally {
      this.#rest(child)
    }
  }

  /** Kept warm for a while, unless it must not go on. */
  #rest(child: SandboxChild): void {
    if (child.mustRetire || this.#isClosed) child.kill()
    if (!child.isAlive) {
      this.#child = undefined
      return
    }
    child.ref(false)
    this.#idleTimer = setTimeout(() => child.kill(), this.#options.idleMsMax ?? IDLE_MS_MAX)
    this.#idleTimer.unref()
  }

  async #ready(): Promise<SandboxChild> {
    if (this.#isClosed) throw closed()
    if (this.#child?.isAlive === true) return this.#child
    const child = this.#runtime === undefined ? await this.#first() : await start(this.#runtime)
    if (this.#isClosed) {
      child.kill()
      throw closed()
    }
    this.#child = child
    return child
  }

  /** The first way that works: Deno as nobody, Deno as we are, then the same with Node. */
  async #first(): Promise<SandboxChild> {
    let problem: unknown = unavailable('Deno has no build for this platform.')
    for (const name of this.#options.runtimes ?? (['deno', 'node'] as const)) {
      const prepared = prepareTransformer(name)
      if (prepared === undefined) continue
      const ways = prepared.userId === undefined ? [prepared] : [prepared, asWeAre(prepared)]
      for (const runtime of ways) {
        try {
          const child = await start(runtime)
          if (runtime !== ways[0] || !runtime.isClosed) this.#warnOpen(runtime, problem)
          this.#runtime = runtime
          return child
        } catch (thrown) {
          problem = thrown
        }
      }
      disposeRuntime(prepared)
    }
    throw new Failure('service_unavailable', { reason: 'Forms cannot be transformed.' }, problem)
  }

  #warnOpen({ name, userId }: SandboxRuntime, problem: unknown): void {
    const reason = isFailure(problem) ? problem.detail.reason : String(problem)
    this.#options.warn('forms are transformed with more rights than needed', {
      runtime: name,
      isRoot: userId === undefined && process.getuid?.() === 0,
      reason,
    })
  }
}

const start = (runtime: SandboxRuntime): Promise<SandboxChild> =>
  SandboxChild.start(runtime, {
    // The library's memory and the heap have bounds of their own, and no foreign code runs beside them.
    dataBytesMax: undefined,
    frameBytesMax: FRAME_BYTES_MAX,
    startMsMax: START_MS_MAX,
  })

const asWeAre = (runtime: SandboxRuntime): SandboxRuntime => ({ ...runtime, userId: undefined })

function resultOf<T>(isDone: boolean, answer: unknown): T {
  const { refused, message } = answer as { refused?: string; message?: string }
  if (refused !== undefined) {
    const reason = 'Form XML must not declare a DOCTYPE or external entities.'
    throw new Failure('form_invalid', { reason })
  }
  if (isDone) return answer as T
  throw invalid(`The XSLT processor reports:\n${message}`)
}

/** A process that cannot cope with a form is the form's fault. */
function faultOf(thrown: unknown): unknown {
  if (isFailure(thrown, 'sandbox_timeout')) return invalid('It takes too long.', thrown)
  if (isFailure(thrown, 'sandbox_crashed')) {
    return invalid('The process that transforms it ran out of memory or failed.', thrown)
  }
  return isFailure(thrown, 'limit_exceeded') ? invalid('It is too large.', thrown) : thrown
}

const invalid = (what: string, cause?: unknown): Failure =>
  new Failure('form_invalid', { reason: `Error transforming xml. ${what}` }, cause)

const unavailable = (reason: string): Failure => new Failure('service_unavailable', { reason })

const closed = (): Failure => unavailable('The server is stopping.')
