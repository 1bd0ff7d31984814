/**
 * The composition root of an HTTP worker: the only file that knows all parts and joins them. It makes catalog,
 * authentication, operations and APIs over an engine and a configuration, and hands back servers ready to listen.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Application } from './app/application.ts'
import { BackgroundWork } from './app/background-work.ts'
import { openForUser } from './app/offline-users/open-for-user.ts'
import type { Log } from './base/log.ts'
import type { Metrics, MetricsSnapshot } from './base/metrics.ts'
import { canonicalTarget, HEADER_NAMES } from './base/product-names.ts'
import { Authenticator } from './core/auth/authenticate.ts'
import type { Configuration, ConfigurationWriter } from './core/configuration/configuration.ts'
import { SETTINGS } from './core/configuration/settings.ts'
import { Catalog } from './core/database/catalog.ts'
import { isReplicatorDatabase } from './core/database/database-name.ts'
import { UpdateLog } from './core/database/update-log.ts'
import { UpdateRecorder } from './core/database/update-recorder.ts'
import { DesignCache } from './core/design/design-cache.ts'
import { buildThreadsOf } from './core/indexing/first-build/build-threads.ts'
import { IndexLeases } from './core/indexing/index-leases.ts'
import type { IndexUpdates, LocalIndexUpdates } from './core/indexing/index-updates.ts'
import type { Notices } from './core/notices/notices.ts'
import { authSettingsOf } from './core/operations/auth-configuration.ts'
import type { DatabaseParts } from './core/operations/database-operations.ts'
import type { Members, SystemFigures } from './core/operations/operations.ts'
import type { ReplicationOperations } from './core/operations/replication-operations.ts'
import { LocalServer } from './core/operations/server-operations.ts'
import { UserAccounts } from './core/operations/user-accounts.ts'
import { UserDatabases } from './core/operations/user-databases.ts'
import {
  localUpdates,
  makeViewServices,
  type ViewServices,
} from './core/operations/view-services.ts'
import type { ClientTls } from './core/replication/http-client.ts'
import { ReplicationService } from './core/replication/replication-service.ts'
import { ReplicatorDatabaseOperations } from './core/replication/replicator-database.ts'
import { DenoSandbox } from './core/sandbox/deno-sandbox.ts'
import { LazySandbox } from './core/sandbox/lazy-sandbox.ts'
import type { ActiveTasks, ListAllTasks } from './core/tasks/active-tasks.ts'
import type { Engine } from './engine/engine.ts'
import { AppApi } from './http/app/app-api.ts'
import { isApplicationTarget } from './http/app/app-target.ts'
import { METRICS_PREFIX } from './http/app/metrics.ts'
import { visitAnswerer } from './http/app/visits.ts'
import { CouchApi } from './http/couch/couch-api.ts'
import { countRequest } from './http/couch/count-request.ts'
import { corsFor } from './http/couch/cross-origin.ts'
import { credentialsOf } from './http/couch/session.ts'
import { accessLogger } from './http/kit/access-log.ts'
import { HttpServer, type TlsOptions } from './http/kit/http-server.ts'
import { type Answerer, answererOf, type Life } from './http/kit/lifecycle.ts'
import { type HttpRequest, REQUEST_DEFAULTS, RequestScope } from './http/kit/request.ts'
import { type ProcessMetrics, RequestMetrics } from './http/kit/request-metrics.ts'
import { RESPOND_DEFAULTS } from './http/kit/respond.ts'
import { TrustedProxies } from './http/kit/trusted-proxies.ts'
import { API_LEVEL, APPLICATION_LEVEL, VERSION } from './version.ts'

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
  /** What this process tells scrapers, and what every process does; its own where nobody says. */
  readonly requestMetrics?: RequestMetrics
  readonly gatherProcessMetrics?: () => Promise<readonly ProcessMetrics[]>
  /** The figures of all processes. */
  readonly gatherMetrics: () => Promise<MetricsSnapshot>
  readonly gatherSystem: () => Promise<SystemFigures>
  /** Absent: replications run in this process. */
  readonly replication?: ReplicationOperations
  /** What is followed on behalf of all nodes is followed from `startBackground` on. */
  readonly waitsWithBackground?: boolean
  /** The nodes that share the engine; without it, this one alone. */
  readonly members?: () => Promise<Members>
  /** How replications show and check certificates; without it, certificates that the system knows. */
  readonly replicationTls?: () => ClientTls
  /** Processes that bring indexes up to date; without them it is done here. */
  readonly indexUpdates?: IndexUpdates
  /** Of the processes that run functions of design documents. */
  readonly sandboxLimits?: SandboxLimits
  /** Told of every wrong password, for the other processes. */
  readonly onFailedLogin?: (peer: string, name: string) => void
  readonly log: Log
  readonly clock: () => number
  /** When the server was started; now, where nobody says. */
  readonly startedMs?: number
}

