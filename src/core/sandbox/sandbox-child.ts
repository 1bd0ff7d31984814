/**
 * One sandbox process: started, asked one thing at a time, watched by the clock, killed.
 *
 * Promises that every request ends: with a reply, with `sandbox_timeout` when one call exceeds its time
 * (beats of the process restart the clock, and there are never more beats than items), or with
 * `sandbox_crashed` when the process dies or talks nonsense. After either failure it is dead for good;
 * who holds it lets it go and the pool starts another.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { assert } from '../../base/assert.ts'
import { Failure } from '../../base/errors.ts'
import { FrameReader, type ReplyFrame, requestFrame } from './frame-reader.ts'
import { launchCommand, type SandboxRuntime } from './sandbox-runtime.ts'

export interface ChildOptions {
  readonly dataBytesMax: number | undefined
  /** Of a request or a reply. */
  readonly frameBytesMax: number
  readonly startMsMax: number
}

export interface ChildRequest {
  readonly header: object
  readonly parts: readonly Uint8Array[]
  /** Bound of one call of a user function. */
  readonly timeoutMs: number
  /** How many calls the request makes. */
  readonly callCount: number
}

interface Pending {
  readonly resolve: (reply: ReplyFrame) => void
  readonly reject: (failure: Failure) => void
  readonly waitMs: number
  beatsLeft: number
}

export class SandboxChild {
  /** The database it serves; once set it never changes. */
  databaseKey: string | undefined
  /** Environments it has open: key of the sources to number inside the process, oldest use first. */
  readonly environments = new Map<string, number>()
  /** Milliseconds spent in requests. */
  busyMs = 0
  /** It asked to be replaced, or a function demanded the end of its process. */
  mustRetire = false
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly #reader: FrameReader
  readonly #frameBytesMax: number
  #pending: Pending | undefined
  #timer: NodeJS.Timeout | undefined
  #isAlive = true
  #stderr = ''
  #startedAt = 0
  readonly #exited: Promise<void>

  static async start(runtime: SandboxRuntime, options: ChildOptions): Promise<SandboxChild> {
    const child = new SandboxChild(runtime, options)
    await child.#await({ timeoutMs: options.startMsMax, callCount: 1 })
    return child
  }

  private constructor(runtime: SandboxRuntime, options: ChildOptions) {
    const { file, args } = launchCommand(runtime, options.dataBytesMax)
    const identity =
      runtime.userId === undefined ? {} : { uid: runtime.userId, gid: runtime.userId }
    this.#reader = new FrameReader(options.frameBytesMax)
    this.#frameBytesMax = options.frameBytesMax
    this.#process = spawn(file, args, {
      cwd: runtime.folder,
      env: runtime.env,
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
      ...identity,
    })
    const { stdin, stdout, stderr } = this.#process
    stdout.on('data', (chunk: Buffer) => this.#onData(chunk))
    stderr.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString('utf8')).slice(-2000)
    })
    // A process that dies breaks the pipe while we write; its exit tells the story.
    stdin.on('error', () => this.kill())
    this.#exited = new Promise(resolve => {
      this.#process.once('error', error => {
        this.#end(`cannot be started: ${error.message}`)
        resolve()
      })
      this.#process.once('exit', (code, signal) => {
        this.#end(`ended with ${signal ?? `status ${code}`}`)
        resolve()
      })
    })
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  get processId(): number | undefined {
    return this.#process.pid
  }

  /** Sends a request and answers its reply: done, failed, or a list's start and chunks. */
  async request(request: ChildRequest): Promise<ReplyFrame> {
    if (!this.#isAlive) throw crashed('has ended')
    const frame = requestFrame(request.header, request.parts, this.#frameBytesMax)
    const reply = this.#await(request)
    this.#process.stdin.write(frame)
    const answer = await reply
    if (answer.retire) this.mustRetire = true
    return answer
  }

  /** Bytes of RLIMIT_DATA the process uses now, where the system tells. */
  dataBytes(): number | undefined {
    try {
      const status = readFileSync(`/proc/${this.#process.pid}/status`, 'latin1')
      const kilobytes = /^VmData:\s+(\d+) kB/m.exec(status)?.[1]
      return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
    } catch {
      return undefined
    }
  }

  /** A reply that breaks the grammar: the process cannot be believed any more. */
  distrust(cause: Error): Failure {
    this.kill()
    return crashed(`answered nonsense: ${cause.message}`)
  }

  kill(): void {
    this.#isAlive = false
    this.#process.kill('SIGKILL')
  }

  /** Resolves when the process is gone. */
  get exited(): Promise<void> {
    return this.#exited
  }

  /** An idle process must not keep the server alive. */
  ref(isNeeded: boolean): void {
    const handles = [this.#process, this.#process.stdin, this.#process.stdout, this.#process.stderr]
    for (const handle of handles as unknown as { ref(): void; unref(): void }[]) {
      if (isNeeded) handle.ref()
      else handle.unref()
    }
  }

  #await(bounds: { readonly timeoutMs: number; readonly callCount: number }): Promise<ReplyFrame> {
    assert(this.#pending === undefined, 'a sandbox process is asked one thing at a time')
    // A beat comes at most a quarter late, so no call is cut short.
    const waitMs = Math.ceil(bounds.timeoutMs * 1.25)
    this.#startedAt = performance.now()
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject, waitMs, beatsLeft: bounds.callCount }
      this.#arm(waitMs)
    })
  }

  #arm(waitMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const pending = this.#take()
      this.kill()
      const detail = { error: 'os_process_error', reason: 'OS process timed out.' }
      pending?.reject(new Failure('sandbox_timeout', detail))
    }, waitMs)
  }

  #onData(chunk: Buffer): void {
    if (!this.#isAlive) return
    try {
      for (const frame of this.#reader.push(chunk)) this.#onFrame(frame)
    } catch (error) {
      const failure = this.distrust(error as Error)
      this.#take()?.reject(failure)
    }
  }

  #onFrame(frame: ReplyFrame): void {
    const pending = this.#pending
    if (pending === undefined || (frame.kind === 'beat' && pending.beatsLeft-- <= 0)) {
      this.kill()
      this.#take()?.reject(crashed('answered unasked'))
    } else if (frame.kind === 'beat') this.#arm(pending.waitMs)
    else this.#take()?.resolve(frame)
  }

  #take(): Pending | undefined {
    const pending = this.#pending
    this.#pending = undefined
    clearTimeout(this.#timer)
    this.busyMs += performance.now() - this.#startedAt
    return pending
  }

  #end(how: string): void {
    this.#isAlive = false
    this.#take()?.reject(crashed(how, this.#stderr))
  }
}

function crashed(how: string, stderr = ''): Failure {
  const reason = `OS process ${how}`
  return new Failure('sandbox_crashed', { error: 'os_process_error', reason, stderr })
}
