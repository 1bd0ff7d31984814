/**
 * The documents of all `_replicator` databases: each asks for a replication. A new document starts one, a changed one
 * starts it anew, a deleted one stops it; the end is written into the document. All of it is in the documents, so a
 * process that begins from nothing goes on where the last one stopped.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import type { User } from '../auth/user.ts'
import { SETTINGS } from '../configuration/settings.ts'
import { isReplicatorDatabase } from '../database/database-name.ts'
import { fromParts } from '../document/incoming-document.ts'
import type { Notices } from '../notices/notices.ts'
import type { DatabaseOperations, ServerOperations } from '../operations/operations.ts'
import type { DocumentView } from '../operations/read-document.ts'
import type {
  DocumentState,
  SchedulerDocuments,
  SchedulerQuery,
} from '../operations/replication-operations.ts'
import {
  describeFailure,
  isoSeconds,
  type JobIdentity,
  type ReplicationJob,
  type RunEnd,
} from './replication-job.ts'
import type { ReplicationJobs } from './replication-jobs.ts'
import { REPLICATOR_ROLE, requestText, withState } from './replicator-document.ts'
import { type FollowedDocument, finishedState, livingState } from './replicator-states.ts'
import { backoffMs } from './scheduler.ts'

export interface ReplicatorDocumentsParts {
  readonly server: ServerOperations
  readonly notices: Notices
  readonly jobs: ReplicationJobs
  readonly identify: (text: string, user: User) => Promise<JobIdentity>
  readonly onEnd: (end: RunEnd, job: ReplicationJob) => void
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void
  readonly clock: () => number
}

/** The replicator itself. */
const REPLICATOR: User = { name: null, roles: ['_admin', REPLICATOR_ROLE] }
const FEED_WAIT_MS = 60_000
const FOLLOW_AGAIN_MS = 1000
const STATE_WRITES_MAX = 5

export class ReplicatorDocuments {
  readonly #parts: ReplicatorDocumentsParts
  readonly #stop = new AbortController()
  /** Databases that are followed. */
  readonly #databases = new Set<string>()
  readonly #documents = new Map<string, FollowedDocument>()
  #unsubscribe: (() => void) | undefined

  constructor(parts: ReplicatorDocumentsParts) {
    this.#parts = parts
  }

