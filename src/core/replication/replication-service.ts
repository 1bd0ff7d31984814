/**
 * Replication for the whole server, in the one process that does it: takes requests, names them, has them run, and
 * follows the documents of `_replicator` databases. Each part has a file of its own; this one joins them.
 */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { Failure } from '../../base/errors.ts'
import { isServerAdmin, type User } from '../auth/user.ts'
import { SETTINGS } from '../configuration/settings.ts'
import type { Notices } from '../notices/notices.ts'
import type { ServerOperations } from '../operations/operations.ts'
import type {
  JobView,
  ReplicateAnswer,
  ReplicationOperations,
  SchedulerDocuments,
  SchedulerQuery,
} from '../operations/replication-operations.ts'
import type { ActiveTasks } from '../tasks/active-tasks.ts'
import { type Endpoint, nameEndpoint } from './endpoint.ts'
import type { ClientTls } from './http-client.ts'
import { HttpPeer } from './http-peer.ts'
import { LocalPeer } from './local-peer.ts'
import type { Narrowing, Peer } from './peer.ts'
import { sequenceNumber } from './peer-sequence.ts'
import type { ReplicationPlan } from './replicate.ts'
import { type NamedFilter, replicationId } from './replication-id.ts'
import type { JobIdentity, JobSurroundings, ReplicationJob, RunEnd } from './replication-job.ts'
import { ReplicationJobs } from './replication-jobs.ts'
import {
  idToCancel,
  parseReplication,
  type ReplicationRequest,
  readBody,
} from './replication-request.ts'
import { ReplicatorDocuments } from './replicator-documents.ts'
import type { RetryPolicy } from './retry.ts'

export interface ReplicationParts {
  readonly server: ServerOperations
  readonly notices: Notices
  readonly tasks: ActiveTasks
  readonly tls: () => ClientTls
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
  readonly clock: () => number
  readonly wait: RetryPolicy['wait']
}

type Waiter = (end: RunEnd) => void

export class ReplicationService implements ReplicationOperations {
  readonly #parts: ReplicationParts
  readonly #jobs: ReplicationJobs
  readonly #documents: ReplicatorDocuments
  /** Those who wait for the end of a replication, by its id. */
  readonly #waiters = new Map<string, Waiter[]>()

