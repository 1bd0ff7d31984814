/**
 * `gurney builds FOLDER`: a builds server for tests and for places without a network. It is this server itself, in
 * memory, with one database that everybody may read: whatever asks a builds server (documents, attachments, the list of
 * releases, replication) finds what it knows. The folder is read once, at the start.
 */
import { randomBytes } from 'node:crypto'
import { Failure } from '../base/errors.ts'
import { silentLog } from '../base/log.ts'
import { Metrics } from '../base/metrics.ts'
import { hashAdminPassword } from '../core/auth/password.ts'
import { Configuration } from '../core/configuration/configuration.ts'
import { Catalog } from '../core/database/catalog.ts'
import { Notices } from '../core/notices/notices.ts'
import { ActiveTasks } from '../core/tasks/active-tasks.ts'
import { MemoryEngine } from '../engine/memory/memory-engine.ts'
import type { HttpServer } from '../http/kit/http-server.ts'
import { inject } from '../http/kit/inject.ts'
import { composeServers, type Servers } from '../server.ts'
import { readBuilds } from './builds-folder.ts'
import { systemFigures } from './system-figures.ts'

export interface BuildsOptions {
  readonly folder: string
  readonly port: number
  readonly host: string
}

export interface BuildsServer {
  /** Of the database, for the setting `builds_url`. */
  readonly url: string
  readonly buildCount: number
  close(): Promise<void>
}

const DATABASE = 'builds'
const DRAIN_MS = 1000

export async function runBuilds(options: BuildsOptions): Promise<void> {
  const server = await startBuilds(options)
  const stop = (): void => void server.close().then(() => process.exit(0))
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  process.stdout.write(`Gurney offers ${server.buildCount} builds at ${server.url}\n`)
}

export async function startBuilds({ folder, port, host }: BuildsOptions): Promise<BuildsServer> {
  const builds = readBuilds(folder)
  const password = randomBytes(16).toString('hex')
  const engine = new MemoryEngine()
  const servers = await compose(engine, password)
  const main = servers.main()
  const put = writer(main, password)
  await put(`/${DATABASE}`)
  await put(`/${DATABASE}/_security`, { admins: { names: [ADMIN] }, members: {} })
  await put(`/${DATABASE}/_design/builds`, DESIGN)
  for (const build of builds) await put(`/${DATABASE}/${encodeURIComponent(build._id)}`, build)
  const bound = await main.listen(port, host)
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}/${DATABASE}`,
    buildCount: builds.length,
    async close() {
      await main.drain(DRAIN_MS)
      await servers.settle()
      await servers.close()
      await engine.close()
    },
  }
}

const ADMIN = 'builds'

/** Releases, betas and branches, as pages that offer upgrades list them; and nobody writes but this process. */
const DESIGN = {
  language: 'javascript',
  views: {
    releases: {
      map: `function (doc) {
  var info = doc.build_info;
  if (!info || !info.version) return;
  var match = /^(\\d+)\\.(\\d+)\\.(\\d+)(?:-(?:beta|rc)[-.]?(\\d+))?$/.exec(info.version);
  var kind = !match ? 'branch' : match[4] ? 'beta' : 'release';
  var rest = match
    ? [Number(match[1]), Number(match[2]), Number(match[3])].concat(match[4] ? [Number(match[4])] : [])
    : [info.time || null, info.version];
  emit([kind, info.namespace, info.application].concat(rest), info);
}`,
    },
  },
  validate_doc_update: `function (newDoc, oldDoc, userCtx) {
  if (userCtx.roles.indexOf('_admin') < 0) throw { forbidden: 'Builds are read only.' };
}`,
}

async function compose(engine: MemoryEngine, password: string): Promise<Servers> {
  await Catalog.prepare(engine)
  const hash = await hashAdminPassword(password, { form: 'pbkdf2', iterations: 1 }, 'builds')
  const configuration = new Configuration(
    new Map([
      ['admins', new Map([[ADMIN, hash]])],
      ['svc', new Map([['application', 'false']])],
      ['log', new Map([['requests', 'false']])],
    ]),
  )
  const tasks = new ActiveTasks()
  const metrics = new Metrics()
  const refuse = async (): Promise<never> => {
    throw new Failure('config_read_only')
  }
  return composeServers({
    nodeName: 'builds@127.0.0.1',
    engine,
    configuration,
    configurationWriter: { change: refuse, reload: refuse },
    notices: new Notices(),
    tasks,
    listTasks: async () => tasks.list(),
    metrics,
    gatherMetrics: async () => metrics.snapshot(),
    gatherSystem: async () => systemFigures(),
    log: silentLog,
    clock: Date.now,
  })
}

/** Writes as the admin; fails with whatever the server says. */
function writer(main: HttpServer, password: string) {
  const login = Buffer.from(`${ADMIN}:${password}`).toString('base64')
  const headers = { Authorization: `Basic ${login}`, 'Content-Type': 'application/json' }
  return async (url: string, body: unknown = {}): Promise<void> => {
    const text = JSON.stringify(body)
    const { status, text: answer } = await inject(main, { method: 'PUT', url, headers, body: text })
    if (status >= 400) throw new Failure('request_invalid', { reason: `${url}: ${answer.trim()}` })
  }
}
