/**
 * The application as a whole: what the HTTP layer asks, over the operations of the document database in the same
 * process. What it keeps from one request to the next (settings, scopes of offline users) is checked against the store:
 * the next request sees whatever any process has written.
 */
import type { Log } from '../base/log.ts'
import { applicationDatabase } from '../base/product-names.ts'
import { SETTINGS } from '../core/configuration/settings.ts'
import type { Notices } from '../core/notices/notices.ts'
import type { ServerOperations } from '../core/operations/operations.ts'
import type { Sandbox } from '../core/sandbox/sandbox.ts'
import type { ApplicationContext } from './application-context.ts'
import { CredentialStore } from './credentials/credential-store.ts'
import { DocumentDatabase } from './documents/document-database.ts'
import { FormList } from './forms/form-list.ts'
import { FormTransformer } from './forms/transformer/form-transformer.ts'
import { install } from './install/install.ts'
import { Monitoring } from './monitoring/monitoring.ts'
import { ScopeCache } from './offline-users/scope-cache.ts'
import { OutboundQueue } from './outbound/outbound-queue.ts'
import { SettingsStore } from './settings/settings-store.ts'
import { Expressions } from './transitions/expressions.ts'
import { TransitionRunner } from './transitions/transition-runner.ts'
import { Upgrades } from './upgrades/upgrades.ts'
import { ConnectedUsers } from './users/connected-users.ts'

export interface ApplicationParts {
  readonly server: ServerOperations
  readonly notices: Notices
  readonly log: Log
  readonly clock: () => number
  /** Where expressions of the settings run. */
  readonly sandbox: () => Sandbox
  /** The level of the application's API. */
  readonly version: string
  /** When the server was started; it may be older than this process. */
  readonly startedMs: number
}

export class Application {
  readonly server: ServerOperations
  readonly settings: SettingsStore
  /** People, places, reports, settings. */
  readonly data: DocumentDatabase
  readonly version: string
  readonly clock: () => number
  /** What offline users see. */
  readonly scopes = new ScopeCache()
  readonly connectedUsers: ConnectedUsers
  readonly monitoring: Monitoring
  readonly upgrades: Upgrades
  readonly formTransformer: FormTransformer
  readonly formList: FormList
  /** JavaScript of the settings. */
  readonly expressions: Expressions
  readonly transitions: TransitionRunner
  readonly outbound: OutboundQueue
  readonly #log: Log

  constructor(parts: ApplicationParts) {
    const { server, notices, log, clock, version, startedMs, sandbox } = parts
    this.server = server
    this.version = version
    this.clock = clock
    this.#log = log
    this.data = new DocumentDatabase(server, applicationDatabase())
    this.settings = new SettingsStore({
      data: this.data,
      notices,
      onFailure: error => log.warning('settings could not be followed', { error }),
    })
    this.formTransformer = new FormTransformer({
      warn: (message, facts) => log.warning(message, facts),
    })
    this.formList = new FormList({
      data: this.data,
      transformer: this.formTransformer,
      onFailure: (what, facts) => log.warning(what, facts),
    })
    this.connectedUsers = new ConnectedUsers({
      logs: this.logs,
      clock,
      onFailure: error => log.warning('a visit could not be written down', { error }),
    })
    this.upgrades = new Upgrades({ server, data: this.data, logs: this.logs, clock, log })
    this.monitoring = new Monitoring({
      server,
      data: this.data,
      logs: this.logs,
      clock,
      startedMs,
      onFailure: (metric, error) => log.warning('a metric could not be read', { metric, error }),
    })
    this.expressions = new Expressions({
      sandbox,
      warn: (message, facts) => log.warning(message, facts),
    })
    this.transitions = this.#transitionRunner()
    this.outbound = new OutboundQueue({
      context: () => this.context(),
      sentinel: this.sentinel,
      infos: this.transitions.infos,
      credentials: this.credentials,
      expressions: this.expressions,
      warn: (message, facts) => log.warning(message, facts),
    })
  }

  /** Accounts. */
  get users(): DocumentDatabase {
    return new DocumentDatabase(
      this.server,
      this.server.configuration.get(SETTINGS.authenticationDb),
    )
  }

  /** Logs of imports, counts of what users replicate, who was connected. */
  get logs(): DocumentDatabase {
    return new DocumentDatabase(this.server, applicationDatabase('logs'))
  }

  /** What background work keeps. */
  get sentinel(): DocumentDatabase {
    return new DocumentDatabase(this.server, applicationDatabase('sentinel'))
  }

  /** Telemetry and feedback of all users. */
  get usersMeta(): DocumentDatabase {
    return new DocumentDatabase(this.server, applicationDatabase('users-meta'))
  }

  /** Secrets of other services. */
  get credentials(): CredentialStore {
    const vault = new DocumentDatabase(this.server, applicationDatabase('vault'))
    return new CredentialStore(vault, () => this.server.authSettings.secret)
  }

  /** One snapshot of the settings for a whole request. */
  async context(): Promise<ApplicationContext> {
    const { data, clock } = this
    const settings = await this.settings.current()
    return { data, clock, settings, storeRecords: records => this.transitions.storeNew(records) }
  }

  #transitionRunner(): TransitionRunner {
    const { server, data, sentinel, expressions, clock } = this
    return new TransitionRunner({
      server,
      data,
      sentinel,
      users: () => this.users,
      settings: () => this.settings.current(),
      expressions,
      clock,
      log: this.#log,
      queuePushes: pushes => this.outbound.add(pushes),
      shortCodeCount: SHORT_CODES_AT_ONCE,
    })
  }

  /** Never fails: without its databases the application answers that it is not available, the server goes on. */
  async start(): Promise<void> {
    const { server, settings, version } = this
    try {
      await install({ server, settings, version })
    } catch (error) {
      this.#log.error('the application could not be installed', { error })
    }
    this.upgrades.start()
  }

  /** For what went wrong inside while the request as a whole goes on. */
  logFailure(what: string, error: unknown): void {
    this.#log.error(what, { error })
  }

  /** For what somebody should look at. */
  logWarning(what: string, facts: Readonly<Record<string, unknown>>): void {
    this.#log.warning(what, facts)
  }

  async close(): Promise<void> {
    await this.formTransformer.close()
    await this.upgrades.close()
    await this.connectedUsers.settle()
    await this.settings.close()
  }
}

/** Each time costs a commit; those left over when the process ends are free again after an hour. */
const SHORT_CODES_AT_ONCE = 20
