/**
 * The composition root of an HTTP worker: the only file that knows all parts and joins them. It makes catalog,
 * authentication, operations and APIs over an engine and a configuration, and hands back servers ready to listen.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from './base/log.ts'
import type { Metrics, MetricsSnapshot } from './base/metrics.ts'
import { HEADER_NAMES } from './base/product-names.ts'
import { Authenticator } from './core/auth/authenticate.ts'
import type { Configuration, ConfigurationWriter } from './core/configuration/configuration.ts'
import { SETTINGS } from './core/configuration/settings.ts'
import { Catalog } from './core/database/catalog.ts'
import { isReplicatorDatabase } from './core/database/database-name.ts'
import { UpdateLog } from './core/database/update-log.ts'
import { UpdateRecorder } from './core/database/update-recorder.ts'
import { DesignCache } from './core/design/design-cache.ts'
import type { IndexUpdates, LocalIndexUpdates } from './core/indexing/index-updates.ts'
import type { Notices } from './core/notices/notices.ts'
import { authSettingsOf } from './core/operations/auth-configuration.ts'
import type { DatabaseParts } from './core/operations/database-operations.ts'
import type { SystemFigures } from './core/operations/operations.ts'
import type { ReplicationOperations } from './core/operations/replication-operations.ts'
import { LocalServer } from './core/operations/server-operations.ts'
import { UserAccounts } from './core/operations/user-accounts.ts'
import { localUpdates, makeViewServices } from './core/operations/view-services.ts'
import type { ClientTls } from './core/replication/http-client.ts'
import { ReplicationService } from './core/replication/replication-service.ts'
import { ReplicatorDatabaseOperations } from './core/replication/replicator-database.ts'
import { DenoSandbox } from './core/sandbox/deno-sandbox.ts'
import { LazySandbox } from './core/sandbox/lazy-sandbox.ts'
import type { ActiveTasks, ListAllTasks } from './core/tasks/active-tasks.ts'
import type { Engine } from './engine/engine.ts'
import { CouchApi } from './http/couch/couch-api.ts'
import { type AccessEntry, accessLogger } from './http/kit/access-log.ts'
import { HttpServer, type TlsOptions } from './http/kit/http-server.ts'
import { answererOf, type Life } from './http/kit/lifecycle.ts'
import { REQUEST_DEFAULTS, RequestScope } from './http/kit/request.ts'
import { RESPOND_DEFAULTS } from './http/kit/respond.ts'
import { API_LEVEL, VERSION } from './version.ts'

export interface ServerParts {
  readonly nodeName: string
  readonly engine: Engine
  readonly configuration: Configuration
  readonly configurationWriter: ConfigurationWriter
  readonly notices: Notices
  readonly listTasks: ListAllTasks
  /** Long work of this process. */
  readonly tasks: ActiveTasks
  /** What this process counts with. */
  readonly metrics: Metrics
  /** The figures of all processes. */
  readonly gatherMetrics: () => Promise<MetricsSnapshot>
  readonly gatherSystem: () => Promise<SystemFigures>
  /** Absent: replications run in this process. */
  readonly replication?: ReplicationOperations
  /** How replications show and check certificates. */
  readonly replicationTls?: () => ClientTls
  /** Processes that bring indexes up to date; without them it is done here. */
  readonly indexUpdates?: IndexUpdates
  /** Processes that run functions of design documents, at the most. */
  readonly sandboxProcessesMax?: number
  readonly log: Log
  readonly clock: () => number
}

export interface Servers {
  readonly indexUpdates: IndexUpdates
  readonly replication: ReplicationOperations
  /** @param tls serves HTTPS with these certificates */
  readonly main: (tls?: TlsOptions) => HttpServer
  readonly nodeLocal: () => HttpServer
  /** Resolves when all that was promised to clients for later is done. */
  readonly settle: () => Promise<void>
  /** Ends the processes that run functions of design documents. */
  readonly close: () => Promise<void>
}

export function composeServers(parts: ServerParts): Servers {
  const { configuration, log, clock, notices } = parts
  const catalog = new Catalog(parts.engine, notices)
  const updates = new UpdateLog(parts.engine, notices)
  const recorder = new UpdateRecorder({ log: updates, notices, onFailure: logUnrecorded(log) })
  const authenticator = authenticatorOf(parts, catalog)
  const processesMax = parts.sandboxProcessesMax ?? SANDBOX_PROCESSES_MAX
  const sandbox = new LazySandbox(() => sandboxOf(parts, processesMax))
  let ownUpdates: LocalIndexUpdates | undefined
  const viewParts = {
    engine: parts.engine,
    databases: catalog,
    designs: new DesignCache(),
    configuration,
    sandbox: sandbox.current,
    log,
    cacheBytesMax: INDEX_CACHE_BYTES_MAX,
  }
  const views = makeViewServices(viewParts, services => {
    if (parts.indexUpdates !== undefined) return parts.indexUpdates
    const batchesMax = processesMax + 1
    ownUpdates = localUpdates(services, viewParts, { tasks: parts.tasks, clock, batchesMax })
    return ownUpdates
  })
  const operations: LocalServer = new LocalServer({
    nodeName: parts.nodeName,
    catalog,
    updates,
    configuration,
    configurationWriter: parts.configurationWriter,
    authenticator,
    authSettings: authSettingsOf(configuration),
    listTasks: parts.listTasks,
    tasks: parts.tasks,
    onBackgroundFailure: (name, thrown) => log.error(`${name} failed`, { error: String(thrown) }),
    gatherMetrics: parts.gatherMetrics,
    gatherSystem: parts.gatherSystem,
    views,
    sandbox: sandbox.current,
    listLimits: LIST_LIMITS,
    replication: () => replication,
    openSpecial,
    clock,
    wait: delay,
  })
  operations.keep(updates.reconcile(() => catalog.names()).catch(logUnrecorded(log)))
  const here = parts.replication === undefined ? replicationHere(operations, parts) : undefined
  const replication = (parts.replication ?? here) as ReplicationOperations
  here?.start()
  const server = (nodeLocal: boolean, tls?: TlsOptions) =>
    new HttpServer({
      life: lifeOf(new CouchApi(operations, { nodeLocal }), parts),
      scope: new RequestScope(requestOptions(configuration)),
      ...(tls === undefined ? {} : { tls }),
    })
  return {
    main: tls => server(false, tls),
    nodeLocal: () => server(true),
    replication,
    indexUpdates: views.updates,
    settle: async () => {
      await here?.close()
      await operations.settle()
      await ownUpdates?.close()
      await recorder.close()
    },
    close: () => sandbox.close(),
  }
}

