/**
 * The command line and the environment, turned into one value. Flags win over the environment, both win over
 * ini files. Mistakes become one line that says what to do; nothing is started then.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { Failure } from './base/errors.ts'
import type { BuildsOptions } from './processes/builds-server.ts'
import type { MoveOptions } from './processes/move.ts'
import type { ServeOptions } from './processes/serve-options.ts'

export type Command =
  | { readonly name: 'serve'; readonly options: ServeOptions }
  | { readonly name: 'builds'; readonly options: BuildsOptions }
  | { readonly name: 'move'; readonly options: MoveOptions }
  | { readonly name: 'help' }
  | { readonly name: 'version' }

export const USAGE = `Usage: gurney serve [options]

  --port N              port of the server, 0 for any free one (GURNEY_PORT, 5984)
  --node-port N|off     port of the node-local interface (GURNEY_NODE_PORT, 5986)
  --bind ADDRESS        address to listen on (GURNEY_BIND, 127.0.0.1)
  --data FOLDER         where the data lives (GURNEY_DATA, ./data)
  --engine NAME         storage engine: embedded, memory, or the address of a PostgreSQL server that nodes
                        share, postgres://user:password@host/database (GURNEY_ENGINE, embedded)
  --node-name NAME      name of this node among them (GURNEY_NODE_NAME, gurney@HOST)
  --admin NAME:PASSWORD makes this server admin if there is none (GURNEY_ADMIN)
  --workers N           HTTP processes (GURNEY_WORKERS, one per core)
  --dialect NAME        spec or couchdb (GURNEY_DIALECT, spec)
  --builds-url URL      where upgrades are taken from (GURNEY_BUILDS_URL)
  --version, --help

       gurney move --from PLACE --to PLACE
                        copies a whole server between engines; a place is a data folder or the address
                        of a PostgreSQL server

       gurney builds FOLDER [--port N] [--bind ADDRESS]
                        offers the builds of a folder for upgrades (5990, 127.0.0.1)
`

export function readCommandLine(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Command {
  const { values, positionals } = parse(argv)
  if (values.help === true) return { name: 'help' }
  if (values.version === true) return { name: 'version' }
  const command = positionals[0] ?? 'serve'
  if (command === 'builds') return { name: 'builds', options: buildsOptions(positionals, values) }
  if (command === 'move' && positionals.length === 1) {
    return { name: 'move', options: moveOptions(values) }
  }
  if (command !== 'serve' || positionals.length > 1) {
    refuse(`unknown command "${positionals.join(' ')}"; try: gurney --help`)
  }
  const given = (flag: string): string | undefined => {
    const value =
      (values as Record<string, unknown>)[flag] ??
      env[`GURNEY_${flag.toUpperCase().replaceAll('-', '_')}`]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  return { name: 'serve', options: serveOptions(given) }
}

function parse(argv: readonly string[]) {
  const text = { type: 'string' } as const
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        port: text,
        'node-port': text,
        bind: text,
        data: text,
        engine: text,
        'node-name': text,
        from: text,
        to: text,
        admin: text,
        workers: text,
        dialect: text,
        'builds-url': text,
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
      },
    })
  } catch (thrown) {
    const first = (thrown as Error).message.split(/\. |\n/)[0]
    return refuse(`${first}; try: gurney --help`)
  }
}

function serveOptions(given: (flag: string) => string | undefined): ServeOptions {
  const admin = given('admin')
  return {
    dataFolder: given('data') ?? './data',
    engine: given('engine') ?? 'embedded',
    ...nodeName(given('node-name')),
    workerCount: integer('workers', given('workers') ?? String(availableParallelism()), 1, 256),
    ...(admin === undefined ? {} : { admin: parseAdmin(admin) }),
    overrides: overrides(given),
  }
}

function moveOptions({ from, to }: { readonly from?: string; readonly to?: string }): MoveOptions {
  if (from === undefined || to === undefined || from === '' || to === '') {
    return refuse('say from where and to where: gurney move --from PLACE --to PLACE')
  }
  if (from === to) refuse('--from and --to are the same')
  return { from, to }
}

function nodeName(name: string | undefined): { nodeName?: string } {
  if (name === undefined) return {}
  if (!/^[A-Za-z0-9_-]+@[A-Za-z0-9._:-]+$/.test(name))
    refuse('--node-name must look like NAME@HOST')
  return { nodeName: name }
}

function overrides(given: (flag: string) => string | undefined): [string, string, string][] {
  const found: [string, string, string][] = []
  const port = given('port')
  if (port !== undefined) {
    found.push(['chttpd', 'port', String(integer('port', port, 0, 65_535))])
  }
  const nodePort = given('node-port')
  if (nodePort !== undefined) {
    const checked = nodePort === 'off' ? nodePort : integer('node-port', nodePort, 0, 65_535)
    found.push(['httpd', 'port', String(checked)])
  }
  const bind = given('bind')
  if (bind !== undefined) found.push(['chttpd', 'bind_address', bind])
  const dialect = given('dialect')
  if (dialect !== undefined) {
    if (dialect !== 'spec' && dialect !== 'couchdb') refuse('--dialect must be spec or couchdb')
    found.push(['svc', 'dialect', dialect])
  }
  const buildsUrl = given('builds-url')
  if (buildsUrl !== undefined) {
    if (!/^https?:\/\/./.test(buildsUrl)) refuse('--builds-url must be an http or https address')
    found.push(['svc', 'builds_url', buildsUrl])
  }
  return found
}

const BUILDS_PORT = '5990'

function buildsOptions(
  [, folder, ...more]: readonly string[],
  values: { readonly port?: string; readonly bind?: string },
): BuildsOptions {
  if (folder === undefined || more.length > 0) refuse('say which folder: gurney builds FOLDER')
  const port = integer('port', values.port ?? BUILDS_PORT, 0, 65_535)
  return { folder, port, host: values.bind ?? '127.0.0.1' }
}

function integer(flag: string, text: string, least: number, most: number): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(number >= least && number <= most)) {
    refuse(`--${flag} must be a whole number from ${least} to ${most}, not "${text}"`)
  }
  return number
}

function parseAdmin(text: string): { name: string; password: string } {
  const colon = text.indexOf(':')
  if (colon <= 0 || colon === text.length - 1) refuse('--admin must look like NAME:PASSWORD')
  return { name: text.slice(0, colon), password: text.slice(colon + 1) }
}

function refuse(reason: string): never {
  throw new Failure('request_invalid', { reason })
}
