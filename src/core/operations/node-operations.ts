/**
 * This node: its name, changes of its configuration, and cluster setup. Nodes that share an engine are a cluster from
 * their first start on, without being joined; a node on an engine of its own stays alone. Passwords of admins are hashed
 * here, before they reach any file or other process.
 */
import { randomBytes } from 'node:crypto'
import { Failure } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { canonicalSection } from '../../base/product-names.ts'
import { hashAdminPassword, parseAdminPassword, printSalt } from '../auth/password.ts'
import type { User } from '../auth/user.ts'
import {
  type Configuration,
  type ConfigurationChange,
  type ConfigurationWriter,
  checkChange,
} from '../configuration/configuration.ts'
import { SETTINGS } from '../configuration/settings.ts'
import type { Dialect } from '../dialect/dialect.ts'
import { authProblem } from './auth-configuration.ts'
import type {
  ClusterState,
  ConfigEdit,
  Members,
  NewDatabase,
  NodeOperations,
} from './operations.ts'

/** Sections that decide which code runs: not for HTTP. */
const READ_ONLY_SECTIONS = new Set([
  'daemons',
  'external',
  'httpd_design_handlers',
  'httpd_db_handlers',
  'httpd_global_handlers',
  'native_query_servers',
  'os_daemons',
  'query_servers',
  'feature_flags',
])

export interface NodeParts {
  readonly name: string
  /** Absent: the engine is this node's own. */
  readonly members?: () => Promise<Members>
  readonly configuration: Configuration
  readonly writer: ConfigurationWriter
  readonly dialect: () => Dialect
  readonly databaseNames: () => Promise<string[]>
  /** Reads something small. */
  readonly readStorage: () => MaybePromise<unknown>
  readonly createDatabase: (user: User, name: string, options: NewDatabase) => Promise<void>
}

export class LocalNode implements NodeOperations {
  readonly name: string
  readonly #parts: NodeParts

  constructor(parts: NodeParts) {
    this.name = parts.name
    this.#parts = parts
  }

  async members(): Promise<Members> {
    const alone = { known: [this.name], alive: [this.name] }
    return (await this.#parts.members?.()) ?? alone
  }

  checkStorage(): MaybePromise<void> {
    const answer = this.#parts.readStorage()
    return answer instanceof Promise ? inTime(answer) : undefined
  }

  async changeConfig(edit: ConfigEdit): Promise<string | undefined> {
    const { section, key, persist } = edit
    if (READ_ONLY_SECTIONS.has(section)) throw new Failure('config_read_only', { subject: section })
    const value = edit.value?.trim()
    checkChange({ section, key, value })
    this.#checkAuth({ section, key, value })
    const stored =
      section === 'admins' && value !== undefined ? await this.#hashed(value, edit.raw) : value
    const { writer } = this.#parts
    return await writer.change(
      { section: canonicalSection(section), key, value: stored },
      { persist },
    )
  }

  /** A value that authentication cannot read would shut everybody out, even those who could repair it. */
  #checkAuth(change: ConfigurationChange): void {
    const candidate = this.#parts.configuration.copy()
    candidate.apply(change)
    const problem = authProblem(candidate)
    if (problem !== undefined) throw new Failure('config_invalid', { reason: problem })
  }

  reloadConfig(): Promise<void> {
    return this.#parts.writer.reload()
  }

