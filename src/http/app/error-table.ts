/**
 * How every failure looks on the application's wire: a status and one text. Complete by construction: a new failure code
 * does not compile until it has a row here. The text in a row stands in where the failure itself gives none; what went
 * wrong inside the server is never told.
 */
import type { Failure, FailureCode } from '../../base/errors.ts'

interface Row {
  readonly status: number
  readonly text?: string
  /** The text is told whatever the failure says. */
  readonly fixed?: true
}

const INSIDE: Row = { status: 500 }
const UNAVAILABLE: Row = { status: 503 }
const BAD: Row = { status: 400 }
const MISSING: Row = { status: 404, text: 'not_found' }
const TOO_LARGE: Row = { status: 413, text: 'Payload Too Large', fixed: true }

const ROWS = {
  request_invalid: BAD,
  // The product hands whatever cannot be parsed to its last error handler, and clients know it so.
  json_invalid: INSIDE,
  query_invalid: BAD,
  url_invalid: BAD,
  url_too_long: { status: 414 },
  method_not_allowed: { status: 405, text: 'method_not_allowed' },
  content_type_unsupported: { status: 400, text: 'Content-Type must be application/json' },
  content_encoding_unsupported: { status: 415 },
  not_acceptable: { status: 406 },
  request_too_large: TOO_LARGE,
  range_unsatisfiable: { status: 416 },
  precondition_failed: { status: 412 },
  route_missing: MISSING,
  // Why a login failed is nobody's business.
  unauthorized: { status: 401, text: 'unauthorized', fixed: true },
  forbidden: { status: 403, text: 'Insufficient privileges' },
  rate_limited: { status: 429, text: 'Too Many Requests' },
  database_missing: UNAVAILABLE,
  database_exists: { status: 412 },
  database_name_invalid: BAD,
  database_name_too_long: BAD,
  document_missing: MISSING,
  document_conflict: { status: 409, text: 'Document update conflict.' },
  document_invalid: BAD,
  document_id_invalid: BAD,
  document_too_large: TOO_LARGE,
  partition_invalid: BAD,
  partition_full: { status: 403 },
  attachment_missing: MISSING,
  attachment_too_large: TOO_LARGE,
  attachment_stub_missing: { status: 412 },
  attachment_revision_missing: { status: 409 },
  digest_mismatch: BAD,
  design_document_invalid: BAD,
  compilation_failed: BAD,
  form_invalid: BAD,
  // The specification wants it so.
  record_invalid: INSIDE,
  function_missing: INSIDE,
  function_failed: INSIDE,
  sandbox_timeout: INSIDE,
  sandbox_crashed: INSIDE,
  sandbox_unavailable: UNAVAILABLE,
  mango_invalid: BAD,
  index_invalid: BAD,
  index_changed: INSIDE,
  index_list_invalid: BAD,
  index_unsaved: INSIDE,
  config_value_missing: MISSING,
  config_invalid: BAD,
  config_read_only: { status: 403 },
  setup_invalid: INSIDE,
  node_missing: MISSING,
  replication_failed: INSIDE,
  store_exists: INSIDE,
  store_missing: UNAVAILABLE,
  storage_full: { status: 507 },
  storage_unwritable: INSIDE,
  storage_locked: INSIDE,
  storage_newer: INSIDE,
  storage_corrupt: INSIDE,
  engine_busy: UNAVAILABLE,
  engine_closed: UNAVAILABLE,
  limit_exceeded: BAD,
  service_unavailable: UNAVAILABLE,
  timeout: INSIDE,
  not_supported: { status: 501 },
  unexpected: INSIDE,
} as const satisfies Record<FailureCode, Row>

export interface PresentedFailure {
  readonly status: number
  /** A text, or an object with a `message` and what a translation of it needs. */
  readonly error: unknown
  readonly details?: unknown
  /** Beside an error word, where an endpoint answers as the database does. */
  readonly reason?: unknown
}

export function presentFailure({ code, detail, message }: Failure): PresentedFailure {
  const { status, text = message, fixed }: Row = ROWS[code]
  if (status >= 500) return { status, error: 'Server error', ...toldInside(code, detail.details) }
  if (fixed === true) return { status, error: text }
  const { error, reason, details } = detail
  const shown = error === undefined ? { error: reason ?? text } : { error, reason }
  return details === undefined ? { status, ...shown } : { status, ...shown, details }
}

/** Of what goes wrong inside nothing is told, but for records: their senders read what was missing. */
const toldInside = (code: FailureCode, details: unknown): Pick<PresentedFailure, 'details'> =>
  code === 'record_invalid' && details !== undefined ? { details } : {}

/** The JSON body. */
export const failureJson = ({ status, ...shown }: PresentedFailure): string =>
  JSON.stringify({ code: status, ...shown })

/** The same for those who want plain text. */
export function failureText({ error, details, reason }: PresentedFailure): string {
  const told = messageOf(error)
  const more = details ?? reason
  return more === undefined ? told : `${told}: ${JSON.stringify(more)}`
}

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  const { message } = (error ?? {}) as { message?: unknown }
  return typeof message === 'string' ? message : JSON.stringify(error)
}
