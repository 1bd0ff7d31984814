/** What `_scheduler/docs` says about a document: from the document when it has ended, from its job while it lives. */
import type { DocumentView } from '../operations/read-document.ts'
import type { DocumentState, ReplicationState } from '../operations/replication-operations.ts'
import { parseEndpoint, showEndpoint, showProxy } from './endpoint.ts'
import { isoSeconds, type ReplicationJob } from './replication-job.ts'

/** A document whose replication has not ended. */
export interface FollowedDocument {
  readonly database: string
  readonly id: string
  /** What it asks for. */
  readonly text: string
  /** Undefined until its replication has a name. */
  jobId?: string
  error?: string | undefined
  failures: number
  updatedMs: number
  retryTimer?: NodeJS.Timeout
}

type Body = Readonly<Record<string, unknown>>

/** Undefined when the document does not say that it has ended. */
export function finishedState(database: string, view: DocumentView): DocumentState | undefined {
  const body = JSON.parse(view.body.toString()) as Body
  const state = body._replication_state
  if (state !== 'completed' && state !== 'failed') return undefined
  const stats = body._replication_stats as Body | undefined
  const time = String(body._replication_state_time ?? '')
  return {
    database,
    doc_id: view.id,
    id: null,
    source: shown(body.source),
    target: shown(body.target),
    state,
    info: state === 'failed' ? { error: body._replication_state_reason } : (stats ?? null),
    error_count: state === 'failed' ? 1 : 0,
    last_updated: time,
    start_time: typeof stats?.start_time === 'string' ? stats.start_time : time,
  }
}

export function livingState(facts: {
  readonly database: string
  readonly view: DocumentView
  readonly followed: FollowedDocument | undefined
  readonly job: ReplicationJob | undefined
  readonly node: string
  readonly nowMs: number
}): DocumentState {
  const { database, view, followed, job, node } = facts
  const body = JSON.parse(view.body.toString()) as Body
  const seen = job?.view()
  const error = followed?.error
  return {
    database,
    doc_id: view.id,
    id: job?.id ?? null,
    node,
    source: shown(body.source),
    target: shown(body.target),
    state: stateOf(followed, job),
    info: seen?.info ?? (error === undefined ? null : { error }),
    error_count: job?.failures ?? followed?.failures ?? 0,
    last_updated: isoSeconds(job?.updatedMs ?? followed?.updatedMs ?? facts.nowMs),
    start_time: job === undefined ? null : isoSeconds(job.addedMs),
    source_proxy: proxyOf(body.source_proxy ?? body.proxy),
    target_proxy: proxyOf(body.target_proxy ?? body.proxy),
  }
}

function stateOf(
  followed: FollowedDocument | undefined,
  job: ReplicationJob | undefined,
): ReplicationState {
  if (job === undefined) return followed?.error === undefined ? 'initializing' : 'error'
  if (job.running) return 'running'
  return job.failures > 0 ? 'crashing' : 'pending'
}

function shown(endpoint: unknown): string | null {
  try {
    return showEndpoint(parseEndpoint(endpoint, undefined))
  } catch {
    return null
  }
}

const proxyOf = (proxy: unknown): string | null =>
  showProxy(typeof proxy === 'string' ? proxy : undefined)
