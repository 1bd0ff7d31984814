/**
 * The workers: started, replaced when they die, told what the others did, and stopped. A worker that dies takes only its
 * own requests with it; one that dies again and again is started ever more slowly, so that a broken machine is not also
 * a busy one. Failing before the first worker ever answered ends the server with that worker's reason.
 */
import cluster, { type Worker } from 'node:cluster'
import { fileURLToPath } from 'node:url'
import { Failure } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { type MetricsSnapshot, mergeSnapshots } from '../base/metrics.ts'
import type {
  ConfigurationChange,
  ConfigurationWriter,
} from '../core/configuration/configuration.ts'
import type { Notice } from '../core/notices/notices.ts'
import type { Members, SystemFigures } from '../core/operations/operations.ts'
import type { Task } from '../core/tasks/active-tasks.ts'
import { type Boot, type Bound, type FailedLogin, TOPIC } from './boot.ts'
import { Channel } from './channel.ts'
import { IndexerLink } from './indexer-link.ts'
import { ReplicatorLink } from './replicator-link.ts'
import { type ChildRole, roleEnvironment } from './roles.ts'
import { addSystemFigures, systemFigures } from './system-figures.ts'

const STOP_MS = 10_000
const APPLY_MS = 5000
const RESTART_MS_MAX = 5000
/** A worker that lived this long died of something else than its start. */
const HEALTHY_MS = 10_000

export interface TreeParts {
  readonly workerCount: number
  /** Replications get a process of their own; else the worker runs them. */
  readonly hasReplicator: boolean
  /** The application's background work gets a process of its own; else the worker does it, or there is none. */
  readonly hasBackground: boolean
  /** Processes that build indexes, at the most; none: the worker builds them. */
  readonly indexerCountMax: number
  readonly log: Log
  readonly boot: () => Boot
  readonly configuration: ConfigurationWriter
  /** Told of what processes of this tree did; absent where there are no other nodes. */
  readonly others?: OtherNodes
}

export interface OtherNodes {
  publish(notice: Notice): void
  publishFailedLogin(failed: FailedLogin): void
  members(): Promise<Members>
}

interface Member {
  readonly role: ChildRole
  readonly worker: Worker
  readonly channel: Channel
  readonly startedMs: number
  /** It answers requests. */
  isReady: boolean
  /** It was told to go. */
  isRetired: boolean
}

export class WorkerTree {
  readonly #parts: TreeParts
  readonly #members = new Map<number, Member>()
  readonly #replicator = new ReplicatorLink()
  readonly #indexers: IndexerLink
  #stopping = false
  #failures = 0
  #onFirst: ((outcome: Bound | Failure) => void) | undefined

