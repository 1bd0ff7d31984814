/**
 * An HTTP worker: asks the primary how to start, composes its servers over the shared data, listens, and tells the
 * primary. Requests never wait for the primary; it hears of changes and passes on what it did itself.
 */
import cluster from 'node:cluster'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { Failure, isFailure } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { Metrics, type MetricsSnapshot } from '../base/metrics.ts'
import { Configuration, type ConfigurationChange } from '../core/configuration/configuration.ts'
import { SETTINGS } from '../core/configuration/settings.ts'
import type { IndexUpdates } from '../core/indexing/index-updates.ts'
import { type Notice, Notices } from '../core/notices/notices.ts'
import type { Members, SystemFigures } from '../core/operations/operations.ts'
import type { ReplicationOperations } from '../core/operations/replication-operations.ts'
import { ActiveTasks, type Task } from '../core/tasks/active-tasks.ts'
import type { Engine } from '../engine/engine.ts'
import { openEngine } from '../engine/open-engine.ts'
import { METRICS_PREFIX } from '../http/app/metrics.ts'
import type { HttpServer, TlsOptions } from '../http/kit/http-server.ts'
import { type ProcessMetrics, RequestMetrics } from '../http/kit/request-metrics.ts'
import { composeServers, type SandboxLimits, type Servers } from '../server.ts'
import type { Alone } from './alone.ts'
import { type Boot, type Bound, type FailedLogin, type ListenPlan, TOPIC } from './boot.ts'
import { Channel } from './channel.ts'
import { INDEX_MS } from './indexer-link.ts'
import { logOf } from './process-log.ts'
import { readReplicationTls } from './replication-tls.ts'
import { REPLICATE_MS } from './replicator-link.ts'
import { systemFigures, withEngineFigures } from './system-figures.ts'

const DRAIN_MS = 8000

export async function runWorker(): Promise<void> {
  const channel = new Channel(pipeToPrimary())
  try {
    await startWorker(channel)
  } catch (thrown) {
    await refuseToStart(channel, thrown)
  }
}

async function startWorker(channel: Channel): Promise<void> {
  const member = await joinTree(channel, { replicates: false })
  const { servers, boot, configuration } = member
  await servers.install()
  if (boot.engine === 'memory') servers.background()?.start()
  const { bound, open } = await listen(servers, boot.listen, configuration)
  channel.on(TOPIC.drain, async () => {
    await Promise.all(open.map(server => server.drain(DRAIN_MS)))
    await leaveTree(member)
  })
  await channel.request(TOPIC.ready, bound)
}

/** Tells the primary why this process cannot start, and ends. */
export async function refuseToStart(channel: Channel, thrown: unknown): Promise<never> {
  await channel.request(TOPIC.failed, { reason: reasonOf(thrown) }).catch(() => {})
  process.exit(1)
}

/** A process of the tree with everything it needs, hearing what the others do. */
export interface TreeMember {
  readonly boot: Boot
  readonly configuration: Configuration
  readonly engine: Engine
  readonly servers: Servers
  readonly log: Log
}

/** What a process of the tree does itself. Memory is not shared, so there the one worker does everything. */
export interface OwnWork {
  /** It runs the replications of all. */
  readonly replicates: boolean
  /** It brings indexes up to date. */
  readonly indexes?: boolean
}

export async function joinTree(
  channel: Channel,
  { replicates, indexes = false }: OwnWork,
): Promise<TreeMember> {
  const boot = await channel.request<Boot>(TOPIC.boot, {})
  const configuration = new Configuration(sectionsOf(boot.sections))
  const log: Log = logOf(configuration, { worker: cluster.worker?.id })
  const engine = await openEngine({ kind: boot.engine, folder: boot.dataFolder })
  const notices = new Notices(notice => channel.notify(TOPIC.notice, notice))
  const tasks = new ActiveTasks()
  const metrics = new Metrics()
  const requestMetrics = new RequestMetrics(METRICS_PREFIX)
  requestMetrics.watchProcess()
  const isShared = boot.engine !== 'memory'
  const servers = composeServers({
    nodeName: boot.nodeName,
    engine,
    configuration,
    configurationWriter: {
      change: (change, { persist }) =>
        channel.request(TOPIC.configChange, { ...withoutUndefined(change), persist }),
      reload: () => channel.request(TOPIC.configReload, {}),
    },
    notices,
    metrics,
    requestMetrics,
    gatherProcessMetrics: () => channel.request<ProcessMetrics[]>(TOPIC.processMetrics, {}),
    gatherMetrics: () => channel.request<MetricsSnapshot>(TOPIC.metrics, {}),
    gatherSystem: () => channel.request<SystemFigures>(TOPIC.system, {}),
    listTasks: () => channel.request<Task[]>(TOPIC.tasks, {}),
    tasks,
    waitsWithBackground: engine.supports.manyNodes,
    ...(engine.peers && { members: () => channel.request<Members>(TOPIC.members, {}) }),
    ...(isShared && !replicates ? { replication: replicationElsewhere(channel) } : {}),
    ...(isShared && !indexes ? { indexUpdates: indexUpdatesElsewhere(channel) } : {}),
    ...(indexes ? { sandboxLimits: indexerSandboxLimits() } : {}),
    replicationTls: () => readReplicationTls(configuration),
    onFailedLogin: (peer, name) => channel.notify(TOPIC.failedLogin, { peer, name }),
    log,
    clock: Date.now,
    startedMs: boot.startedMs,
  })
  channel.on(TOPIC.configApply, (change: ConfigurationChange) =>
    configuration.apply({ ...change, value: change.value }),
  )
  channel.on(TOPIC.configReplace, (sections: Boot['sections']) =>
    configuration.replace(sectionsOf(sections)),
  )
  channel.on(TOPIC.notice, (notice: Notice) => notices.receive(notice))
  channel.on(TOPIC.failedLogin, ({ peer, name }: FailedLogin) =>
    servers.noteFailedLogin(peer, name),
  )
  channel.on(TOPIC.tasks, () => tasks.list())
  channel.on(TOPIC.metrics, () => withEngineFigures(metrics.snapshot(), engine.snapshot()))
  channel.on(TOPIC.processMetrics, () => requestMetrics.snapshot())
  channel.on(TOPIC.system, systemFigures)
  return { boot, configuration, engine, servers, log }
}

