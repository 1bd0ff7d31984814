/**
 * The primary process: takes the data folder, owns the configuration, starts one HTTP worker per core, replaces the dead
 * and passes notices on. It answers no requests itself, so nothing a client sends can hold it up.
 */
import { randomBytes } from 'node:crypto'
import { availableParallelism, hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Failure } from '../base/errors.ts'
import type { IniSections } from '../base/ini.ts'
import type { Log } from '../base/log.ts'
import { hashAdminPassword, parseAdminPassword, printSalt } from '../core/auth/password.ts'
import { Configuration, firstProblem } from '../core/configuration/configuration.ts'
import { SETTINGS } from '../core/configuration/settings.ts'
import { Catalog } from '../core/database/catalog.ts'
import { DIALECTS } from '../core/dialect/dialect.ts'
import { Notices } from '../core/notices/notices.ts'
import { authProblem } from '../core/operations/auth-configuration.ts'
import { isMoveUnfinished } from '../engine/copy-stores.ts'
import { isSharedByNodes, type OpenedEngine, openEngine } from '../engine/open-engine.ts'
import type { Boot, ListenPlan } from './boot.ts'
import { ClusterNode } from './cluster-node.ts'
import { ConfigFiles } from './config-files.ts'
import { ConfigurationOwner } from './configuration-owner.ts'
import { freePort } from './free-port.ts'
import { logOf } from './process-log.ts'
import type { ServeOptions } from './serve-options.ts'
import {
  type ConfigurationSource,
  FileConfiguration,
  SharedConfiguration,
} from './shared-configuration.ts'
import { WorkerTree } from './worker-tree.ts'

const DEFAULT_INI = fileURLToPath(new URL('../../etc/default.ini', import.meta.url))
const NODE_NAME = 'gurney@127.0.0.1'
const STARTED_MS = Date.now()

export async function runPrimary(options: ServeOptions): Promise<void> {
  const folder = resolve(options.dataFolder)
  const engine = await prepareStorage(options.engine, folder)
  const files = new ConfigFiles({ defaults: DEFAULT_INI, local: join(folder, 'local.ini') })
  const shared = engine && (await SharedConfiguration.open(engine, files))
  const source = shared ?? new FileConfiguration(files)
  const configuration = loadConfiguration(await source.load(), options)
  await settle(configuration, source, options)
  const log = logOf(configuration, {})
  warnAboutAdmins(configuration, log)
  const nodeName = nodeNameOf(options)

  const plan = await planOf(configuration)
  const cluster = engine && shared && new ClusterNode({ engine, shared, folder, nodeName, log })
  const owner = new ConfigurationOwner({
    configuration,
    source,
    overrides: options.overrides,
    hashAdmin: password => hashed(configuration, password),
    audience: {
      apply: change => tree.tellAll('config.apply', change),
      replace: () => tree.tellAll('config.replace', sectionsOf(configuration)),
    },
  })
  const tree: WorkerTree = new WorkerTree({
    workerCount: workersFor(options),
    hasReplicator: options.engine !== 'memory',
    hasBackground: options.engine !== 'memory' && configuration.get(SETTINGS.application),
    indexerCountMax: options.engine === 'memory' ? 0 : availableParallelism(),
    log,
    boot: () => bootOf(configuration, folder, { engine: options.engine, nodeName }, plan),
    configuration: owner,
    ...(cluster && { others: cluster }),
  })
  stopOnSignals(tree, cluster)
  await cluster?.start(tree, owner)
  const bound = await tree.start()
  const host = printHost(configuration.get(SETTINGS.bindAddress))
  const nodeLocal = bound.nodePort === undefined ? '' : `, node-local at port ${bound.nodePort}`
  const secure = bound.tlsPort === undefined ? '' : `, https at port ${bound.tlsPort}`
  process.stdout.write(`Gurney answers at http://${host}:${bound.port}/${nodeLocal}${secure}\n`)
}

/**
 * Takes the folder for this process tree and brings what a crash left behind into order. An engine that other nodes share
 * stays open.
 */
async function prepareStorage(kind: string, folder: string): Promise<OpenedEngine | undefined> {
  hideSecrets(kind)
  const engine = await openEngine({ kind, folder, exclusive: true })
  if (await isMoveUnfinished(engine)) {
    await engine.close()
    const reason = 'a move to this engine is not finished; run gurney move again'
    throw new Failure('storage_locked', { reason })
  }
  await Catalog.prepare(engine)
  if (engine.peers !== undefined) return engine
  await new Catalog(engine, new Notices()).sweep()
  await engine.close()
  return undefined
}

