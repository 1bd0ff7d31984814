/**
 * The server's operations on the catalog: databases made, removed, listed and opened for a user. Opening is where
 * membership is decided; what needs more than membership asks again where it is done.
 */

import { openCollator } from '../../base/collate/collator.ts'
import { Failure } from '../../base/errors.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import type { MetricsSnapshot } from '../../base/metrics.ts'
import { UuidSource } from '../../base/uuid-source.ts'
import type { AuthSettings } from '../auth/auth-settings.ts'
import type { Authenticator, PasswordUpgrade } from '../auth/authenticate.ts'
import { memberCheck, serverAdminCheck } from '../auth/authorize.ts'
import { HashQueue } from '../auth/hash-queue.ts'
import { fingerprint, readStoredPassword } from '../auth/password.ts'
import {
  DEFAULT_SECURITY_TEXT,
  OPEN_SECURITY,
  parseSecurity,
  type Security,
} from '../auth/security-object.ts'
import { isServerAdmin, type User } from '../auth/user.ts'
import { type UserBody, userIdsOf, withPasswordFields } from '../auth/users-database.ts'
import type { Configuration, ConfigurationWriter } from '../configuration/configuration.ts'
import { SETTINGS } from '../configuration/settings.ts'
import type { Catalog } from '../database/catalog.ts'
import type { Database } from '../database/database.ts'
import { isSystemDatabase } from '../database/database-name.ts'
import { loadDocuments } from '../database/load-documents.ts'
import type { UpdateLog } from '../database/update-log.ts'
import { ListGate, type ListGateOptions } from '../design/list-gate.ts'
import { DIALECTS, type Dialect } from '../dialect/dialect.ts'
import { decodeAttachments } from '../document/attachment.ts'
import { fromParts } from '../document/incoming-document.ts'
import type { Compare } from '../mango/json-value.ts'
import { viewCompare } from '../mango/view-compare.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { ActiveTasks, ListAllTasks, Task } from '../tasks/active-tasks.ts'
import { type DatabaseParts, PlainDatabaseOperations, readInfo } from './database-operations.ts'
import { openUpdates, type UpdatesFeed, type UpdatesQuery } from './database-updates.ts'
import type { FindSettings } from './find-documents.ts'
import { type Ahead, lookAhead } from './look-ahead.ts'
import { LocalNode } from './node-operations.ts'
import type {
  DatabaseInfo,
  DatabaseOperations,
  Members,
  NewDatabase,
  NodeOperations,
  ServerOperations,
  SystemFigures,
} from './operations.ts'
import { type AttachmentPolicy, attachmentPolicyOf } from './prepare-attachments.ts'
import type { ReplicationOperations } from './replication-operations.ts'
import { UsersDatabaseOperations } from './users-database-operations.ts'
import type { ViewServices } from './view-services.ts'
import type { FunctionParts } from './write-documents.ts'

export interface ServerParts {
  readonly nodeName: string
  /** Absent: the engine is this node's own. */
  readonly members?: () => Promise<Members>
  readonly catalog: Catalog
  readonly updates: UpdateLog
  readonly configuration: Configuration
  readonly configurationWriter: ConfigurationWriter
  readonly authenticator: Authenticator
  /** The settings of authentication, made anew when the configuration changes. */
  readonly authSettings: () => AuthSettings
  readonly listTasks: ListAllTasks
  /** Of this process. */
  readonly tasks: ActiveTasks
  readonly onBackgroundFailure: (name: string, thrown: unknown) => void
  readonly gatherMetrics: () => Promise<MetricsSnapshot>
  readonly gatherSystem: () => Promise<SystemFigures>
  /** Design documents, their indexes, and who keeps these up to date. */
  readonly views: ViewServices
  /** Where functions of design documents run. */
  readonly sandbox: () => Sandbox
  /** Of list functions, which keep their process at the pace of their clients. */
  readonly listLimits: ListGateOptions
  /** Where replications run. */
  readonly replication: () => ReplicationOperations
  /** Databases of a kind that the operations themselves do not know; undefined for all others. */
  readonly openSpecial: (parts: DatabaseParts) => DatabaseOperations | undefined
  readonly clock: () => number
  readonly wait: (ms: number) => Promise<void>
}