export interface SandboxLimits {
  readonly processesMax: number
  /** How long a call may wait for one that is free. */
  readonly waitMsMax: number
}

export interface Servers {
  /** Undefined where it is switched off. */
  readonly application: Application | undefined
  readonly indexUpdates: IndexUpdates
  readonly replication: ReplicationOperations
  /** @param tls serves HTTPS with these certificates */
  readonly main: (tls?: TlsOptions) => HttpServer
  readonly nodeLocal: () => HttpServer
  /** Makes the application's databases where it is switched on and they are missing; before anybody is served. */
  readonly install: () => Promise<void>
  /** The application's work in the background; made when it is first asked for. Undefined without the application. */
  readonly background: () => BackgroundWork | undefined
  /** Begins with replications and databases that documents ask for. */
  readonly startBackground: () => void
  /** A wrong password that another process was given. */
  readonly noteFailedLogin: (peer: string, name: string) => void
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
  const limits = parts.sandboxLimits ?? SANDBOX_LIMITS
  const sandbox = new LazySandbox(() => sandboxOf(parts, limits))
  const { views, closeUpdates } = viewsOf(parts, catalog, sandbox, limits)
  const operations: LocalServer = new LocalServer({
    nodeName: parts.nodeName,
    ...(parts.members && { members: parts.members }),
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
    openSpecial: opened => openSpecial(opened) ?? (application && openForUser(application, opened)),
    clock,
    wait: delay,
  })
  operations.keep(updates.reconcile(() => catalog.names()).catch(logUnrecorded(log)))
  const here = parts.replication === undefined ? replicationHere(operations, parts) : undefined
  const replication = (parts.replication ?? here) as ReplicationOperations
  const userDatabases = here && userDatabasesOf(operations, parts)
  const startBackground = (): void => {
    here?.start()
    userDatabases?.start()
  }
  if (parts.waitsWithBackground !== true) startBackground()
  const application = applicationOf(operations, parts, sandbox)
  let background: BackgroundWork | undefined
  return {
    application,
    ...httpFronts(parts, operations, application),
    replication,
    startBackground,
    indexUpdates: views.updates,
    noteFailedLogin: (peer, name) => authenticator.noteFailure(peer, name, operations.authSettings),
    install: async () => application?.start(),
    background: () => {
      background ??= application && new BackgroundWork(application, log)
      return background
    },
    settle: async () => {
      await background?.close()
      await application?.close()
      await userDatabases?.close()
      await here?.close()
      await operations.settle()
      await closeUpdates()
      await recorder.close()
    },
    close: () => sandbox.close(),
  }
}

/** Indexes, brought up to date here where no other process does it. */
function viewsOf(
  parts: ServerParts,
  catalog: Catalog,
  sandbox: LazySandbox,
  limits: SandboxLimits,
): { readonly views: ViewServices; readonly closeUpdates: () => Promise<void> } {
  const { configuration, log, clock } = parts
  let ownUpdates: LocalIndexUpdates | undefined
  const mustShare = parts.engine.supports.manyNodes && parts.indexUpdates === undefined
  const leases = mustShare ? new IndexLeases(parts.engine) : undefined
  const viewParts = {
    engine: leases?.engine ?? parts.engine,
    databases: catalog,
    designs: new DesignCache(),
    configuration,
    sandbox: sandbox.current,
    log,
    cacheBytesMax: INDEX_CACHE_BYTES_MAX,
    startThreads: parts.indexUpdates === undefined ? buildThreadsOf(log) : undefined,
  }
  const views = makeViewServices(viewParts, services => {
    if (parts.indexUpdates !== undefined) return parts.indexUpdates
    const batchesMax = limits.processesMax + 1
    const { tasks } = parts
    ownUpdates = localUpdates(services, viewParts, { tasks, clock, batchesMax, leases })
    return ownUpdates
  })
  return { views, closeUpdates: async () => ownUpdates?.close() }
}

/** What clients come to, with all that is counted there. */
function httpFronts(
  parts: ServerParts,
  operations: LocalServer,
  application: Application | undefined,
): Pick<Servers, 'main' | 'nodeLocal'> {
  const requestMetrics = parts.requestMetrics ?? new RequestMetrics(METRICS_PREFIX)
  const gather = parts.gatherProcessMetrics ?? (async () => [await requestMetrics.snapshot()])
  const counted = { ...parts, requestMetrics }
  return {
    main: tls => {
      const server = httpServer(counted, chooserOf(operations, application, gather), tls)
      requestMetrics.watchConnections(() => server.connectionCount())
      return server
    },
    nodeLocal: () => httpServer(counted, couchOnly(operations, true)),
  }
}