/** Lists of processes show what a process was started with, unless it says otherwise. */
function hideSecrets(engine: string): void {
  if (isSharedByNodes(engine)) process.title = 'gurney serve'
}

const nodeNameOf = ({ engine, nodeName }: ServeOptions): string =>
  nodeName ?? (isSharedByNodes(engine) ? `gurney@${hostname()}` : NODE_NAME)

/** Memory is not shared between processes: there one worker has it all. */
const workersFor = (options: ServeOptions): number =>
  options.engine === 'memory' ? 1 : options.workerCount

function loadConfiguration(sections: IniSections, options: ServeOptions): Configuration {
  const configuration = new Configuration(sections)
  for (const [section, key, value] of options.overrides) {
    configuration.apply({ section, key, value })
  }
  const problem = firstProblem(configuration) ?? authProblem(configuration)
  if (problem !== undefined) throw new Failure('config_invalid', { reason: problem })
  return configuration
}

/** What the first start makes once and keeps: identity, secret, the first admin; and no password stays plain. */
async function settle(
  configuration: Configuration,
  source: ConfigurationSource,
  options: ServeOptions,
): Promise<void> {
  const keep = async (section: string, key: string, value: string): Promise<void> => {
    // Another node may start at this very moment: all take the value of the first.
    const kept = await source.keepFirst(section, key, value)
    configuration.apply({ section, key, value: kept })
  }
  if (configuration.get(SETTINGS.serverUuid) === '') {
    await keep('couchdb', 'uuid', randomBytes(16).toString('hex'))
  }
  if (configuration.get(SETTINGS.authSecret) === '') {
    await keep('svc_httpd_auth', 'secret', randomBytes(32).toString('hex'))
  }
  const admins = configuration.section('admins')
  if (options.admin !== undefined && Object.keys(admins).length === 0) {
    await keep('admins', options.admin.name, await hashed(configuration, options.admin.password))
  }
  for (const [name, value] of Object.entries(admins)) {
    if (parseAdminPassword(value) === undefined) {
      const change = { section: 'admins', key: name, value: await hashed(configuration, value) }
      await source.save(change)
      configuration.apply(change)
    }
  }
}

function hashed(configuration: Configuration, password: string): Promise<string> {
  const form = DIALECTS[configuration.get(SETTINGS.dialect)].adminHashForm
  const iterations = configuration.get(SETTINGS.iterations)
  return hashAdminPassword(password, { form, iterations }, printSalt(randomBytes(16)))
}

function warnAboutAdmins(configuration: Configuration, log: Log): void {
  if (configuration.hasSection('admins')) return
  const address = configuration.get(SETTINGS.bindAddress)
  const isLocal = address === '127.0.0.1' || address === '::1' || address === 'localhost'
  const advice = 'make one with --admin NAME:PASSWORD'
  if (isLocal)
    log.warning(`there is no server admin, so everybody on this machine is one; ${advice}`)
  else {
    const text = `THERE IS NO SERVER ADMIN: everybody who can reach ${address} may read and change everything; ${advice}`
    log.write('alert', text)
  }
}

async function planOf(configuration: Configuration): Promise<ListenPlan> {
  const host = configuration.get(SETTINGS.bindAddress)
  const settled = async (port: number): Promise<number> => (port === 0 ? freePort(host) : port)
  const nodePort = configuration.get(SETTINGS.nodePort)
  const tlsPort = configuration.get(SETTINGS.tlsPort)
  return {
    host,
    port: await settled(configuration.get(SETTINGS.port)),
    nodePort: nodePort === 'off' ? undefined : await settled(Number(nodePort)),
    tlsPort: configuration.get(SETTINGS.tlsEnable) ? await settled(tlsPort) : undefined,
  }
}

const bootOf = (
  configuration: Configuration,
  dataFolder: string,
  { engine, nodeName }: { engine: string; nodeName: string },
  listen: ListenPlan,
): Boot => ({
  engine,
  dataFolder,
  nodeName,
  startedMs: STARTED_MS,
  sections: sectionsOf(configuration),
  listen,
})

const sectionsOf = (configuration: Configuration): Boot['sections'] =>
  Object.entries(configuration.sections()).map(([name, values]) => [name, Object.entries(values)])

const printHost = (address: string): string => (address.includes(':') ? `[${address}]` : address)

function stopOnSignals(tree: WorkerTree, cluster: ClusterNode | undefined): void {
  const stop = async (): Promise<void> => {
    await tree.stop()
    await cluster?.close()
    process.exit(0)
  }
  process.once('SIGTERM', () => void stop())
  process.once('SIGINT', () => void stop())
}