  constructor(parts: TreeParts) {
    this.#parts = parts
    this.#indexers = new IndexerLink({
      countMax: parts.indexerCountMax,
      start: () => void this.#fork('indexer'),
      retire: channel => this.#retire(channel),
      clock: Date.now,
    })
  }

  /** Resolves when all workers answer. */
  async start(): Promise<Bound> {
    // Workers accept connections themselves: nothing passes through the primary, and a connection on its way to a
    // worker that dies is closed by the system instead of hanging in the primary. (Counts
    // only when it is said before the first set-up.)
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({
      exec: fileURLToPath(new URL(`../main${EXTENSION}`, import.meta.url)),
      args: [],
      execArgv: [...process.execArgv, ...PRELOAD],
    })
    const first = await this.#startFirst()
    const others = Array.from({ length: this.#parts.workerCount - 1 }, () => this.#fork('worker'))
    if (this.#parts.hasReplicator) others.push(this.#fork('replicator'))
    if (this.#parts.hasBackground) others.push(this.#fork('background'))
    await Promise.all(others)
    return first
  }

  /** Asks every worker at once; one that dies or hangs meanwhile is not waited for. */
  async tellAll(topic: string, payload: unknown): Promise<void> {
    await Promise.all(
      [...this.#members.values()].map(({ channel, worker }) =>
        channel.request(topic, payload, APPLY_MS).catch(() => {
          // It must not go on with an old configuration: a new one takes its place.
          worker.process.kill('SIGKILL')
        }),
      ),
    )
  }

  /** Something another node did. */
  tellNotice(notice: Notice): void {
    this.#passOn(TOPIC.notice, notice)
  }

  tellFailedLogin(failed: FailedLogin): void {
    this.#passOn(TOPIC.failedLogin, failed)
  }

  async stop(): Promise<void> {
    if (this.#stopping) return
    this.#stopping = true
    const gone = [...this.#members.values()].map(async ({ worker, channel, isReady }) => {
      const exited = new Promise<void>(done => worker.once('exit', () => done()))
      // One that is still starting has nothing to finish.
      if (!isReady) worker.process.kill('SIGKILL')
      const timer = setTimeout(() => worker.process.kill('SIGKILL'), STOP_MS)
      await channel.request(TOPIC.drain, {}, STOP_MS).catch(() => {})
      await exited
      clearTimeout(timer)
    })
    await Promise.all(gone)
  }

  /** The first worker finds the ports and shows whether the server can start at all. */
  async #startFirst(): Promise<Bound> {
    const outcome = new Promise<Bound | Failure>(settled => {
      this.#onFirst = settled
    })
    void this.#fork('worker')
    const first = await outcome
    this.#onFirst = undefined
    if (first instanceof Failure) {
      this.#stopping = true
      throw first
    }
    return first
  }

  /** Resolves when the worker answers requests, or is gone. */
  #fork(role: ChildRole): Promise<void> {
    const worker = cluster.fork(roleEnvironment(role))
    const channel = new Channel({
      send: message => void worker.send(message as never, undefined, () => {}),
      onMessage: listener => void worker.on('message', listener),
      onClose: listener => void worker.on('exit', listener),
    })
    const member: Member = {
      role,
      worker,
      channel,
      startedMs: Date.now(),
      isReady: false,
      isRetired: false,
    }
    this.#members.set(worker.id, member)
    return new Promise(done => {
      this.#serve(member, done)
      worker.once('exit', (code, signal) => {
        done()
        this.#gone(member, signal ?? `code ${code}`)
      })
    })
  }

  #serve(member: Member, onReady: () => void): void {
    const { channel, worker, role } = member
    channel.on(TOPIC.boot, () => this.#parts.boot())
    channel.on(TOPIC.ready, (bound: Bound) => {
      member.isReady = true
      if (role === 'replicator') this.#replicator.connect(channel)
      else if (role === 'indexer') this.#indexers.connect(channel)
      else if (role === 'worker') this.#onFirst?.(bound)
      onReady()
    })
    channel.on(TOPIC.failed, ({ reason }: { reason: string }) => {
      this.#onFirst?.(new Failure('service_unavailable', { reason }))
      this.#parts.log.error(`a ${role} cannot start`, { reason })
    })
    channel.on(TOPIC.configChange, (edit: ConfigurationChange & { persist: boolean }) => {
      const { persist, section, key, value } = edit
      return this.#parts.configuration.change({ section, key, value }, { persist })
    })
    channel.on(TOPIC.configReload, () => this.#parts.configuration.reload())
    channel.on(TOPIC.notice, (notice: Notice) => {
      this.#passOn(TOPIC.notice, notice, worker.id)
      this.#parts.others?.publish(notice)
    })
    channel.on(TOPIC.failedLogin, (failed: FailedLogin) => {
      this.#passOn(TOPIC.failedLogin, failed, worker.id)
      this.#parts.others?.publishFailedLogin(failed)
    })
    channel.on(TOPIC.members, () => this.#parts.others?.members())
    this.#replicator.serve(channel)
    this.#indexers.serve(channel)
    channel.on(TOPIC.tasks, () => this.#gatherTasks())
    channel.on(TOPIC.metrics, async () =>
      mergeSnapshots(await this.#gather<MetricsSnapshot>(TOPIC.metrics)),
    )
    channel.on(TOPIC.processMetrics, () => this.#gather(TOPIC.processMetrics))
    channel.on(TOPIC.system, async () =>
      addSystemFigures([systemFigures(), ...(await this.#gather<SystemFigures>(TOPIC.system))]),
    )
  }

  /** Ends a process that has nothing to do. */
  #retire(channel: Channel): void {
    for (const member of this.#members.values()) {
      if (member.channel !== channel) continue
      member.isRetired = true
      channel.request(TOPIC.drain, {}, STOP_MS).catch(() => member.worker.process.kill('SIGKILL'))
    }
  }

  #passOn(topic: string, payload: Notice | FailedLogin, from?: number): void {
    for (const [id, { channel }] of this.#members) {
      if (id !== from) channel.notify(topic, payload)
    }
  }

  async #gatherTasks(): Promise<Task[]> {
    const lists = await this.#gather<Task[]>(TOPIC.tasks)
    return lists.flat().sort((a, b) => (a.pid < b.pid ? -1 : 1))
  }

  /** What every process answers that has started; one that dies meanwhile is left out. */
  async #gather<T>(topic: string): Promise<T[]> {
    const ready = [...this.#members.values()].filter(({ isReady }) => isReady)
    const answers = await Promise.allSettled(
      ready.map(({ channel }) => channel.request<T>(topic, {}, APPLY_MS)),
    )
    return answers.flatMap(answer => (answer.status === 'fulfilled' ? [answer.value] : []))
  }

  #gone(member: Member, how: string): void {
    this.#members.delete(member.worker.id)
    if (member.role === 'replicator') this.#replicator.disconnect(member.channel)
    if (member.role === 'indexer') {
      this.#indexers.disconnect(member.isReady ? member.channel : undefined)
      // The next request for an index starts another one.
      if (!this.#stopping && !member.isRetired) this.#parts.log.error('an indexer died', { how })
      return
    }
    this.#onFirst?.(
      new Failure('service_unavailable', { reason: `the first worker died (${how})` }),
    )
    if (this.#stopping) return
    const livedMs = Date.now() - member.startedMs
    this.#failures = livedMs > HEALTHY_MS ? 0 : this.#failures + 1
    const waitMs = Math.min(RESTART_MS_MAX, this.#failures === 0 ? 0 : 50 * 2 ** this.#failures)
    this.#parts.log.error(`a ${member.role} died and is replaced`, { how, livedMs, waitMs })
    setTimeout(() => {
      if (!this.#stopping) void this.#fork(member.role)
    }, waitMs)
  }
}

/** Running from sources (tests) or from the build. */
const EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
/** What cannot be loaded from sources: nothing that reads TypeScript is there so early. */
const PRELOAD =
  EXTENSION === '.ts'
    ? []
    : ['--require', fileURLToPath(new URL('leave-with-primary.cjs', import.meta.url))]
