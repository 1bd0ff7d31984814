/**
 * Threads for first builds: the trees of an index are sorted, cut and compressed on all cores at once. A thread has one
 * task at a time and is never more than a few pieces ahead of who takes them, so memory stays bounded.
 *
 * A thread that fails takes its task with it, and `close` ends all of them, whatever they do. What is said between the
 * threads is in `thread-messages.ts`; the other end is `build-thread.ts`.
 */
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import type { Log } from '../../../base/log.ts'
import type { TaskPlan } from './build-task.ts'
import type { LatestDocuments } from './latest-rows.ts'
import {
  bringChunk,
  type StartThreads,
  type TaskPort,
  type TaskRunner,
  takePiece,
} from './run-tasks.ts'
import { type FromThread, ownBytes, pieceOf, type ToThread } from './thread-messages.ts'

export interface BuildThreadOptions {
  /** The program of a thread. */
  readonly program: URL
  readonly count: number
}

/** The program is there where the server was built; sources run without threads. */
export const buildThreadsOf = (log: Log): StartThreads | undefined =>
  import.meta.url.endsWith('.js')
    ? countMax => {
        const count = Math.min(countMax, availableParallelism(), THREADS_MAX)
        const program = new URL('./build-thread.js', import.meta.url)
        return startThreads({ program, count }, log)
      }
    : undefined

/** Undefined where the system gives us none: the build is slower then, and no less right. */
export async function startThreads(
  { program, count }: BuildThreadOptions,
  log: Log,
): Promise<BuildThreads | undefined> {
  const threads: BuildThread[] = []
  try {
    for (let i = 0; i < count; i++) threads.push(new BuildThread(program))
    await Promise.all(threads.map(thread => thread.ready))
    return new BuildThreads(threads)
  } catch (thrown) {
    log.warning('an index is built without threads', { reason: String(thrown) })
    await Promise.all(threads.map(thread => thread.close()))
    return undefined
  }
}

export class BuildThreads implements TaskRunner {
  readonly width: number
  readonly #threads: readonly BuildThread[]
  readonly #idle: BuildThread[]
  readonly #waiting: ((thread: BuildThread) => void)[] = []

  constructor(threads: readonly BuildThread[]) {
    this.width = threads.length
    this.#threads = threads
    this.#idle = [...threads]
  }

  async run(plan: TaskPlan, port: TaskPort): Promise<LatestDocuments> {
    const thread =
      this.#idle.pop() ?? (await new Promise<BuildThread>(give => this.#waiting.push(give)))
    try {
      return await thread.run(plan, port)
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#idle.push(thread)
      else next(thread)
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map(thread => thread.close()))
  }
}

interface Current {
  readonly port: TaskPort
  readonly resolve: (latest: LatestDocuments) => void
  readonly reject: (thrown: unknown) => void
}

class BuildThread {
  /** Resolves when its program runs. */
  readonly ready: Promise<void>
  readonly #worker: Worker
  #current: Current | undefined
  #failure: unknown
  #onReady = (): void => {}
  #onNeverReady = (_thrown: unknown): void => {}
  /** Pieces are taken one after the other. */
  #taking: Promise<void> = Promise.resolve()

  constructor(program: URL) {
    this.ready = new Promise((resolve, reject) => {
      this.#onReady = resolve
      this.#onNeverReady = reject
    })
    // Whoever starts it hears of a failure; until then it is nobody's.
    this.ready.catch(() => {})
    // What the process was started with is not for its threads.
    this.#worker = new Worker(program, { execArgv: [] })
    this.#worker.on('message', (message: FromThread) => this.#hear(message))
    this.#worker.on('error', thrown => this.#fail(thrown))
    this.#worker.on('exit', () => this.#fail(new Error('A thread of the build has ended.')))
  }

  async run(plan: TaskPlan, port: TaskPort): Promise<LatestDocuments> {
    assert(this.#current === undefined, 'a thread has one task at a time')
    try {
      return await new Promise<LatestDocuments>((resolve, reject) => {
        this.#current = { port, resolve, reject }
        if (this.#failure !== undefined) this.#fail(this.#failure)
        else this.#say({ kind: 'start', plan, ahead: PIECES_AHEAD })
      })
    } finally {
      // Also of a task that failed: what was begun with its pieces is done when its run is.
      await this.#taking
    }
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #hear(message: FromThread): void {
    if (message.kind === 'ready') this.#onReady()
    else if (message.kind === 'wanted') this.#take(port => this.#bring(port, message.run))
    else if (message.kind === 'ended') {
      const { latest } = message
      this.#take(async () => this.#end()?.resolve(latest))
    } else {
      this.#take(async port => {
        await takePiece(port, pieceOf(message))
        this.#say({ kind: 'more' })
      })
    }
  }

  async #bring(port: TaskPort, run: number): Promise<void> {
    const found = await bringChunk(port, run)
    // A copy: what a store gives may be part of something far larger.
    const chunk = found && ownBytes(found)
    this.#say({ kind: 'chunk', chunk }, chunk === undefined ? [] : [chunk])
  }

  #take(work: (port: TaskPort) => Promise<void>): void {
    this.#taking = this.#taking.then(async () => {
      const port = this.#current?.port
      if (port === undefined) return
      try {
        await work(port)
      } catch (thrown) {
        this.#fail(thrown)
      }
    })
  }

  /** The thread is of no use any more: nobody knows where its task stands. */
  #fail(thrown: unknown): void {
    this.#failure ??= thrown
    this.#onNeverReady(thrown)
    this.#end()?.reject(thrown)
  }

  #end(): Current | undefined {
    const current = this.#current
    this.#current = undefined
    return current
  }

  #say(message: ToThread, transferred: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transferred)
  }
}

/** Each has a heap of its own. */
const THREADS_MAX = 8
/** So that a thread goes on while the last piece is being taken. */
const PIECES_AHEAD = 3
