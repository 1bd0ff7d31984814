/** What a worker needs to know to start, and the topics that the processes of the tree talk about. */
import type { Notice } from '../core/notices/notices.ts'
import type { Task } from '../core/tasks/active-tasks.ts'

export interface Boot {
  readonly engine: string
  readonly dataFolder: string
  readonly nodeName: string
  /** When the tree was started. */
  readonly startedMs: number
  readonly sections: readonly (readonly [string, readonly (readonly [string, string])[]])[]
  readonly listen: ListenPlan
}

/** Where to listen: the same for all workers, for as long as the server runs. */
export interface ListenPlan {
  readonly host: string
  readonly port: number
  /** Undefined when the node-local interface is closed. */
  readonly nodePort: number | undefined
  /** Undefined when TLS is off. */
  readonly tlsPort: number | undefined
}

export interface Bound {
  readonly port: number
  readonly nodePort: number | undefined
  readonly tlsPort: number | undefined
}

/** Topics, each with what it carries: worker to primary unless it says otherwise. */
export const TOPIC = {
  /** -> Boot */
  boot: 'boot',
  /** Bound */
  ready: 'ready',
  /** { reason } : this worker cannot start */
  failed: 'failed',
  /** ConfigurationChange & { persist } -> string | undefined */
  configChange: 'config.change',
  configReload: 'config.reload',
  /** primary to worker: ConfigurationChange */
  configApply: 'config.apply',
  /** primary to worker: all sections */
  configReplace: 'config.replace',
  /** Notice, both ways */
  notice: 'notice',
  /** -> Task[] of all processes; primary to worker: -> Task[] of that one */
  tasks: 'tasks',
  /** -> MetricsSnapshot of all; primary to worker: of that one */
  metrics: 'metrics',
  /** -> ProcessMetrics[], one for each process; primary to worker: -> ProcessMetrics of that one */
  processMetrics: 'metrics.process',
  /** -> SystemFigures of all; primary to worker: of that one */
  system: 'system',
  /** { user, body } -> ReplicateAnswer; the primary asks the replicator. So with the next two. */
  replicate: 'replication.replicate',
  /** -> JobView[] */
  replicationJobs: 'replication.jobs',
  /** SchedulerQuery -> SchedulerDocuments */
  replicationDocuments: 'replication.documents',
  /** IndexRequest; the primary asks a process that builds indexes */
  index: 'index',
  /** -> Members: the nodes that share the engine */
  members: 'members',
  /** { peer, name }: a wrong password was given; passed on to all others */
  failedLogin: 'login.failed',
  /** primary to worker: finish requests and go */
  drain: 'drain',
} as const

export interface FailedLogin {
  readonly peer: string
  readonly name: string
}

export type NoticePayload = Notice
export type TasksPayload = Task[]