  start(): void {
    this.#unsubscribe = this.#parts.notices.subscribe(({ kind, name }) => {
      if (kind === 'database_created' && isReplicatorDatabase(name)) this.#follow(name)
    })
    this.#parts.server.databaseNames().then(
      names => {
        for (const name of names) if (isReplicatorDatabase(name)) this.#follow(name)
      },
      thrown => this.#parts.warn('replications cannot be read', { reason: String(thrown) }),
    )
  }

  close(): void {
    this.#unsubscribe?.()
    this.#stop.abort()
    for (const { retryTimer } of this.#documents.values()) clearTimeout(retryTimer)
  }

  async list(query: SchedulerQuery): Promise<SchedulerDocuments> {
    const names = query.database === undefined ? [...this.#databases].sort() : [query.database]
    const found: DocumentState[] = []
    for (const name of names) {
      if (!isReplicatorDatabase(name)) continue
      for await (const view of this.#viewsOf(name, query.id)) {
        const state = this.#stateOf(name, view)
        if (query.states.length === 0 || query.states.includes(state.state)) found.push(state)
      }
    }
    if (query.descending) found.reverse()
    const documents = found.slice(query.skip, query.skip + query.limit)
    return { total: found.length, documents }
  }

  async *#viewsOf(name: string, id: string | undefined): AsyncGenerator<DocumentView> {
    try {
      const operations = await this.#parts.server.open(REPLICATOR, name)
      const ids = id === undefined ? await idsOf(operations) : [id]
      for (const each of ids) {
        const view = await readIfThere(operations, each)
        if (view !== undefined) yield view
      }
    } catch (thrown) {
      if (!isFailure(thrown, 'database_missing')) throw thrown
    }
  }

  #stateOf(database: string, view: DocumentView): DocumentState {
    const followed = this.#documents.get(keyOf(database, view.id))
    const finished = finishedState(database, view)
    if (finished !== undefined) return finished
    const job = followed?.jobId === undefined ? undefined : this.#parts.jobs.get(followed.jobId)
    const node = this.#parts.server.node.name
    return livingState({ database, view, followed, job, node, nowMs: this.#parts.clock() })
  }

  #follow(name: string): void {
    if (this.#databases.has(name) || this.#stop.signal.aborted) return
    this.#databases.add(name)
    void this.#followToTheEnd(name).finally(() => {
      this.#databases.delete(name)
      this.#forgetAll(name)
    })
  }

  /** Reads every document, then every change, until the database is gone. */
  async #followToTheEnd(name: string): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        const operations = await this.#parts.server.open(REPLICATOR, name)
        await this.#followChanges(operations)
        if (operations.database.ended) return
      } catch (thrown) {
        if (isFailure(thrown, 'database_missing') || isFailure(thrown, 'engine_closed')) return
        this.#parts.warn('replications cannot be followed', {
          database: name,
          reason: String(thrown),
        })
      }
      await new Promise(resolve => setTimeout(resolve, FOLLOW_AGAIN_MS).unref())
    }
  }

  async #followChanges(operations: DatabaseOperations): Promise<void> {
    const feed = await operations.openChanges({
      since: '0',
      limit: Number.MAX_SAFE_INTEGER,
      allLeaves: false,
      feed: 'continuous',
      descending: false,
      waitMs: FEED_WAIT_MS,
      beats: true,
    })
    for await (const event of feed.events(this.#stop.signal)) {
      if (event.kind !== 'rows') continue
      for (const { idBytes } of event.rows) await this.#changed(operations, idBytes.toString())
    }
  }

  async #changed(operations: DatabaseOperations, id: string): Promise<void> {
    if (id.startsWith('_design/')) return
    const key = keyOf(operations.name, id)
    const view = await readIfThere(operations, id)
    const known = this.#documents.get(key)
    if (view === undefined || stateIn(view) === 'completed' || stateIn(view) === 'failed') {
      await this.#forget(key)
      return
    }
    const text = requestText(view.body)
    if (known?.text === text) return
    await this.#forget(key)
    const document: FollowedDocument = {
      database: operations.name,
      id,
      text,
      failures: 0,
      updatedMs: this.#parts.clock(),
    }
    this.#documents.set(key, document)
    void this.#begin(document)
  }

  /** Names the replication and hands it over; a source that cannot be asked for its filter is asked again later. */
  async #begin(document: FollowedDocument): Promise<void> {
    const { database, id, text } = document
    const isCurrent = (): boolean => this.#documents.get(keyOf(database, id)) === document
    try {
      const identity = await this.#parts.identify(text, userIn(text))
      if (!isCurrent() || this.#stop.signal.aborted) return
      this.#add(document, { ...identity, document: { database, id } })
    } catch (thrown) {
      if (!isCurrent() || this.#stop.signal.aborted) return
      const failure = thrown instanceof Error ? thrown : new Error(String(thrown))
      if (isFailure(failure, 'request_invalid') || isFailure(failure, 'mango_invalid')) {
        return await this.#fail(document, failure)
      }
      document.error = describeFailure(failure)
      document.failures++
      document.updatedMs = this.#parts.clock()
      document.retryTimer = setTimeout(
        () => void this.#begin(document),
        backoffMs(document.failures),
      )
      document.retryTimer.unref()
      await this.#writeIfWanted(document, 'error', { _replication_state_reason: document.error })
    }
  }

  #add(document: FollowedDocument, identity: JobIdentity): void {
    const { jobs } = this.#parts
    const other = jobs.get(identity.id)
    if (other !== undefined) {
      const { document: owner } = other.identity
      const place = owner === undefined ? 'a request' : `document \`${owner.id}\``
      const reason = `Replication \`${identity.id}\` was already triggered by ${place}`
      void this.#fail(document, new Failure('replication_failed', { reason }))
      return
    }
    document.error = undefined
    document.jobId = identity.id
    jobs.add(identity, (end, job) => {
      this.#parts.onEnd(end, job)
      return this.#runEnded(document, end, job)
    })
    void this.#writeIfWanted(document, 'triggered', { _replication_id: identity.base })
  }

  #runEnded(document: FollowedDocument, end: RunEnd, job: ReplicationJob): 'keep' | 'remove' {
    if (end.kind === 'completed') {
      void this.#write(document, {
        _replication_state: 'completed',
        _replication_state_time: isoSeconds(this.#parts.clock()),
        _replication_stats: job.stats,
      })
      return 'remove'
    }
    if (end.kind === 'crashed') {
      const reason = describeFailure(end.failure)
      void this.#writeIfWanted(document, 'error', { _replication_state_reason: reason })
    }
    return 'keep'
  }

  async #fail(document: FollowedDocument, failure: Error): Promise<void> {
    document.error = describeFailure(failure)
    const reason = isFailure(failure) ? (failure.detail.reason ?? failure.message) : 'unexpected'
    await this.#write(document, {
      _replication_state: 'failed',
      _replication_state_time: isoSeconds(this.#parts.clock()),
      _replication_state_reason: reason,
    })
  }

  async #writeIfWanted(
    document: FollowedDocument,
    state: string,
    more: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    if (!this.#parts.server.configuration.get(SETTINGS.replicationUpdateDocs)) return
    const time = isoSeconds(this.#parts.clock())
    await this.#write(document, {
      _replication_state: state,
      _replication_state_time: time,
      ...more,
    })
  }

  /** Writes a state unless the document asks for something else by now. */
  async #write(
    document: FollowedDocument,
    state: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const { database, id, text } = document
    try {
      const operations = await this.#parts.server.open(REPLICATOR, database)
      for (let attempt = 0; attempt < STATE_WRITES_MAX; attempt++) {
        const view = await readIfThere(operations, id)
        if (view === undefined || requestText(view.body) !== text) return
        // Its members begin with an underscore, which only the reader of whole documents knows to keep.
        const changed = fromParts({ id, rev: view.rev, body: withState(view.body, state) })
        const attachments = view.attachments.map(stored => ({
          kind: 'kept' as const,
          name: stored.name,
          stored,
        }))
        const write = { id, document: changed, attachments }
        const [result] = await operations.writeDocuments([write], 'interactive')
        if (result?.ok !== false) return
        if (!isFailure(result.failure, 'document_conflict')) throw result.failure
      }
      throw new Failure('document_conflict')
    } catch (thrown) {
      const facts = { database, document: id, reason: String(thrown) }
      if (!this.#stop.signal.aborted) {
        this.#parts.warn('the state of a replication cannot be written', facts)
      }
    }
  }

  async #forget(key: string): Promise<void> {
    const document = this.#documents.get(key)
    if (document === undefined) return
    this.#documents.delete(key)
    clearTimeout(document.retryTimer)
    if (document.jobId !== undefined) await this.#parts.jobs.remove(document.jobId)
  }

  #forgetAll(database: string): void {
    for (const [key, document] of this.#documents) {
      if (document.database === database) void this.#forget(key)
    }
  }
}