export class LocalServer implements ServerOperations {
  readonly configuration: Configuration
  readonly authenticator: Authenticator
  readonly node: NodeOperations
  readonly functions: FunctionParts
  readonly #parts: ServerParts
  readonly #attachmentPolicy: () => AttachmentPolicy
  readonly #hashQueue: HashQueue
  readonly #uuids = new UuidSource()
  readonly #kept = new Set<Promise<void>>()
  #compare: Compare | undefined
  /** Work that is asked to end when the server stops. */
  readonly #background = new Set<AbortController>()

  constructor(parts: ServerParts) {
    this.#parts = parts
    this.#hashQueue = new HashQueue({ clock: parts.clock, wait: parts.wait })
    this.configuration = parts.configuration
    const lists = new ListGate(parts.listLimits)
    this.functions = { designs: parts.views.designs, sandbox: parts.sandbox, lists }
    this.#attachmentPolicy = attachmentPolicyOf(parts.configuration)
    this.authenticator = parts.authenticator
    this.node = new LocalNode({
      name: parts.nodeName,
      ...(parts.members && { members: parts.members }),
      configuration: parts.configuration,
      writer: parts.configurationWriter,
      dialect: () => this.dialect,
      databaseNames: () => this.databaseNames(),
      readStorage: () => parts.catalog.find('_users'),
      createDatabase: (user, name, options) => this.createDatabase(user, name, options),
    })
  }

  get dialect(): Dialect {
    return DIALECTS[this.configuration.get(SETTINGS.dialect)]
  }

  get attachmentPolicy(): AttachmentPolicy {
    return this.#attachmentPolicy()
  }

  get partitionBytesMax(): number {
    return this.configuration.get(SETTINGS.maxPartitionSize)
  }

  get views(): ViewServices {
    return this.#parts.views
  }

  get clock(): () => number {
    return this.#parts.clock
  }

  get authSettings(): AuthSettings {
    return this.#parts.authSettings()
  }

