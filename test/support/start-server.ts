/** The whole server in this process over the memory engine, asked without a socket. */
import type { Application } from '../../src/app/application.ts'
import type { BackgroundWork } from '../../src/app/background-work.ts'
import { type Log, silentLog } from '../../src/base/log.ts'
import { Metrics } from '../../src/base/metrics.ts'
import { hashAdminPassword } from '../../src/core/auth/password.ts'
import { Configuration } from '../../src/core/configuration/configuration.ts'
import { Catalog } from '../../src/core/database/catalog.ts'
import { Notices } from '../../src/core/notices/notices.ts'
import { ActiveTasks } from '../../src/core/tasks/active-tasks.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { MemoryEngine } from '../../src/engine/memory/memory-engine.ts'
import { type Injected, inject } from '../../src/http/kit/inject.ts'
import { readReplicationTls } from '../../src/processes/replication-tls.ts'
import { systemFigures } from '../../src/processes/system-figures.ts'
import { composeServers } from '../../src/server.ts'

export interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Anything but text and bytes is sent as JSON. */
  readonly body?: unknown
  /** `name:password`; the admin unless said otherwise, `null` for nobody. */
  readonly user?: string | null
  readonly signal?: AbortSignal
  /** Asks the node-local interface. */
  readonly nodeLocal?: boolean
}

export interface TestServer {
  readonly engine: Engine
  readonly configuration: Configuration
  readonly notices: Notices
  /** The application's background work; not started. */
  background(): BackgroundWork | undefined
  /** Where it was asked for. */
  readonly application: Application | undefined
  ask(method: string, url: string, options?: AskOptions): Promise<Answer>
  /** Listens on a free port of this machine as well; the address, without a slash at the end. */
  listen(): Promise<string>
  /** Waits for what was promised for later, and ends what runs. */
  close(): Promise<void>
}

export interface Answer extends Injected {
  /** The body as JSON. */
  readonly json: unknown
}

export const ADMIN = 'admin:pass'

export async function startServer(
  options: {
    readonly dialect?: 'spec' | 'couchdb'
    readonly engine?: Engine
    /** Installs the application and serves its API. */
    readonly application?: boolean
    /** Section -> key -> value. */
    readonly settings?: Readonly<Record<string, Readonly<Record<string, string>>>>
    readonly log?: Log
    readonly clock?: () => number
  } = {},
): Promise<TestServer> {
  const engine = options.engine ?? new MemoryEngine()
  await Catalog.prepare(engine)
  const hash = await hashAdminPassword('pass', { form: 'pbkdf2', iterations: 10 }, 'salt')
  const sections = {
    ...options.settings,
    admins: { admin: hash, ...options.settings?.admins },
    svc: {
      dialect: options.dialect ?? 'spec',
      application: String(options.application ?? false),
      ...options.settings?.svc,
    },
    svc_httpd_auth: { iterations: '10', ...options.settings?.svc_httpd_auth },
  }
  const configuration = new Configuration(
    new Map(
      Object.entries(sections).map(([name, values]) => [name, new Map(Object.entries(values))]),
    ),
  )
  const notices = new Notices()
  const tasks = new ActiveTasks()
  const metrics = new Metrics()
  const servers = composeServers({
    nodeName: 'test@127.0.0.1',
    engine,
    configuration,
    configurationWriter: {
      change: async change => {
        const before = configuration.text(change.section, change.key)
        configuration.apply(change)
        return before
      },
      reload: async () => {},
    },
    notices,
    tasks,
    listTasks: async () => tasks.list(),
    metrics,
    gatherMetrics: async () => metrics.snapshot(),
    gatherSystem: async () => systemFigures(),
    replicationTls: () => readReplicationTls(configuration),
    log: options.log ?? silentLog,
    clock: options.clock ?? Date.now,
  })
  await servers.install()
  const main = servers.main()
  const nodeLocalServer = servers.nodeLocal()
  let isListening = false
  return {
    engine,
    configuration,
    notices,
    application: servers.application,
    background: () => servers.background(),
    async ask(method, url, { headers = {}, body, user = ADMIN, signal, nodeLocal = false } = {}) {
      const sent = bodyOf(body)
      const injected = await inject(nodeLocal ? nodeLocalServer : main, {
        method,
        url,
        headers: {
          Accept: 'application/json',
          ...authorization(user),
          ...sent.headers,
          ...headers,
        },
        ...(sent.body === undefined ? {} : { body: sent.body }),
        ...(signal === undefined ? {} : { signal }),
      })
      return Object.create(injected, { json: { get: () => JSON.parse(injected.text) } })
    },
    async listen() {
      const { port } = await main.listen(0, '127.0.0.1')
      isListening = true
      return `http://127.0.0.1:${port}`
    },
    async close() {
      await servers.settle()
      if (isListening) await main.drain(1000)
      await servers.close()
      await engine.close()
    },
  }
}

function bodyOf(body: unknown): { body?: string | Buffer; headers: Record<string, string> } {
  if (body === undefined) return { headers: {} }
  if (typeof body === 'string' || Buffer.isBuffer(body)) return { body, headers: {} }
  return { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }
}

const authorization = (user: string | null): Record<string, string> =>
  user === null ? {} : { Authorization: `Basic ${Buffer.from(user).toString('base64')}` }
