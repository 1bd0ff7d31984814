/**
 * The application as a whole: what the HTTP layer asks, over the operations of the document database in the same
 * process. It keeps no state but the settings snapshot; the next request sees whatever any process has written.
 */
import type { Log } from '../base/log.ts'
import { applicationDatabase } from '../base/product-names.ts'
import { SETTINGS } from '../core/configuration/settings.ts'
import type { Notices } from '../core/notices/notices.ts'
import type { ServerOperations } from '../core/operations/operations.ts'
import type { ApplicationContext } from './application-context.ts'
import { DocumentDatabase } from './documents/document-database.ts'
import { install } from './install/install.ts'
import { SettingsStore } from './settings/settings-store.ts'

export interface ApplicationParts {
  readonly server: ServerOperations
  readonly notices: Notices
  readonly log: Log
  readonly clock: () => number
  /** The level of the application's API. */
  readonly version: string
}

export class Application {
  readonly server: ServerOperations
  readonly settings: SettingsStore
  /** People, places, reports, settings. */
  readonly data: DocumentDatabase
  readonly version: string
  readonly clock: () => number
  readonly #log: Log

  constructor({ server, notices, log, clock, version }: ApplicationParts) {
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

  /** One snapshot of the settings for a whole request. */
  async context(): Promise<ApplicationContext> {
    const { data, clock } = this
    return { data, clock, settings: await this.settings.current() }
  }

  /** Never fails: without its databases the application answers that it is not available, the server goes on. */
  async start(): Promise<void> {
    const { server, settings, version } = this
    try {
      await install({ server, settings, version })
    } catch (error) {
      this.#log.error('the application could not be installed', { error })
    }
  }

  /** For what went wrong inside while the request as a whole goes on. */
  logFailure(what: string, error: unknown): void {
    this.#log.error(what, { error })
  }

  close(): Promise<void> {
    return this.settings.close()
  }
}