  get replication(): ReplicationOperations {
    return this.#parts.replication()
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
      security: options.security ?? this.#firstSecurity(name),
    })
    await this.#parts.updates.record('created', [name])
  }

  async deleteDatabase(user: User, name: string): Promise<void> {
    serverAdminCheck(user)
    await this.#parts.catalog.delete(name)
    await this.#parts.updates.record('deleted', [name])
  }

  openUpdates(query: UpdatesQuery): Promise<UpdatesFeed> {
    return openUpdates(this.#parts.updates, query)
  }

  open(user: User, name: string, documentId?: string): MaybePromise<DatabaseOperations> {
    const { catalog } = this.#parts
    const last = catalog.lastFound(name)
    const found = catalog.open(name)
    if (last === undefined || !(found instanceof Promise)) {
      return after(found, database => this.#admit(database, user))
    }
    const ahead = lookAhead(last, { security: !isServerAdmin(user), documentId })
    return found.then(database =>
      this.#admit(database, user, database === last ? ahead : undefined),
    )
  }

  #admit(database: Database, user: User, ahead?: Ahead): MaybePromise<DatabaseOperations> {
    // Server admins may do everything, whatever the object says.
    if (isServerAdmin(user)) return this.#opened(database, user, OPEN_SECURITY, ahead)
    return after(ahead?.security ?? database.security(parseSecurity), security => {
      memberCheck(user, security)
      return this.#opened(database, user, security, ahead)
    })
  }

  #opened(
    database: Database,
    user: User,
    security: Security,
    ahead: Ahead | undefined,
  ): DatabaseOperations {
    const { document } = ahead ?? {}
    const parts = { database, user, security, server: this, ...(document && { document }) }
    if (database.name !== this.configuration.get(SETTINGS.authenticationDb)) {
      return this.#parts.openSpecial(parts) ?? new PlainDatabaseOperations(parts)
    }
    const { authSettings: settings } = this
    return new UsersDatabaseOperations({ ...parts, settings, hashQueue: this.#hashQueue })
  }

  newIds(count: number): string[] {
    const algorithm = this.configuration.get(SETTINGS.uuidAlgorithm)
    const suffix = this.configuration.get(SETTINGS.uuidSuffix)
    return Array.from({ length: count }, () => this.#uuids.next(algorithm, suffix))
  }

  /** Stores a stronger hash of a password that was just found right, unless the document changed meanwhile. */
  upgradePassword(upgrade: PasswordUpgrade): void {
    this.inBackground('renewal of a password hash', () => this.#storeUpgrade(upgrade))
  }

  async #storeUpgrade({ name, fields, replaces }: PasswordUpgrade): Promise<void> {
    const database = await this.#parts.catalog.open(
      this.configuration.get(SETTINGS.authenticationDb),
    )
    const documents = await loadDocuments(database, userIdsOf(name))
    const stored = documents.find(document => document?.deleted === false)
    if (stored === undefined) return
    const before = JSON.parse(stored.body.toString()) as UserBody
    const password = readStoredPassword(before)
    // A password that was changed meanwhile must not become the old one again.
    if (password === undefined || fingerprint(password) !== replaces) return
    const body = withPasswordFields(before, fields)
    const document = fromParts({ id: stored.id, rev: stored.winner, body })
    const attachments = decodeAttachments(stored.attachments).map(attachment => ({
      kind: 'kept' as const,
      name: attachment.name,
      stored: attachment,
    }))
    await database.write(
      [{ id: stored.id, document, attachments, mode: 'interactive' }],
      document.body.length,
    )
  }

  sandbox(): Sandbox {
    return this.#parts.sandbox()
  }

  compare(): Compare {
    this.#compare ??= viewCompare(openCollator())
    return this.#compare
  }

  get findSettings(): FindSettings {
    const { configuration } = this
    return {
      defaultLimit: configuration.get(SETTINGS.mangoDefaultLimit),
      scanWarningRatio: configuration.get(SETTINGS.mangoScanWarningRatio),
      textSearch: configuration.get(SETTINGS.textSearch),
    }
  }

  keep(work: Promise<unknown>): void {
    const ended = work.then(
      () => {},
      () => {},
    )
    this.#kept.add(ended)
    void ended.then(() => this.#kept.delete(ended))
  }

  inBackground(name: string, work: (signal: AbortSignal) => Promise<void>): void {
    const controller = new AbortController()
    this.#background.add(controller)
    const ended = work(controller.signal)
      .catch(thrown => this.#parts.onBackgroundFailure(name, thrown))
      .finally(() => this.#background.delete(controller))
    this.keep(ended)
  }

  get activeTasks(): ActiveTasks {
    return this.#parts.tasks
  }

  async settle(): Promise<void> {
    for (const controller of this.#background) controller.abort()
    while (this.#kept.size > 0) await Promise.all(this.#kept)
  }

  tasks(): Promise<Task[]> {
    return this.#parts.listTasks()
  }

  metrics(): Promise<MetricsSnapshot> {
    return this.#parts.gatherMetrics()
  }

  systemFigures(): Promise<SystemFigures> {
    return this.#parts.gatherSystem()
  }

  /** System databases are for admins from the start, whatever other databases are; accounts guard themselves. */
  #firstSecurity(name: string): string {
    if (
      name === this.configuration.get(SETTINGS.authenticationDb) &&
      this.dialect.usersOpenAtFirst
    ) {
      return DEFAULT_SECURITY_TEXT.everyone
    }
    if (isSystemDatabase(name)) return DEFAULT_SECURITY_TEXT.admin_only
    const configured = this.configuration.get(SETTINGS.defaultSecurity)
    if (configured === 'everyone') return DEFAULT_SECURITY_TEXT.everyone
    if (configured !== '') return DEFAULT_SECURITY_TEXT.admin_only
    return DEFAULT_SECURITY_TEXT[this.dialect.newDatabaseSecurity]
  }
}