interface CountingParts extends ServerParts {
  readonly requestMetrics: RequestMetrics
}

const httpServer = (parts: CountingParts, choose: Life['choose'], tls?: TlsOptions): HttpServer =>
  new HttpServer({
    life: lifeOf(choose, parts),
    scope: new RequestScope(requestOptions(parts.configuration)),
    ...(tls === undefined ? {} : { tls }),
  })

/** Undefined where it is switched off. */
const applicationOf = (
  server: LocalServer,
  { configuration, notices, log, clock, startedMs = clock() }: ServerParts,
  sandbox: LazySandbox,
): Application | undefined =>
  configuration.get(SETTINGS.application)
    ? new Application({
        server,
        notices,
        log,
        clock,
        startedMs,
        sandbox: sandbox.current,
        version: APPLICATION_LEVEL,
      })
    : undefined

const authenticatorOf = (parts: ServerParts, catalog: Catalog) =>
  new Authenticator({
    accounts: new UserAccounts(parts.configuration, catalog),
    clock: parts.clock,
    random: randomBytes,
    wait: delay,
    onThreshold: (peer, name) => parts.log.warning('repeated failed logins', { peer, name }),
    ...(parts.onFailedLogin && { onFailure: parts.onFailedLogin }),
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

/** Where replications run: in one process of the tree. */
const userDatabasesOf = (server: LocalServer, { notices, log }: ServerParts): UserDatabases =>
  new UserDatabases({
    server,
    notices,
    warn: (message, facts) => log.warning(message, facts),
    wait: (ms, signal) => delay(ms, undefined, { signal }),
  })

const logUnrecorded =
  (log: Log) =>
  (error: unknown): void =>
    log.warning('updates of databases could not be recorded', { error })

/** Blocks of indexes kept in memory. */
const INDEX_CACHE_BYTES_MAX = 64 * 1024 * 1024

/** Functions that requests wait for: few processes a worker, for there is a worker per core. */
const SANDBOX_PROCESSES_MAX = 3
const SANDBOX_LIMITS: SandboxLimits = {
  processesMax: SANDBOX_PROCESSES_MAX,
  waitMsMax: 60_000,
}
/** Lists leave a process to the others. */
const LIST_LIMITS = { runningMax: SANDBOX_PROCESSES_MAX - 1, waitersMax: 100, waitMsMax: 30_000 }

const sandboxOf = ({ configuration, log }: ServerParts, limits: SandboxLimits): DenoSandbox =>
  new DenoSandbox({
    ...limits,
    timeoutMs: () => configuration.get(SETTINGS.functionTimeoutMs),
    warn: (message, facts) => log.warning(message, facts),
    onLog: ({ databaseKey, environmentKey, message }) =>
      log.info('a function says', { database: databaseKey, functions: environmentKey, message }),
  })

function couchOnly(operations: LocalServer, nodeLocal: boolean): Life['choose'] {
  const couch = answererOf(new CouchApi(operations, { nodeLocal }))
  return () => couch
}

/** Which API answers is told by the path alone; the application's other names are replaced first. */
function chooserOf(
  operations: LocalServer,
  application: Application | undefined,
  gatherProcessMetrics: () => Promise<readonly ProcessMetrics[]>,
): Life['choose'] {
  if (application === undefined) return couchOnly(operations, false)
  const couch = answererOf(new CouchApi(operations, { nodeLocal: false }))
  const { configuration } = operations
  const manners = {
    credentialsOf,
    corsFor: (request: HttpRequest) => corsFor(request, configuration),
    gatherProcessMetrics,
  }
  const app = answererOf(new AppApi(application, manners))
  return request => {
    const target = canonicalTarget(request.target)
    const isOurs = isApplicationTarget(target, request.method)
    const answerer: Answerer = visitAnswerer(application, couch, request) ?? (isOurs ? app : couch)
    if (target === request.target) return answerer
    return (renamed, log) => answerer(renamed.redirect({ target }), log)
  }
}

function lifeOf(
  choose: Life['choose'],
  { configuration, log, metrics, requestMetrics }: CountingParts,
): Life {
  const logRequest = accessLogger(log)
  return {
    choose,
    respond: respondOptions(configuration),
    log,
    onDone: entry => {
      countRequest(metrics, entry)
      requestMetrics.count(entry)
      if (configuration.get(SETTINGS.logRequests)) logRequest(entry)
    },
  }
}

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
    trustedProxies: new TrustedProxies(configuration.get(SETTINGS.trustedProxies)),
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
