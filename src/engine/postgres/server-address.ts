/**
 * `postgres://user:password@host:port/database?schema=…&connections=…` and what of it may be shown. Everything that `pg`
 * understands (`sslmode`, `host=/socket/folder` and so on) is passed on; three parameters are ours:
 *
 *   schema       where our tables live (gurney)
 *   connections  connections of one process at the most (4)
 *   listen       `off`: nodes do not use LISTEN and NOTIFY but look for changes themselves
 */
import { Failure } from '../../base/errors.ts'

export interface ServerAddress {
  /** With the password: never log it. */
  readonly connectionString: string
  /** Host, port and database, for messages. */
  readonly shown: string
  readonly schema: string
  readonly connectionsMax: number
  readonly mayListen: boolean
}

export const isServerAddress = (engine: string): boolean => /^postgres(ql)?:\/\//.test(engine)

const SCHEMA_DEFAULT = 'gurney'
const CONNECTIONS_DEFAULT = 4
const CONNECTIONS_MAX = 100

export function readServerAddress(address: string): ServerAddress {
  const url = parse(address)
  const schema = url.searchParams.get('schema') ?? SCHEMA_DEFAULT
  if (!/^[a-z_][a-z0-9_]{0,49}$/.test(schema)) {
    refuse('schema must be 1 to 50 of a-z, 0-9 and _, not beginning with a digit')
  }
  const connections = url.searchParams.get('connections') ?? String(CONNECTIONS_DEFAULT)
  const connectionsMax = /^\d{1,3}$/.test(connections) ? Number(connections) : Number.NaN
  if (!(connectionsMax >= 1 && connectionsMax <= CONNECTIONS_MAX)) {
    refuse(`connections must be a whole number from 1 to ${CONNECTIONS_MAX}`)
  }
  const host = url.searchParams.get('host') ?? (url.host === '' ? 'localhost' : url.host)
  const shown = `${host}${url.pathname}`
  const mayListen = url.searchParams.get('listen') !== 'off'
  for (const ours of ['schema', 'connections', 'listen']) url.searchParams.delete(ours)
  return { connectionString: url.href, shown, schema, connectionsMax, mayListen }
}

/** The address without its password, and without anything else that might be one. */
export function withoutSecrets(engine: string): string {
  if (!isServerAddress(engine)) return engine
  try {
    return `postgres://${readServerAddress(engine).shown}`
  } catch {
    return 'postgres://(unreadable)'
  }
}

function parse(address: string): URL {
  try {
    return new URL(address)
  } catch {
    // The address itself is not shown: there may be a password in it.
    return refuse('write it as postgres://user:password@host:5432/database')
  }
}

function refuse(reason: string): never {
  throw new Failure('config_invalid', {
    subject: 'engine',
    reason: `address of PostgreSQL: ${reason}`,
  })
}
