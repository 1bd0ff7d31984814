/**
 * How every failure looks on CouchDB's wire: status, `error`, `reason`. Complete by construction: a new failure code
 * does not compile until it has a row here. `reason` in a row stands in where the failure itself gives none.
 */
import { Failure, type FailureCode } from '../../base/errors.ts'
import type { Dialect } from '../../core/dialect/dialect.ts'

interface Row {
  readonly status: number
  readonly error: string
  readonly reason?: string
}

const ROWS = {
  request_invalid: { status: 400, error: 'bad_request' },
  json_invalid: { status: 400, error: 'bad_request', reason: 'invalid UTF-8 JSON' },
  query_invalid: { status: 400, error: 'query_parse_error' },
  url_invalid: { status: 400, error: 'bad_request', reason: 'invalid_url_encoding' },
  url_too_long: { status: 414, error: 'too_long', reason: 'the request uri is too long' },
  method_not_allowed: { status: 405, error: 'method_not_allowed' },
  content_type_unsupported: {
    status: 415,
    error: 'bad_content_type',
    reason: 'Content-Type must be application/json',
  },
  content_encoding_unsupported: { status: 415, error: 'bad_content_type' },
  not_acceptable: { status: 406, error: 'not_acceptable' },
  request_too_large: { status: 413, error: 'too_large', reason: 'the request entity is too large' },
  range_unsatisfiable: {
    status: 416,
    error: 'requested_range_not_satisfiable',
    reason: 'Requested range not satisfiable',
  },
  precondition_failed: { status: 412, error: 'precondition_failed' },
  route_missing: { status: 404, error: 'not_found', reason: 'missing' },
  unauthorized: {
    status: 401,
    error: 'unauthorized',
    reason: 'You are not authorized to access this db.',
  },
  forbidden: { status: 403, error: 'forbidden' },
  rate_limited: { status: 429, error: 'too_many_requests', reason: 'Too Many Requests' },
  database_missing: { status: 404, error: 'not_found' },
  database_exists: {
    status: 412,
    error: 'file_exists',
    reason: 'The database could not be created, the file already exists.',
  },
  database_name_invalid: { status: 400, error: 'illegal_database_name' },
  database_name_too_long: { status: 400, error: 'database_name_too_long' },
  document_missing: { status: 404, error: 'not_found', reason: 'missing' },
  document_conflict: { status: 409, error: 'conflict', reason: 'Document update conflict.' },
  document_invalid: { status: 400, error: 'doc_validation' },
  document_id_invalid: { status: 400, error: 'illegal_docid' },
  document_too_large: { status: 413, error: 'document_too_large', reason: '' },
  partition_invalid: { status: 400, error: 'illegal_partition' },
  partition_full: { status: 403, error: 'partition_overflow' },
  attachment_missing: { status: 404, error: 'not_found', reason: 'Document is missing attachment' },
  attachment_too_large: { status: 413, error: 'attachment_too_large' },
  attachment_stub_missing: { status: 412, error: 'missing_stub' },
  attachment_revision_missing: { status: 409, error: 'not_found', reason: 'missing_rev' },
  digest_mismatch: {
    status: 400,
    error: 'content_md5_mismatch',
    reason: 'Possible message corruption.',
  },
  design_document_invalid: { status: 400, error: 'invalid_design_doc' },
  compilation_failed: { status: 400, error: 'compilation_error' },
  form_invalid: { status: 400, error: 'bad_request' },
  record_invalid: { status: 400, error: 'bad_request' },
  function_missing: { status: 404, error: 'not_found' },
  function_failed: { status: 500, error: 'unknown_error' },
  sandbox_timeout: {
    status: 500,
    error: 'timeout',
    reason: 'A function of the design document ran too long.',
  },
  sandbox_crashed: { status: 500, error: 'os_process_error', reason: 'The function process died.' },
  sandbox_unavailable: { status: 503, error: 'service_unavailable' },
  mango_invalid: { status: 400, error: 'bad_request' },
  index_invalid: { status: 400, error: 'invalid_index' },
  index_unsaved: { status: 500, error: 'error_saving_ddoc' },
  index_list_invalid: { status: 500, error: 'invalid_list_index_params' },
  index_changed: { status: 503, error: 'service_unavailable' },
  config_value_missing: { status: 404, error: 'not_found', reason: 'unknown_config_value' },
  config_invalid: { status: 400, error: 'bad_request' },
  config_read_only: {
    status: 403,
    error: 'forbidden',
    reason: 'Config section blacklisted for modification over HTTP API.',
  },
  setup_invalid: { status: 500, error: 'error' },
  node_missing: { status: 404, error: 'not_found' },
  replication_failed: { status: 500, error: 'error' },
  store_exists: { status: 500, error: 'internal_server_error' },
  store_missing: { status: 404, error: 'not_found' },
  storage_full: { status: 507, error: 'insufficent_storage', reason: 'The disk is full.' },
  storage_unwritable: {
    status: 500,
    error: 'storage_error',
    reason: 'The data folder cannot be written.',
  },
  storage_locked: { status: 500, error: 'storage_error', reason: 'The data folder is in use.' },
  storage_newer: {
    status: 500,
    error: 'storage_error',
    reason: 'The data was written by a newer version.',
  },
  storage_corrupt: {
    status: 500,
    error: 'file_corruption',
    reason: 'Stored bytes fail their check.',
  },
  engine_busy: { status: 503, error: 'service_unavailable', reason: 'The storage engine is busy.' },
  engine_closed: { status: 503, error: 'service_unavailable', reason: 'The server is stopping.' },
  limit_exceeded: { status: 400, error: 'bad_request' },
  service_unavailable: { status: 503, error: 'service_unavailable' },
  timeout: {
    status: 500,
    error: 'timeout',
    reason: 'The request could not be processed in a reasonable amount of time.',
  },
  not_supported: { status: 501, error: 'not_implemented' },
  unexpected: { status: 500, error: 'internal_server_error' },
} as const satisfies Record<FailureCode, Row>

export interface PresentedFailure {
  readonly status: number
  readonly error: string
  /** Any JSON value: a validation function may throw an object. */
  readonly reason: unknown
}

/** @param jsonErrorIs400 the endpoint's own table says 400 for invalid JSON, whatever the dialect */
export function presentFailure(
  failure: Failure,
  dialect: Dialect,
  jsonErrorIs400 = false,
): PresentedFailure {
  const row: Row = ROWS[failure.code]
  const { detail, code } = failure
  const isMissingDatabase = code === 'database_missing' || code === 'store_missing'
  const fallback = isMissingDatabase
    ? dialect.missingDatabaseReason
    : (row.reason ?? failure.message)
  const is500 = code === 'json_invalid' && dialect.invalidJsonIs500 && !jsonErrorIs400
  const is404 = dialect.modArgumentMissing && detail.notIntegers === true
  return {
    status: is500 ? 500 : is404 ? 404 : row.status,
    error: detail.error ?? row.error,
    reason: detail.reason === undefined ? fallback : detail.reason,
  }
}

/** What went wrong that nobody foresaw: the client learns no more than that. */
export const unforeseen = (): Failure => new Failure('unexpected', { reason: 'See the log.' })
