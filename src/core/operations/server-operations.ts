/**
 * The server's operations on the catalog: databases made, removed, listed and opened for a user. Opening is where
 * membership is decided; what needs more than membership asks again where it is done.
 */

import { Failure } from '../../base/errors.ts'
import { UuidSource } from '../../base/uuid-source.ts'
import type { AuthSettings } from '../auth/auth-settings.ts'
import type { Authenticator } from '../auth/authenticate.ts'
import { memberCheck, serverAdminCheck } from '../auth/authorize.ts'
import { DEFAULT_SECURITY_TEXT, parseSecurity } from '../auth/security-object.ts'
import { isServerAdmin, type User } from '../auth/user.ts'
import type { Configuration, ConfigurationWriter } from '../configuration/configuration.ts'
import { SETTINGS } from '../configuration/settings.ts'
import type { Catalog } from '../database/catalog.ts'
import type { Database } from '../database/database.ts'
import { isSystemDatabase } from '../database/database-name.ts'
import { DIALECTS, type Dialect } from '../dialect/dialect.ts'
import type { ListAllTasks, Task } from '../tasks/active-tasks.ts'
import { PlainDatabaseOperations, readInfo } from './database-operations.ts'
import { LocalNode } from './node-operations.ts'
import type {
  DatabaseInfo,
  DatabaseOperations,
  NewDatabase,
  NodeOperations,
  ServerOperations,
} from './operations.ts'

export interface ServerParts {
  readonly nodeName: string
  readonly catalog: Catalog
  readonly configuration: Configuration
  readonly configurationWriter: ConfigurationWriter
  readonly authenticator: Authenticator
  /** The settings of authentication, made anew when the configuration changes. */
  readonly authSettings: () => AuthSettings
  readonly listTasks: ListAllTasks
  readonly clock: () => number
}

export class LocalServer implements ServerOperations {
  readonly configuration: Configuration
  readonly authenticator: Authenticator
  readonly node: NodeOperations
  readonly #parts: ServerParts
  readonly #uuids = new UuidSource()
  readonly #kept = new Set<Promise<void>>()

  constructor(parts: ServerParts) {
    this.#parts = parts
    this.configuration = parts.configuration
    this.authenticator = parts.authenticator
    this.node = new LocalNode({
      name: parts.nodeName,
      configuration: parts.configuration,
      writer: parts.configurationWriter,
      dialect: () => this.dialect,
      databaseNames: () => this.databaseNames(),
      createDatabase: (user, name, options) => this.createDatabase(user, name, options),
    })
  }

  get dialect(): Dialect {
    return DIALECTS[this.configuration.get(SETTINGS.dialect)]
  }

  get authSettings(): AuthSettings {
    return this.#parts.authSettings()
  }

  databaseNames(): Promise<string[]> {
    return this.#parts.catalog.names()
  }

  async databaseInfo(name: string): Promise<DatabaseInfo | undefined> {
    const database = await this.#parts.catalog.find(name)
    return database && (await readInfo(database))
  }

  async createDatabase(user: User, name: string, options: NewDatabase): Promise<void> {
    serverAdminCheck(user)
    const partitioned = options.partitioned ?? false
    if (partitioned && isSystemDatabase(name)) {
      throw new Failure('request_invalid', { reason: 'Cannot partition a system database' })
    }
    await this.#parts.catalog.create(name, {
      createdMs: this.#parts.clock(),
      partitioned,
      q: options.q ?? this.configuration.get(SETTINGS.clusterQ),
      n: options.n ?? this.configuration.get(SETTINGS.clusterN),
      security: this.#firstSecurity(name),
    })
  }

  async deleteDatabase(user: User, name: string): Promise<void> {
    serverAdminCheck(user)
    await this.#parts.catalog.delete(name)
  }

  async open(user: User, name: string): Promise<DatabaseOperations> {
    const database = await this.#parts.catalog.open(name)
    const security = await securityOf(database)
    if (!isServerAdmin(user)) memberCheck(user, security, this.dialect)
    return new PlainDatabaseOperations({ database, user, security, server: this })
  }

  newIds(count: number): string[] {
    const algorithm = this.configuration.get(SETTINGS.uuidAlgorithm)
    const suffix = this.configuration.get(SETTINGS.uuidSuffix)
    return Array.from({ length: count }, () => this.#uuids.next(algorithm, suffix))
  }

  keep(work: Promise<unknown>): void {
    const ended = work.then(
      () => {},
      () => {},
    )
    this.#kept.add(ended)
    void ended.then(() => this.#kept.delete(ended))
  }

  async settle(): Promise<void> {
    while (this.#kept.size > 0) await Promise.all(this.#kept)
  }

  tasks(): Promise<Task[]> {
    return this.#parts.listTasks()
  }

  /** System databases are for admins from the start, whatever other databases are. */
  #firstSecurity(name: string): string {
    if (isSystemDatabase(name)) return DEFAULT_SECURITY_TEXT.admin_only
    const configured = this.configuration.get(SETTINGS.defaultSecurity)
    if (configured === 'everyone') return DEFAULT_SECURITY_TEXT.everyone
    if (configured !== '') return DEFAULT_SECURITY_TEXT.admin_only
    return DEFAULT_SECURITY_TEXT[this.dialect.newDatabaseSecurity]
  }
}

async function securityOf(database: Database) {
  return parseSecurity(await database.security())
}
