/**
 * Makes the tables at the first start, whoever comes first, and makes a connection ready for use. What only some servers
 * know (storage parameters, planner settings) is asked for and not insisted on.
 */
import { Failure } from '../../base/errors.ts'
import { Connection } from './connection.ts'
import { ServerError } from './postgres-errors.ts'
import type { ServerAddress } from './server-address.ts'

const FORMAT = '1'
const SERVER_VERSION_MIN = 15
const ATTEMPTS_MAX = 20

/** Others were quicker: tables, their types, or the schema are there already. */
const MADE_BY_OTHERS = new Set(['42P06', '42P07', '42710', '23505', '40001', '40P01', 'XX000'])
const TABLE_MISSING = new Set(['42P01', '3F000'])

/**
 * Each statement is a walk along an index; the planner, which knows nothing of tables that grow by the minute, must not
 * think otherwise. Locks and silence are bounded; a commit that is answered is on disk.
 */
const SETTINGS: readonly (readonly [string, string])[] = [
  ['enable_seqscan', "'off'"],
  ['enable_bitmapscan', "'off'"],
  ['enable_hashjoin', "'off'"],
  ['enable_mergejoin', "'off'"],
  ['plan_cache_mode', "'force_generic_plan'"],
  ['jit', "'off'"],
  ['max_parallel_workers_per_gather', "'0'"],
  ['default_transaction_isolation', "'read committed'"],
  ['idle_in_transaction_session_timeout', "'10s'"],
  ['lock_timeout', "'20s'"],
  [
    'synchronous_commit',
    "CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END",
  ],
]

export async function openConnection({ connectionString }: ServerAddress): Promise<Connection> {
  const connection = await Connection.open(connectionString)
  const settings = SETTINGS.map(([name, value]) => `set_config('${name}', ${value}, false)`)
  if (await isDone(connection, `SELECT ${settings.join(', ')}`)) return connection
  // One of them is unknown here: the others, one by one.
  for (const setting of settings) await isDone(connection, `SELECT ${setting}`)
  return connection
}

export async function prepareSchema(address: ServerAddress): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const connection = await Connection.open(address.connectionString)
    try {
      await checkVersion(connection, address.shown)
      const format = await readFormat(connection, address.schema)
      if (format === FORMAT) return
      if (format !== undefined) throw newer(address.shown, format)
    } finally {
      connection.close()
    }
    await makeTables(address, attempt)
  }
}

async function makeTables(address: ServerAddress, attempt: number): Promise<void> {
  const connection = await Connection.open(address.connectionString)
  try {
    for (const words of tables(`"${address.schema}"`)) await run(connection, words)
    for (const words of preferences(`"${address.schema}"`)) await isDone(connection, words)
  } catch (thrown) {
    const isRace = thrown instanceof ServerError && MADE_BY_OTHERS.has(thrown.code)
    if (!isRace || attempt >= ATTEMPTS_MAX) throw thrown
    await new Promise(resolve => setTimeout(resolve, 20 * attempt))
  } finally {
    connection.close()
  }
}

const tables = (schema: string): string[] => [
  `CREATE SCHEMA IF NOT EXISTS ${schema}`,
  `CREATE TABLE IF NOT EXISTS ${schema}.stores (id text PRIMARY KEY, number bigint NOT NULL UNIQUE,
    version bigint NOT NULL, bytes bigint NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS ${schema}.rows (store bigint NOT NULL, key bytea NOT NULL,
    value bytea NOT NULL, PRIMARY KEY (store, key))`,
  `CREATE TABLE IF NOT EXISTS ${schema}.commits (connection bytea PRIMARY KEY, token bytea NOT NULL,
    time timestamptz NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS ${schema}.garbage (number bigint PRIMARY KEY)`,
  `CREATE TABLE IF NOT EXISTS ${schema}.meta (name text PRIMARY KEY, value text NOT NULL)`,
  `INSERT INTO ${schema}.meta (name, value) VALUES ('format', '${FORMAT}') ON CONFLICT (name) DO NOTHING`,
]

/**
 * Heads are rewritten all the time and in place; values are not compressed on the path of a request; dead rows of what is
 * rewritten often are cleared early.
 */
const preferences = (schema: string): string[] => [
  `ALTER TABLE ${schema}.stores SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000)`,
  `ALTER TABLE ${schema}.commits SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000)`,
  `ALTER TABLE ${schema}.rows SET (autovacuum_vacuum_scale_factor = 0.05)`,
  `ALTER TABLE ${schema}.rows ALTER COLUMN value SET STORAGE EXTERNAL`,
]

async function readFormat(connection: Connection, schema: string): Promise<string | undefined> {
  try {
    const rows = await run(connection, `SELECT value FROM "${schema}".meta WHERE name = 'format'`)
    return rows[0]?.[0]?.toString()
  } catch (thrown) {
    if (thrown instanceof ServerError && TABLE_MISSING.has(thrown.code)) return undefined
    throw thrown
  }
}

/** Servers that only speak the protocol say `PostgreSQL 13` or the like and mean something else: they are let in. */
async function checkVersion(connection: Connection, server: string): Promise<void> {
  const version = String((await run(connection, 'SELECT version()'))[0]?.[0] ?? '')
  const [, major] = /^PostgreSQL (\d+)(?!.*-YB-)/.exec(version) ?? []
  if (major === undefined || Number(major) >= SERVER_VERSION_MIN) return
  const reason = `PostgreSQL at ${server} is version ${major}; ${SERVER_VERSION_MIN} or later is needed`
  throw new Failure('config_invalid', { subject: server, reason })
}

async function run(connection: Connection, words: string) {
  const [result] = await connection.run([{ statement: { name: '', text: words }, parameters: [] }])
  return result?.rows ?? []
}

async function isDone(connection: Connection, words: string): Promise<boolean> {
  try {
    await run(connection, words)
    return true
  } catch (thrown) {
    if (thrown instanceof ServerError) return false
    throw thrown
  }
}

const newer = (server: string, format: string): Failure =>
  new Failure('storage_newer', {
    subject: server,
    reason: `the data in PostgreSQL at ${server} has format ${format}; this version knows ${FORMAT}: upgrade`,
  })