/** Finishes what was promised and ends the process. */
export async function leaveTree({ servers, engine }: TreeMember, alone?: Alone): Promise<void> {
  await servers.settle()
  await alone?.end()
  await servers.close()
  await engine.close()
  // The answer must leave before the process does.
  setImmediate(() => process.disconnect?.())
}

/** Many indexes may be built at once; nobody's request hangs on a single call. */
const indexerSandboxLimits = (): SandboxLimits => ({
  processesMax: availableParallelism(),
  waitMsMax: 3_600_000,
})

const indexUpdatesElsewhere = (channel: Channel): IndexUpdates => ({
  bringUp: request => channel.request(TOPIC.index, request, INDEX_MS),
})

const replicationElsewhere = (channel: Channel): ReplicationOperations => ({
  replicate: ({ name, roles }, body) =>
    channel.request(TOPIC.replicate, { user: { name, roles }, body }, REPLICATE_MS),
  jobs: () => channel.request(TOPIC.replicationJobs, {}),
  documents: query => channel.request(TOPIC.replicationDocuments, query),
})

async function listen(
  servers: Servers,
  plan: ListenPlan,
  configuration: Configuration,
): Promise<{ bound: Bound; open: HttpServer[] }> {
  const open: HttpServer[] = []
  const start = async (server: HttpServer, port: number): Promise<number> => {
    open.push(server)
    try {
      return (await server.listen(port, plan.host)).port
    } catch (thrown) {
      throw listenFailure(thrown, plan.host, port)
    }
  }
  const port = await start(servers.main(), plan.port)
  const nodePort =
    plan.nodePort === undefined ? undefined : await start(servers.nodeLocal(), plan.nodePort)
  const tlsPort =
    plan.tlsPort === undefined
      ? undefined
      : await start(servers.main(readTls(configuration)), plan.tlsPort)
  return { bound: { port, nodePort, tlsPort }, open }
}

function listenFailure(thrown: unknown, host: string, port: number): Failure {
  const { code } = thrown as NodeJS.ErrnoException
  const why =
    code === 'EADDRINUSE'
      ? 'is in use; choose another with --port or --node-port'
      : `cannot be listened on (${code ?? String(thrown)})`
  return new Failure('service_unavailable', { reason: `port ${port} on ${host} ${why}` })
}

function readTls(configuration: Configuration): TlsOptions {
  const read = (path: string, key: string): Buffer => readPem(path, `[ssl] ${key}`)
  const versions = configuration.get(SETTINGS.tlsVersions)
  const ca = configuration.get(SETTINGS.tlsCaFile)
  const passphrase = configuration.get(SETTINGS.tlsPassword)
  const ciphers = configuration.get(SETTINGS.tlsCiphers)
  return {
    cert: read(configuration.get(SETTINGS.tlsCertFile), 'cert_file'),
    key: read(configuration.get(SETTINGS.tlsKeyFile), 'key_file'),
    ...(ca === '' ? {} : { ca: read(ca, 'cacert_file') }),
    ...(passphrase === '' ? {} : { passphrase }),
    ...(ciphers === '' ? {} : { ciphers }),
    minVersion: /tlsv1\.2/.test(versions) ? 'TLSv1.2' : 'TLSv1.3',
    maxVersion: /tlsv1\.3/.test(versions) ? 'TLSv1.3' : 'TLSv1.2',
    requireClientCert: configuration.get(SETTINGS.tlsVerifyPeer),
  }
}

function readPem(path: string, setting: string): Buffer {
  try {
    return readFileSync(path)
  } catch (thrown) {
    const reason = `${setting} = ${path || '(nothing)'} cannot be read`
    throw new Failure('config_invalid', { reason }, thrown)
  }
}

const sectionsOf = (sections: Boot['sections']): Map<string, Map<string, string>> =>
  new Map(sections.map(([name, values]) => [name, new Map(values)]))

/** IPC drops undefined members; a removal is a change without value. */
const withoutUndefined = (change: ConfigurationChange): Record<string, unknown> =>
  change.value === undefined ? { section: change.section, key: change.key } : { ...change }

export function pipeToPrimary() {
  return {
    send: (message: unknown) => void process.send?.(message),
    onMessage: (listener: (message: unknown) => void) => void process.on('message', listener),
    // A worker without its primary has nobody to answer to: the data is safe, the sockets go.
    onClose: (listener: () => void) =>
      void process.on('disconnect', () => {
        listener()
        process.exit(0)
      }),
  }
}

function reasonOf(thrown: unknown): string {
  if (!isFailure(thrown)) return String((thrown as Error)?.stack ?? thrown)
  const { reason, subject } = thrown.detail
  if (typeof reason === 'string') return reason
  return subject === undefined ? thrown.message : `${thrown.message}: ${subject}`
}
