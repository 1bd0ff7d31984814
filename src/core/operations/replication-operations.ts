/**
 * Replication as its users see it: start, cancel, look. Whoever implements it may do the work in another process; all
 * that crosses is plain data.
 */
import type { User } from '../auth/user.ts'

export interface ReplicationOperations {
  /**
   * Does what the body of `POST /_replicate` asks for. A replication that is not continuous has ended when this
   * resolves. Fails with `request_invalid`, `replication_failed`, `unauthorized`, `document_missing`.
   *
   * @param body JSON text
   */
  replicate(user: User, body: string): Promise<ReplicateAnswer>
  jobs(): Promise<readonly JobView[]>
  /** Documents of all databases of replications, or of those that the query names. */
  documents(query: SchedulerQuery): Promise<SchedulerDocuments>
}

export type ReplicateAnswer =
  | {
      readonly kind: 'done' | 'nothing_new'
      /** The document that both ends keep, with sequences as they are. */
      readonly checkpoint: Readonly<Record<string, unknown>>
    }
  | { readonly kind: 'unrecorded' }
  | { readonly kind: 'started' | 'cancelled'; readonly id: string }

export const REPLICATION_STATES = [
  'initializing',
  'error',
  'running',
  'pending',
  'crashing',
  'completed',
  'failed',
] as const

export type ReplicationState = (typeof REPLICATION_STATES)[number]

/** Members as the wire has them. */
export interface JobView {
  readonly database: string | null
  readonly id: string
  readonly pid: string | null
  readonly source: string
  readonly target: string
  readonly user: string | null
  readonly doc_id: string | null
  readonly info: Readonly<Record<string, unknown>> | null
  readonly history: readonly JobEvent[]
  readonly node: string
  readonly start_time: string
}

export interface JobEvent {
  readonly timestamp: string
  readonly type: 'added' | 'started' | 'stopped' | 'crashed'
  readonly reason?: string
}

export interface SchedulerQuery {
  readonly database?: string | undefined
  readonly id?: string | undefined
  /** Empty: all. */
  readonly states: readonly ReplicationState[]
  readonly skip: number
  readonly limit: number
  readonly descending: boolean
}

export interface SchedulerDocuments {
  readonly total: number
  readonly documents: readonly DocumentState[]
}

/** Members as the wire has them. */
export interface DocumentState {
  readonly database: string
  readonly doc_id: string
  readonly id: string | null
  readonly node?: string
  readonly source: string | null
  readonly target: string | null
  readonly state: ReplicationState
  readonly info: Readonly<Record<string, unknown>> | null
  readonly error_count: number
  readonly last_updated: string
  readonly start_time: string | null
  readonly source_proxy?: string | null
  readonly target_proxy?: string | null
}
