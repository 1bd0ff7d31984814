/**
 * The one way anything below `http/` says that it could not do what was asked.
 *
 * A Failure has a code from a closed list, a constant message for logs, and the facts of the case in
 * `detail`. No HTTP status lives here: `http/couch/error-table.ts` and `http/app/error-table.ts` say how
 * each code looks on their wire, and do not compile while a code is missing.
 * Our own mistakes are not Failures: they are `assert` failures and end as a logged 500.
 */
export class Failure extends Error {
  readonly code: FailureCode
  readonly detail: FailureDetail

  constructor(code: FailureCode, detail: FailureDetail = {}, cause?: unknown) {
    super(FAILURES[code], cause === undefined ? undefined : { cause })
    this.name = 'Failure'
    this.code = code
    this.detail = detail
  }
}

export interface FailureDetail {
  /** The text a client reads, where the code alone does not say enough. May be any JSON value. */
  readonly reason?: unknown
  /** Overrides the error word on the wire where a code covers several (validation functions, sandbox). */
  readonly error?: string
  /** What the failure is about: a document id, a database name, a file. */
  readonly subject?: string
  readonly [fact: string]: unknown
}

export const isFailure = (thrown: unknown, code?: FailureCode): thrown is Failure =>
  thrown instanceof Failure && (code === undefined || thrown.code === code)

/** Every code with its constant message. `docs/errors.md` lists the same codes; a test compares both. */
export const FAILURES = {
  // requests
  request_invalid: 'The request is malformed',
  json_invalid: 'The request body is not valid JSON',
  query_invalid: 'A query parameter is not acceptable',
  url_invalid: 'The URL is malformed',
  url_too_long: 'The URL is longer than the configured limit',
  method_not_allowed: 'The URL does not support this method',
  content_type_unsupported: 'The content type is not supported here',
  content_encoding_unsupported: 'The content encoding is not supported',
  not_acceptable: 'None of the accepted content types can be produced',
  request_too_large: 'The request body is larger than the configured limit',
  range_unsatisfiable: 'The requested range lies outside the content',
  precondition_failed: 'The content is not the one the client expects',
  route_missing: 'Nothing lives at this path',

  // who may
  unauthorized: 'The caller is not authorized',
  forbidden: 'The caller is not allowed to do this',
  rate_limited: 'The caller failed too often and has to wait',

  // databases
  database_missing: 'The database does not exist',
  database_exists: 'The database already exists',
  database_name_invalid: 'The database name is not allowed',
  database_name_too_long: 'The database name is too long',

  // documents
  document_missing: 'The document or revision does not exist',
  document_conflict: 'The document was changed by somebody else',
  document_invalid: 'The document breaks a rule of the format',
  document_id_invalid: 'The document id is not allowed',
  document_too_large: 'The document is larger than the configured limit',
  partition_invalid: 'The name of the partition is not allowed',
  partition_full: 'The partition is larger than the configured limit',
  attachment_missing: 'The document has no such attachment',
  attachment_too_large: 'The attachment is larger than the configured limit',
  attachment_stub_missing: 'An attachment stub names content that is not there',
  attachment_revision_missing: 'The revision to attach to does not exist',
  digest_mismatch: 'The content does not match the digest that came with it',
  design_document_invalid: 'The design document breaks a rule of the format',
  compilation_failed: 'A function of the design document does not compile',

  // forms and records of the application
  form_invalid: 'The form cannot be transformed',
  record_invalid: 'The input cannot become a record',

  // functions of users
  function_missing: 'The design document has no such function',
  function_failed: 'A function of the design document failed',
  sandbox_timeout: 'A function of the design document ran too long',
  sandbox_crashed: 'The process that ran a function of the design document died',
  sandbox_unavailable: 'No sandbox can be started',

  // queries, configuration, nodes, replication
  mango_invalid: 'The declarative query breaks a rule',
  index_invalid: 'The index definition breaks a rule',
  index_unsaved: 'The design document of the index could not be saved',
  index_list_invalid: 'The list of indexes cannot be cut like this',
  index_changed: 'The design document defines another index by now',
  config_value_missing: 'There is no such configuration value',
  config_invalid: 'The configuration value is not allowed',
  config_read_only: 'The configuration section cannot be changed over HTTP',
  setup_invalid: 'The cluster setup request lacks something',
  node_missing: 'There is no such node',
  replication_failed: 'The replication could not be done',

  // storage
  store_exists: 'The store already exists',
  store_missing: 'The store does not exist',
  storage_full: 'The disk is full',
  storage_unwritable: 'The data folder cannot be written',
  storage_locked: 'The data folder is in use by another process',
  storage_newer: 'The data was written by a newer version',
  storage_corrupt: 'Stored bytes fail their check',
  engine_busy: 'The storage engine could not finish the transaction in time',
  engine_closed: 'The storage engine is closed',

  // general
  limit_exceeded: 'A configured limit was exceeded',
  service_unavailable: 'The service is not available',
  timeout: 'The request could not be processed in a reasonable amount of time',
  not_supported: 'This server does not offer the feature',
  unexpected: 'Something went wrong inside the server',
} as const

export type FailureCode = keyof typeof FAILURES
