/**
 * Settings of the section `replicator`, as part of the table in `settings.ts`, and the two kinds only they have: lists
 * written as Erlang terms for socket options, and the ways to log in by the names CouchDB gives them.
 */
import { flag, integer, type Setting, text } from './setting-kinds.ts'

export interface SocketOptions {
  readonly keepAlive: boolean
  readonly noDelay: boolean
}

/** A session's cookie, or the password with every request. */
export type LoginKind = 'session' | 'basic'

const PAIR = /^\{\s*(keepalive|nodelay)\s*,\s*(true|false)\s*\}\s*(?:,\s*(?=\{)|$)/

/** `[{keepalive, true}, {nodelay, false}]`; undefined for anything else. What is not named stays as in `others`. */
export function parseSocketOptions(
  given: string,
  others: SocketOptions,
): SocketOptions | undefined {
  const list = /^\s*\[\s*(.*?)\s*\]\s*\.?\s*$/s.exec(given)?.[1]
  if (list === undefined) return undefined
  let options = others
  for (let rest = list; rest !== ''; ) {
    const [whole, name, value] = PAIR.exec(rest) ?? []
    if (whole === undefined) return undefined
    const member = name === 'keepalive' ? 'keepAlive' : 'noDelay'
    options = { ...options, [member]: value === 'true' }
    rest = rest.slice(whole.length)
  }
  return options
}

function socketOptions(
  section: string,
  key: string,
  value: SocketOptions,
  about: string,
): Setting<SocketOptions> {
  const parse = (given: string) => parseSocketOptions(given, value)
  const defaultText = `[{keepalive, ${value.keepAlive}}, {nodelay, ${value.noDelay}}]`
  return Object.freeze({ section, key, default: value, about, parse, defaultText })
}

const PLUGINS: Readonly<Record<LoginKind, string>> = {
  session: 'couch_replicator_auth_session',
  basic: 'couch_replicator_auth_noop',
}

function replicationLogins(
  section: string,
  key: string,
  value: readonly LoginKind[],
  about: string,
): Setting<readonly LoginKind[]> {
  const parse = (given: string) => {
    const kinds = given.split(',').map(name => kindOf(name.trim()))
    return kinds.every(kind => kind !== undefined) ? kinds : undefined
  }
  const defaultText = value.map(kind => PLUGINS[kind]).join(',')
  return Object.freeze({ section, key, default: value, about, parse, defaultText })
}

const kindOf = (name: string): LoginKind | undefined =>
  (['session', 'basic'] as const).find(kind => PLUGINS[kind] === name)

export const REPLICATION_SETTINGS = {
  replicationJobsMax: integer(
    'replicator',
    'max_jobs',
    500,
    1,
    'Replications that run at the same time',
  ),
  replicationChurnMax: integer(
    'replicator',
    'max_churn',
    20,
    0,
    'Replications that make room for waiting ones at each interval',
  ),
  replicationTurnMs: integer(
    'replicator',
    'interval',
    60_000,
    100,
    'Milliseconds between turns of the replication scheduler',
  ),
  replicationJitterMs: integer(
    'replicator',
    'startup_jitter',
    5000,
    0,
    'Most milliseconds by which starts of replications of documents are spread; 10 for each job there is',
  ),
  replicationWorkers: integer(
    'replicator',
    'worker_processes',
    4,
    1,
    'Batches of one replication under way at once',
  ),
  replicationBatchSize: integer(
    'replicator',
    'worker_batch_size',
    500,
    1,
    'Changes in one batch of a replication',
  ),
  replicationConnections: integer(
    'replicator',
    'http_connections',
    20,
    1,
    'Connections of a replication to each of its ends',
  ),
  replicationTimeoutMs: integer(
    'replicator',
    'connection_timeout',
    30_000,
    1,
    'Milliseconds of silence after which a replication gives a connection up',
  ),
  replicationRetries: integer(
    'replicator',
    'retries_per_request',
    5,
    0,
    'How often a replication repeats a request that failed',
  ),
  replicationCheckpointMs: integer(
    'replicator',
    'checkpoint_interval',
    30_000,
    100,
    'Milliseconds between checkpoints of a replication',
  ),
  replicationUpdateDocs: flag(
    'replicator',
    'update_docs',
    false,
    'Write passing states (triggered, error) into replication documents too',
  ),
  replicationSockets: socketOptions(
    'replicator',
    'socket_options',
    { keepAlive: true, noDelay: true },
    'Options of connections: keepalive and nodelay, as [{keepalive, true}, {nodelay, true}]',
  ),
  replicationLogins: replicationLogins(
    'replicator',
    'auth_plugins',
    ['session', 'basic'],
    'How to log in to other servers: a session, Basic (noop), or what of both works first',
  ),
  replicationSessionSeconds: integer(
    'replicator',
    'session_refresh_interval_sec',
    550,
    1,
    'Seconds after which a session with another server is renewed, unless it ends earlier',
  ),
  replicationVerifyTls: flag(
    'replicator',
    'verify_ssl_certificates',
    true,
    'Replicate over https only with servers whose certificate is valid',
  ),
  replicationCaFile: text(
    'replicator',
    'ssl_trusted_certificates_file',
    '',
    'Certificates that make those of other servers valid (PEM); empty: those of the system',
  ),
  replicationCertFile: text(
    'replicator',
    'cert_file',
    '',
    'Own certificate for replications over https (PEM)',
  ),
  replicationKeyFile: text('replicator', 'key_file', '', 'Key of that certificate (PEM)'),
  replicationKeyPassword: text('replicator', 'password', '', 'Password of that key'),
} as const satisfies Record<string, Setting<unknown>>
