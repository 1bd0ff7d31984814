/**
 * Keeps the sandbox processes: few, each bound to one database, replaced when they die or grow old.
 *
 * Promises: at most `processesMax` processes serve; a process never serves a second database; who finds
 * none free waits in line, at most `waitersMax` of them and `waitMsMax` long. One unbound process is
 * kept warm, so that a change of database costs a millisecond and not a start.
 */
import { Failure } from '../../base/errors.ts'
import { SandboxChild } from './sandbox-child.ts'
import {
  disposeRuntime,
  prepareRuntime,
  type RuntimeName,
  type SandboxRuntime,
} from './sandbox-runtime.ts'

export interface PoolOptions {
  readonly runtime: RuntimeName | 'auto'
  readonly processesMax: number
  readonly waitersMax: number
  readonly waitMsMax: number
  readonly idleMsMax: number
  /** Idle for so long, a process makes room for a database with more work than its own processes can do. */
  readonly restMsMax: number
  readonly startMsMax: number
  readonly heapBytesMax: number
  /** Typed arrays and the like, beyond the heap. */
  readonly outsideHeapBytesMax: number
  readonly frameBytesMax: number
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
}

interface Waiter {
  readonly databaseKey: string
  readonly environmentKey: string
  readonly resolve: (child: SandboxChild) => void
  readonly reject: (failure: Failure) => void
  readonly since: number
  timer: NodeJS.Timeout | undefined
}

/** How long calls of the database a process serves may overtake the first in line of another one. */
const PATIENCE_MS = 100

/** CPU limit of a process is 600 s; threads of its own may double what we count. */
const BUSY_MS_MAX = 240_000