  constructor(parts: ReplicationParts) {
    this.#parts = parts
    const { configuration } = parts.server
    this.#jobs = new ReplicationJobs({
      surroundings: this.#surroundings(),
      limits: () => ({
        jobsMax: configuration.get(SETTINGS.replicationJobsMax),
        churnMax: configuration.get(SETTINGS.replicationChurnMax),
      }),
      turnMs: () => configuration.get(SETTINGS.replicationTurnMs),
      jitterMs: () => configuration.get(SETTINGS.replicationJitterMs),
      random: Math.random,
    })
    this.#documents = new ReplicatorDocuments({
      server: parts.server,
      notices: parts.notices,
      jobs: this.#jobs,
      identify: (text, user) => this.#identify(text, user),
      onEnd: (end, job) => this.#tellWaiters(end, job),
      warn: parts.warn,
      clock: parts.clock,
    })
  }

  /** Begins to follow the documents. */
  start(): void {
    this.#documents.start()
  }

  async close(): Promise<void> {
    this.#documents.close()
    await this.#jobs.close()
    const stopping = new Failure('service_unavailable', { reason: 'The server is stopping.' })
    for (const waiters of this.#waiters.values()) {
      for (const tell of waiters) tell({ kind: 'crashed', failure: stopping })
    }
    this.#waiters.clear()
  }

  async replicate(user: User, text: string): Promise<ReplicateAnswer> {
    const { body } = readBody(text)
    if (body.cancel === true) return await this.#cancel(user, text)
    const identity = await this.#identify(text, user)
    const known = this.#jobs.get(identity.id)
    if (identity.request.continuous) {
      if (known === undefined) this.#jobs.add(identity, () => 'keep')
      return { kind: 'started', id: identity.id }
    }
    const ended = this.#endOf(identity.id)
    if (known === undefined) {
      this.#jobs.add(identity, (end, job) => {
        this.#tellWaiters(end, job)
        return end.kind === 'stopped' ? 'keep' : 'remove'
      })
    }
    return answerOf(await ended)
  }

  async jobs(): Promise<readonly JobView[]> {
    return this.#jobs.list().map(job => job.view())
  }

  documents(query: SchedulerQuery): Promise<SchedulerDocuments> {
    return this.#documents.list(query)
  }

  async #cancel(user: User, text: string): Promise<ReplicateAnswer> {
    const { body } = readBody(text)
    const id = idToCancel(body) ?? (await this.#identify(text, user)).id
    const job = this.#jobs.get(id) ?? this.#jobs.get(`${id}+continuous`)
    if (job === undefined) throw new Failure('document_missing', { reason: 'missing' })
    const isOwn = user.name !== null && job.identity.user.name === user.name
    if (!isOwn && !isServerAdmin(user)) {
      throw new Failure('unauthorized', { reason: 'You did not start this replication.' })
    }
    await this.#jobs.remove(job.id)
    const reason = 'the replication was cancelled'
    const failure = new Failure('replication_failed', { error: 'cancelled', reason })
    this.#tellWaiters({ kind: 'crashed', failure }, job)
    return { kind: 'cancelled', id: job.id }
  }

  #endOf(id: string): Promise<RunEnd> {
    return new Promise(resolve => {
      const waiters = this.#waiters.get(id)
      if (waiters === undefined) this.#waiters.set(id, [resolve])
      else waiters.push(resolve)
    })
  }

  #tellWaiters(end: RunEnd, { id }: ReplicationJob): void {
    if (end.kind === 'stopped') return
    const waiters = this.#waiters.get(id) ?? []
    this.#waiters.delete(id)
    for (const tell of waiters) tell(end)
  }

  async #identify(text: string, user: User): Promise<JobIdentity> {
    const request = parseReplication(text)
    const filter = await this.#filterOf(request, user)
    const { configuration } = this.#parts.server
    const local = { user: user.name, port: configuration.get(SETTINGS.port) }
    const { narrow } = request
    const names = replicationId({
      serverUuid: configuration.get(SETTINGS.serverUuid),
      hostName: hostname().replace(/\..*$/, ''),
      port: local.port,
      source: nameEndpoint(request.source, local),
      target: nameEndpoint(request.target, local),
      docIds: narrow.kind === 'ids' ? narrow.ids : undefined,
      selector: narrow.kind === 'selector' ? narrow.selector : undefined,
      filter,
      winningRevsOnly: request.winningRevsOnly,
      continuous: request.continuous,
      createTarget: request.createTarget,
    })
    return { ...names, request, user }
  }

  /** The function's source is part of the name: another function is another replication. */
  async #filterOf(request: ReplicationRequest, user: User): Promise<NamedFilter | undefined> {
    const { narrow } = request
    if (narrow.kind !== 'filter') return undefined
    if (narrow.name.startsWith('_')) return { code: narrow.name, queryParams: narrow.params }
    const controller = new AbortController()
    const source = this.#peer(request.source, request, user, controller.signal)
    try {
      await source.info()
      const code = await source.filterCode(...designAndName(narrow))
      return { code, queryParams: narrow.params }
    } finally {
      source.close()
    }
  }

  #surroundings(): JobSurroundings {
    const { server, tasks, clock, warn } = this.#parts
    return {
      nodeName: server.node.name,
      clock,
      newSessionId: () => randomBytes(16).toString('hex'),
      open: identity => this.#open(identity),
      startTask: fields => tasks.start('replication', fields),
      presentSequence: seq => (server.dialect.numericSequences ? sequenceNumber(seq) : seq),
      warn,
    }
  }

  #open({ request, base, earlier, user }: JobIdentity): { plan: ReplicationPlan; end: () => void } {
    const controller = new AbortController()
    const { signal } = controller
    const source = this.#peer(request.source, request, user, signal)
    const target = this.#peer(request.target, request, user, signal)
    const { tuning } = request
    const setting = this.#parts.server.configuration
    const timeoutMs = tuning.timeoutMs ?? setting.get(SETTINGS.replicationTimeoutMs)
    return {
      plan: {
        source,
        target,
        checkpointId: base,
        earlierIds: earlier,
        continuous: request.continuous,
        narrow: request.narrow,
        allLeaves: !request.winningRevsOnly,
        sinceSeq: request.sinceSeq,
        useCheckpoints: request.useCheckpoints,
        createTarget: request.createTarget,
        createTargetParams: request.createTargetParams,
        batchSize: Math.min(
          BATCH_MAX,
          tuning.batchSize ?? setting.get(SETTINGS.replicationBatchSize),
        ),
        workers: Math.min(WORKERS_MAX, tuning.workers ?? setting.get(SETTINGS.replicationWorkers)),
        checkpointMs: tuning.checkpointMs ?? setting.get(SETTINGS.replicationCheckpointMs),
        pollMs: Math.min(POLL_MS_MAX, Math.ceil(timeoutMs * 0.8)),
        retry: this.#retry(request),
      },
      end: () => {
        controller.abort()
        source.close()
        target.close()
      },
    }
  }

  #peer(endpoint: Endpoint, request: ReplicationRequest, user: User, signal: AbortSignal): Peer {
    const { server } = this.#parts
    const retry = this.#retry(request)
    if (endpoint.kind === 'local') {
      return new LocalPeer({ server, user, name: endpoint.name, retry, signal })
    }
    const { tuning, useBulkGet } = request
    const { configuration } = server
    return new HttpPeer(endpoint, {
      connectionsMax: tuning.connections ?? configuration.get(SETTINGS.replicationConnections),
      timeoutMs: tuning.timeoutMs ?? configuration.get(SETTINGS.replicationTimeoutMs),
      tls: this.#parts.tls(),
      sockets: tuning.sockets ?? configuration.get(SETTINGS.replicationSockets),
      login: {
        logins: configuration.get(SETTINGS.replicationLogins),
        sessionMs: configuration.get(SETTINGS.replicationSessionSeconds) * 1000,
        clock: this.#parts.clock,
      },
      retry,
      useBulkGet,
      signal,
    })
  }

  #retry({ tuning }: ReplicationRequest): RetryPolicy {
    const retries =
      tuning.retries ?? this.#parts.server.configuration.get(SETTINGS.replicationRetries)
    return { retries, wait: this.#parts.wait, random: Math.random }
  }
}

const BATCH_MAX = 5000
const WORKERS_MAX = 64
const POLL_MS_MAX = 25_000

function designAndName({ name }: Narrowing & { kind: 'filter' }): [string, string] {
  const slash = name.indexOf('/')
  return [name.slice(0, slash), name.slice(slash + 1)]
}

function answerOf(end: RunEnd): ReplicateAnswer {
  if (end.kind === 'crashed') throw end.failure
  if (end.kind === 'stopped') throw new Failure('replication_failed', { reason: 'stopped' })
  const { result } = end
  if (result.kind === 'unrecorded') return { kind: 'unrecorded' }
  const { _id, _rev, ...checkpoint } = result.checkpoint
  return { kind: result.kind, checkpoint }
}