const authenticatorOf = ({ configuration, clock, log }: ServerParts, catalog: Catalog) =>
  new Authenticator({
    accounts: new UserAccounts(configuration, catalog),
    clock,
    random: randomBytes,
    wait: delay,
    onThreshold: (peer, name) => log.warning('repeated failed logins', { peer, name }),
  })

const openSpecial = (opened: DatabaseParts): ReplicatorDatabaseOperations | undefined =>
  isReplicatorDatabase(opened.database.name) ? new ReplicatorDatabaseOperations(opened) : undefined

const replicationHere = (operations: LocalServer, parts: ServerParts): ReplicationService =>
  new ReplicationService({
    server: operations,
    notices: parts.notices,
    tasks: parts.tasks,
    tls:
      parts.replicationTls ??
      (() => ({ verify: parts.configuration.get(SETTINGS.replicationVerifyTls) })),
    warn: (message, facts) => parts.log.warning(message, facts),
    clock: parts.clock,
    wait: (ms, signal) => delay(ms, undefined, signal === undefined ? {} : { signal }),
  })

const logUnrecorded =
  (log: Log) =>
  (error: unknown): void =>
    log.warning('updates of databases could not be recorded', { error })

/** Blocks of indexes kept in memory. */
const INDEX_CACHE_BYTES_MAX = 64 * 1024 * 1024

/** Functions that requests wait for: few processes a worker, for there is a worker per core. */
const SANDBOX_PROCESSES_MAX = 3
/** Lists leave a process to the others. */
const LIST_LIMITS = { runningMax: SANDBOX_PROCESSES_MAX - 1, waitersMax: 100, waitMsMax: 30_000 }

const sandboxOf = ({ configuration, log }: ServerParts, processesMax: number): DenoSandbox =>
  new DenoSandbox({
    processesMax,
    timeoutMs: () => configuration.get(SETTINGS.functionTimeoutMs),
    warn: (message, facts) => log.warning(message, facts),
    onLog: ({ databaseKey, environmentKey, message }) =>
      log.info('a function says', { database: databaseKey, functions: environmentKey, message }),
  })

function lifeOf(api: CouchApi, { configuration, log, metrics }: ServerParts): Life {
  const answerer = answererOf(api)
  const logRequest = accessLogger(log)
  return {
    choose: () => answerer,
    respond: respondOptions(configuration),
    log,
    onDone: entry => {
      countRequest(metrics, entry)
      if (configuration.get(SETTINGS.logRequests)) logRequest(entry)
    },
  }
}

function countRequest(metrics: Metrics, { method, status, durationMs }: AccessEntry): void {
  metrics.add('couchdb.httpd.requests')
  metrics.add(`couchdb.httpd_request_methods.${METHODS.has(method) ? method : 'other'}`)
  metrics.add(`couchdb.httpd_status_codes.${status}`)
  metrics.record('couchdb.request_time', durationMs)
}

/** Others are counted together: names that clients invent must not fill memory. */
const METHODS = new Set(['COPY', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'])

/** Values that follow the configuration: read at each request, made anew only when something changed. */
function following<T extends object>(configuration: Configuration, make: () => T): T {
  const value = make()
  configuration.onChange(() => Object.assign(value, make()))
  return value
}

const requestOptions = (configuration: Configuration) =>
  following(configuration, () => ({
    ...REQUEST_DEFAULTS,
    url: {
      plusIsSpace: configuration.get(SETTINGS.decodePlus),
      uriBytesMax: configuration.get(SETTINGS.maxUriLength),
    },
    requestIdHeaders: HEADER_NAMES.requestId,
    bodyBytesMax: configuration.get(SETTINGS.maxRequestSize),
  }))

const respondOptions = (configuration: Configuration) =>
  following(configuration, () => ({
    ...RESPOND_DEFAULTS,
    serverHeader: configuration.get(SETTINGS.serverHeaderVersions)
      ? `Svc/${API_LEVEL} (Gurney/${VERSION})`
      : 'Svc',
    requestIdHeader: 'X-Svc-Request-ID',
    bodyTimeHeader: 'X-Svc-Body-Time',
    preferMinimal: new Set(
      configuration
        .get(SETTINGS.preferMinimal)
        .split(',')
        .map(name => name.trim().toLowerCase()),
    ),
  }))