export class SandboxPool {
  readonly #options: PoolOptions
  readonly #idle: SandboxChild[] = []
  readonly #leased = new Set<SandboxChild>()
  readonly #waiters: Waiter[] = []
  readonly #starts = new Set<Promise<SandboxChild>>()
  #starting = 0
  #spare: SandboxChild | undefined
  #isSpareStarting = false
  #runtime: Promise<MeasuredRuntime> | undefined
  #reaper: NodeJS.Timeout | undefined
  #isClosed = false
  readonly #idleSince = new WeakMap<SandboxChild, number>()

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** A process for these sources, the caller's alone until `release`. */
  async acquire(databaseKey: string, environmentKey: string): Promise<SandboxChild> {
    if (this.#isClosed) throw unavailable('the sandbox is closed')
    const child = this.#takeIdle(databaseKey, environmentKey)
    if (child !== undefined) return this.#lease(child, databaseKey)
    if (this.#waiters.length >= this.#options.waitersMax) throw unavailable('too many calls wait')
    return new Promise((resolve, reject) => {
      const since = performance.now()
      const waiter: Waiter = {
        databaseKey,
        environmentKey,
        resolve,
        reject,
        since,
        timer: undefined,
      }
      waiter.timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
        const detail = { error: 'os_process_error', reason: 'No process became free in time.' }
        reject(new Failure('sandbox_timeout', detail))
      }, this.#options.waitMsMax)
      this.#waiters.push(waiter)
      this.#serve()
    })
  }

  release(child: SandboxChild): void {
    this.#leased.delete(child)
    const isWorn = child.mustRetire || child.busyMs > BUSY_MS_MAX || this.#isClosed
    if (isWorn) child.kill()
    if (child.isAlive) {
      child.ref(false)
      this.#idle.push(child)
      this.#idleSince.set(child, performance.now())
      this.#startReaper()
    }
    this.#serve()
  }

  /** For tests and monitoring. */
  get processCount(): number {
    return this.#idle.length + this.#leased.size + (this.#spare === undefined ? 0 : 1)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#reaper)
    for (const waiter of this.#waiters.splice(0)) {
      clearTimeout(waiter.timer)
      waiter.reject(unavailable('the sandbox is closed'))
    }
    const children = [...this.#idle.splice(0), ...this.#leased]
    if (this.#spare !== undefined) children.push(this.#spare)
    this.#spare = undefined
    for (const child of children) {
      child.ref(true)
      child.kill()
    }
    await Promise.all(children.map(child => child.exited))
    await Promise.allSettled(this.#starts)
    const measured = await this.#runtime?.catch(() => undefined)
    if (measured !== undefined) disposeRuntime(measured.runtime)
  }

  /** Gives processes to waiters while there are both; starts or replaces one when that helps. */
  #serve(): void {
    for (let waiter = this.#nextWaiter(); waiter !== undefined; waiter = this.#nextWaiter()) {
      const child = this.#takeIdle(waiter.databaseKey, waiter.environmentKey)
      if (child === undefined) break
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1)
      clearTimeout(waiter.timer)
      waiter.resolve(this.#lease(child, waiter.databaseKey))
    }
    for (const { databaseKey } of this.#waiters.slice(this.#starting)) {
      if (this.#hasRoomFor(databaseKey)) void this.#startOne()
    }
  }

  /** The first in line, or for a moment one whose process is idle: a change of database is dear. */
  #nextWaiter(): Waiter | undefined {
    const first = this.#waiters[0]
    if (first === undefined || performance.now() - first.since > PATIENCE_MS) return first
    const isReady = (waiter: Waiter): boolean =>
      this.#idle.some(child => child.databaseKey === waiter.databaseKey)
    return this.#waiters.find(isReady) ?? first
  }

  /** Best first: one that knows the sources, one of the database, the spare one. */
  #takeIdle(databaseKey: string, environmentKey: string): SandboxChild | undefined {
    const own = this.#idle.filter(child => child.databaseKey === databaseKey)
    const known = own.find(child => child.environments.has(environmentKey))
    // Another process may compile the same sources and share the work, but only if none is idle.
    const chosen = known ?? own.at(-1)
    if (chosen !== undefined) {
      this.#idle.splice(this.#idle.indexOf(chosen), 1)
      return chosen.isAlive ? chosen : this.#takeIdle(databaseKey, environmentKey)
    }
    if (!this.#spare?.isAlive || !this.#hasRoomFor(databaseKey)) return undefined
    const spare = this.#spare
    this.#spare = undefined
    return spare
  }

  /**
   * Whether one more process may serve this database, after a long idle one of another made room if need be. Databases
   * that have processes take one from others only while those have two more, or have not needed it for a while: else
   * each would take the other's in turn.
   */
  #hasRoomFor(databaseKey: string): boolean {
    const serving = this.#idle.length + this.#leased.size + this.#starting
    if (serving < this.#options.processesMax) return true
    const own = this.#countOf(databaseKey)
    const rested = performance.now() - this.#options.restMsMax
    const at = this.#idle.findIndex(
      child =>
        own === 0 ||
        this.#countOf(child.databaseKey) >= own + 2 ||
        (child.databaseKey !== databaseKey && (this.#idleSince.get(child) ?? 0) < rested),
    )
    const [given] = at < 0 ? [] : this.#idle.splice(at, 1)
    given?.kill()
    return given !== undefined
  }

  #countOf(databaseKey: string | undefined): number {
    const isOf = (child: SandboxChild): boolean => child.databaseKey === databaseKey
    return this.#idle.filter(isOf).length + [...this.#leased].filter(isOf).length
  }

  /** Those who have no process at all come first to one that was started. */
  #takeWaiter(): Waiter | undefined {
    const at = this.#waiters.findIndex(({ databaseKey }) => this.#countOf(databaseKey) === 0)
    return this.#waiters.splice(Math.max(at, 0), 1)[0]
  }

  #lease(child: SandboxChild, databaseKey: string): SandboxChild {
    child.databaseKey = databaseKey
    child.ref(true)
    this.#leased.add(child)
    if (!this.#spare?.isAlive && !this.#isSpareStarting) void this.#startSpare()
    return child
  }

  async #startOne(): Promise<void> {
    this.#starting++
    try {
      const child = await this.#start()
      this.#starting--
      const waiter = this.#takeWaiter()
      if (waiter === undefined) {
        // Who waited was served meanwhile: keep it warm.
        this.#keepSpare(child)
        return
      }
      clearTimeout(waiter.timer)
      waiter.resolve(this.#lease(child, waiter.databaseKey))
    } catch (error) {
      this.#starting--
      const waiter = this.#waiters.shift()
      clearTimeout(waiter?.timer)
      waiter?.reject(new Failure('sandbox_unavailable', { reason: reasonOf(error) }, error))
    }
    this.#serve()
  }

  async #startSpare(): Promise<void> {
    this.#isSpareStarting = true
    try {
      this.#keepSpare(await this.#start())
    } catch (error) {
      // The next call starts its own process and reports what is wrong.
      const facts = { reason: reasonOf(error) }
      if (!this.#isClosed) this.#options.warn('no spare sandbox process', facts)
    }
    this.#isSpareStarting = false
    this.#serve()
  }

  #keepSpare(child: SandboxChild): void {
    if (this.#isClosed || this.#spare?.isAlive) {
      child.kill()
      return
    }
    child.ref(false)
    this.#spare = child
  }

  /** Closing waits for starts under way, or they would use the folder it removes. */
  #start(): Promise<SandboxChild> {
    const start = this.#startChild()
    this.#starts.add(start)
    const forget = (): void => void this.#starts.delete(start)
    start.then(forget, forget)
    return start
  }