const keyOf = (database: string, id: string): string => `${database}\n${id}`

async function readIfThere(
  operations: DatabaseOperations,
  id: string,
): Promise<DocumentView | undefined> {
  try {
    return await operations.readDocument(id)
  } catch (thrown) {
    if (isFailure(thrown, 'document_missing')) return undefined
    throw thrown
  }
}

async function idsOf(operations: DatabaseOperations): Promise<string[]> {
  const feed = await operations.openChanges({
    since: '0',
    limit: Number.MAX_SAFE_INTEGER,
    allLeaves: false,
    feed: 'normal',
    descending: false,
    waitMs: 0,
    beats: false,
  })
  const ids: string[] = []
  for await (const event of feed.events(new AbortController().signal)) {
    if (event.kind !== 'rows') continue
    for (const { idBytes, deleted } of event.rows) {
      const id = idBytes.toString()
      if (!deleted && !id.startsWith('_design/')) ids.push(id)
    }
  }
  return ids.sort()
}

const stateIn = ({ body }: DocumentView): unknown =>
  (JSON.parse(body.toString()) as { _replication_state?: unknown })._replication_state

/** The user that a document names, or its owner. */
function userIn(text: string): User {
  const { user_ctx: context, owner } = JSON.parse(text) as {
    user_ctx?: { name?: unknown; roles?: unknown } | null
    owner?: unknown
  }
  const name = context?.name ?? owner
  const roles = Array.isArray(context?.roles) ? (context.roles as string[]) : []
  return { name: typeof name === 'string' ? name : null, roles }
}
