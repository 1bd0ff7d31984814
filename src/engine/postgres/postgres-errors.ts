/**
 * What can go wrong between the engine and its server, and what may be done about it. `kindOf` decides whether an
 * operation may be tried again; `failureOf` makes the one-line Failure for the rest. Neither ever shows a password.
 */
import { Failure, type FailureCode, isFailure } from '../../base/errors.ts'

/** The server said no. */
export class ServerError extends Error {
  override readonly name = 'ServerError'
  /** Five letters and digits, SQLSTATE. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** The connection is gone; what was under way may or may not have been done. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

/**
 * lost      the connection is of no use any more
 * conflict  the transaction was rolled back for the sake of another one
 * busy      the server cannot now, and could in a moment
 * final     trying again would not help
 */
export type ErrorKind = 'lost' | 'conflict' | 'busy' | 'final'

const KINDS: Readonly<Record<string, ErrorKind>> = {
  '40001': 'conflict', // serialization failure
  '40P01': 'conflict', // deadlock
  '40003': 'lost', // nobody knows whether it was done
  '55P03': 'busy', // waited too long for a lock
  '53300': 'busy', // too many connections
  '53400': 'busy',
  '25006': 'lost', // read-only: this is a standby now, the next connection may lead to the new primary
  '25P03': 'lost', // idle in transaction for too long
  '57P01': 'lost', // the server stops
  '57P02': 'lost', // the server crashed
  '57P03': 'lost', // the server starts
  '57P05': 'lost', // idle session
  '26000': 'lost', // a pooler between us gave us another session
  '0A000': 'lost', // a cached plan is out of date
}

const CONNECT_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'ENOENT',
])

export function kindOf(thrown: unknown): ErrorKind {
  if (thrown instanceof ConnectionLost) return 'lost'
  if (!(thrown instanceof Error) || isFailure(thrown)) return 'final'
  const code = codeOf(thrown)
  if (code === undefined)
    return /terminated|timeout expired/.test(thrown.message) ? 'lost' : 'final'
  if (CONNECT_CODES.has(code) || code.startsWith('08')) return 'lost'
  return KINDS[code] ?? 'final'
}

const FAILURES: Readonly<Record<string, FailureCode>> = {
  '53100': 'storage_full',
  '53200': 'engine_busy',
  '57014': 'engine_busy',
  '25006': 'storage_unwritable',
  '42501': 'storage_unwritable',
  '28000': 'config_invalid',
  '28P01': 'config_invalid',
  '3D000': 'config_invalid',
  XX001: 'storage_corrupt',
  XX002: 'storage_corrupt',
}

/** @param server where it is, without any secret */
export function failureOf(thrown: unknown, server: string): Failure {
  if (isFailure(thrown)) return thrown
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const code = codeOf(error)
  const known = code === undefined ? undefined : FAILURES[code]
  const reason = `PostgreSQL at ${server}: ${oneLine(error.message || code || error.name)}`
  if (known !== undefined) return new Failure(known, { subject: server, reason }, error)
  const kind = kindOf(error)
  if (kind === 'lost') {
    return new Failure('service_unavailable', { subject: server, reason }, error)
  }
  return new Failure(
    kind === 'final' ? 'unexpected' : 'engine_busy',
    { subject: server, reason },
    error,
  )
}

function codeOf(error: Error): string | undefined {
  if (error instanceof ServerError) return error.code
  if (error instanceof AggregateError) {
    return codeOf((error.errors[0] as Error | undefined) ?? new Error(''))
  }
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : undefined
}

const oneLine = (message: string): string => message.replace(/\s+/g, ' ').trim()