  async #startChild(): Promise<SandboxChild> {
    const { runtime, dataBytesMax } = await this.#measured()
    const child = await SandboxChild.start(runtime, { ...this.#options, dataBytesMax })
    if (!this.#isClosed) return child
    child.kill()
    await child.exited
    throw unavailable('the sandbox is closed')
  }

  /** Measured once; a failure is not remembered, as its cause may pass. */
  #measured(): Promise<MeasuredRuntime> {
    if (this.#runtime !== undefined) return this.#runtime
    const measuring = measureRuntime(this.#options)
    this.#runtime = measuring
    measuring.catch(() => {
      this.#runtime = undefined
    })
    return measuring
  }

  #startReaper(): void {
    if (this.#reaper !== undefined) return
    this.#reaper = setInterval(() => this.#reap(), Math.ceil(this.#options.idleMsMax / 2))
    this.#reaper.unref()
  }

  #reap(): void {
    const oldest = performance.now() - this.#options.idleMsMax
    const isStale = (child: SandboxChild): boolean =>
      !child.isAlive || (this.#idleSince.get(child) ?? 0) < oldest
    for (const child of this.#idle.filter(isStale)) {
      this.#idle.splice(this.#idle.indexOf(child), 1)
      child.kill()
    }
  }
}

interface MeasuredRuntime {
  readonly runtime: SandboxRuntime
  readonly dataBytesMax: number | undefined
}

/** The first runtime that starts: Deno as nobody, Deno as we are, then the same with Node. */
async function measureRuntime(options: PoolOptions): Promise<MeasuredRuntime> {
  const names = options.runtime === 'auto' ? (['deno', 'node'] as const) : [options.runtime]
  const why = options.runtime === 'node' ? 'Node was chosen' : 'Deno has no build for this platform'
  let problem: unknown = unavailable(why)
  for (const name of names) {
    const prepared = prepareRuntime({ ...options, runtime: name })
    if (prepared === undefined) continue
    try {
      const measured = await measureAsNobody(prepared, options)
      if (!prepared.isClosed) {
        const facts = { runtime: name, reason: reasonOf(problem) }
        options.warn('functions run without Deno: the network is not closed to them', facts)
      }
      return measured
    } catch (error) {
      disposeRuntime(prepared)
      problem = error
    }
  }
  throw problem
}

async function measureAsNobody(
  runtime: SandboxRuntime,
  options: PoolOptions,
): Promise<MeasuredRuntime> {
  if (runtime.userId === undefined) return measure(runtime, options)
  try {
    return await measure(runtime, options)
  } catch (error) {
    // Installed where only root may look, for instance.
    const measured = await measure({ ...runtime, userId: undefined }, options)
    const facts = { reason: reasonOf(error) }
    options.warn('functions run as root: the sandbox cannot be started as nobody', facts)
    return measured
  }
}

/** Starts one process that runs nothing, to learn whether it can and how much memory it takes. */
async function measure(runtime: SandboxRuntime, options: PoolOptions): Promise<MeasuredRuntime> {
  const child = await SandboxChild.start(runtime, { ...options, dataBytesMax: undefined })
  const own = child.dataBytes()
  child.kill()
  await child.exited
  const above = options.heapBytesMax + options.outsideHeapBytesMax
  return { runtime, dataBytesMax: own === undefined ? undefined : own + above }
}

const unavailable = (reason: string): Failure => new Failure('sandbox_unavailable', { reason })

function reasonOf(error: unknown): string {
  if (!(error instanceof Failure)) return String(error)
  return `${error.detail.reason} ${error.detail.stderr ?? ''}`.trim()
}