  async clusterState(ensured: readonly string[]): Promise<ClusterState> {
    const { configuration } = this.#parts
    const hasAdmin = Object.keys(configuration.section('admins')).length > 0
    const names = new Set(await this.#parts.databaseNames())
    const hasDatabases = ensured.every(name => names.has(name))
    if (this.#parts.members !== undefined) {
      if (!hasAdmin) return 'cluster_disabled'
      return hasDatabases ? 'cluster_finished' : 'cluster_enabled'
    }
    if (configuration.get(SETTINGS.clusterN) === 1) {
      return hasAdmin && hasDatabases ? 'single_node_enabled' : 'single_node_disabled'
    }
    if (isLoopback(configuration.get(SETTINGS.bindAddress)) || !hasAdmin) return 'cluster_disabled'
    return hasDatabases ? 'cluster_finished' : 'cluster_enabled'
  }

  async setUpCluster(user: User, request: Readonly<Record<string, unknown>>): Promise<void> {
    const ensured = readNames(request.ensure_dbs_exist) ?? this.#parts.dialect().systemDatabases
    switch (request.action) {
      case 'enable_single_node':
        await this.#refuseWhenClustered(ensured)
        await this.#enable(request, {
          n: 1,
          bindAddress: readText(request.bind_address) ?? '0.0.0.0',
        })
        return this.#ensureDatabases(user, ensured)
      case 'enable_cluster':
        await this.#refuseWhenClustered(ensured)
        return this.#enableCluster(request)
      case 'add_node':
        return this.#addNode(request, ensured)
      case 'finish_cluster':
        if ((await this.clusterState(ensured)) === 'cluster_finished') {
          refuse('Cluster is already finished')
        }
        return this.#ensureDatabases(user, ensured)
      default:
        return refuse("Invalid Action'")
    }
  }

  async #enableCluster(request: Readonly<Record<string, unknown>>): Promise<void> {
    if (request.remote_node !== undefined && this.#parts.members === undefined) refuse(ONE_NODE)
    const bindAddress = readText(request.bind_address)
    if (bindAddress === undefined || isLoopback(bindAddress)) {
      fail('Cluster setup requires a remote bind_address (not 127.0.0.1 nor ::1)')
    }
    const count = Number(request.node_count)
    if (!Number.isInteger(count) || count < 1) {
      fail('Cluster setup requires node_count to be configured')
    }
    const hasAdmin = Object.keys(this.#parts.configuration.section('admins')).length > 0
    if (!hasAdmin && readText(request.username) === undefined) {
      fail('Cluster setup requires admin account to be configured')
    }
    await this.#enable(request, { n: Math.min(count, 3), bindAddress })
  }

  /** Nobody can be added who is not there already; being there is being added. */
  async #addNode(
    request: Readonly<Record<string, unknown>>,
    ensured: readonly string[],
  ): Promise<void> {
    const state = await this.clusterState(ensured)
    if (state !== 'cluster_enabled' && state !== 'cluster_finished')
      refuse('Cluster is not enabled.')
    if (this.#parts.members === undefined) refuse(`Add node failed. ${ONE_NODE}`)
    const host = readText(request.host)
    const { known } = await this.members()
    if (host === undefined || known.some(name => name === host || name.endsWith(`@${host}`))) return
    refuse(
      `Add node failed. No node ${host} uses this engine: start one there with the same --engine.`,
    )
  }

  async #refuseWhenClustered(ensured: readonly string[]): Promise<void> {
    const state = await this.clusterState(ensured)
    if (state === 'cluster_enabled') refuse('Cluster is already enabled')
    if (state === 'cluster_finished') refuse('Cluster is already finished')
  }

  /** Addresses and ports count from the next start on; everything else at once. */
  async #enable(
    request: Readonly<Record<string, unknown>>,
    { n, bindAddress }: { n: number; bindAddress: string },
  ): Promise<void> {
    const name = readText(request.username)
    const password = readText(request.password)
    const set = (section: string, key: string, value: string) =>
      this.changeConfig({ section, key, value, persist: true, raw: false })
    if (name !== undefined && password !== undefined) await set('admins', name, password)
    await set('chttpd', 'bind_address', bindAddress)
    await set('cluster', 'n', String(n))
    if (request.port !== undefined) await set('chttpd', 'port', String(request.port))
  }

  async #ensureDatabases(user: User, names: readonly string[]): Promise<void> {
    const present = new Set(await this.#parts.databaseNames())
    for (const name of names) {
      if (!present.has(name)) await this.#parts.createDatabase(user, name, {})
    }
  }

  async #hashed(value: string, raw: boolean): Promise<string> {
    const dialect = this.#parts.dialect()
    if (raw && dialect.rawAdminPasswords) return value
    if (parseAdminPassword(value) !== undefined) return value
    const iterations = this.#parts.configuration.get(SETTINGS.iterations)
    const settings = { form: dialect.adminHashForm, iterations }
    return await hashAdminPassword(value, settings, printSalt(randomBytes(16)))
  }
}

/** Health checks do not wait for long. */
const STORAGE_ANSWER_MS = 2000

const ONE_NODE = 'This engine holds one node; nodes that share a PostgreSQL engine need no joining.'

const isLoopback = (address: string): boolean => address === '127.0.0.1' || address === '::1'

const readText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

function readNames(value: unknown): string[] | undefined {
  if (value === undefined) return undefined
  if (Array.isArray(value) && value.every(each => typeof each === 'string')) return value
  return refuse('`ensure_dbs_exist` must be an array of database names.')
}

function refuse(reason: string): never {
  throw new Failure('request_invalid', { reason })
}

/** What CouchDB answers with a 500 and the word `error`. */
function fail(reason: string): never {
  throw new Failure('setup_invalid', { reason })
}

async function inTime(answer: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const reason = 'The storage does not answer.'
    const giveUp = () => reject(new Failure('service_unavailable', { reason }))
    timer = setTimeout(giveUp, STORAGE_ANSWER_MS)
  })
  try {
    await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
