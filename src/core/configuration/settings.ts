/**
 * Every setting the server reads: section, key, default, kind, limits and what it is for.
 *
 * The table is the truth: `etc/default.ini` is printed from it (`npm run default-ini`), values that break a
 * setting's kind are refused with a one-line error, and code reads settings only through here, so no default
 * is written twice. Sizes are bytes, times carry their unit in the comment.
 */
export const SETTINGS = {
  dialect: choice(
    'svc',
    'dialect',
    ['spec', 'couchdb'],
    'spec',
    'Which answers where the specification and CouchDB 3.5 differ',
  ),

  maxDocumentSize: integer(
    'couchdb',
    'max_document_size',
    8_000_000,
    1,
    'Bytes of one document without attachments',
  ),
  maxAttachmentSize: integerOrInfinity(
    'couchdb',
    'max_attachment_size',
    1_073_741_824,
    'Bytes of one attachment, or infinity',
  ),
  maxDocumentIdLength: integerOrInfinity(
    'couchdb',
    'max_document_id_length',
    Number.POSITIVE_INFINITY,
    'Bytes of a document id, or infinity',
  ),
  functionTimeoutMs: integer(
    'couchdb',
    'os_process_timeout',
    5000,
    1,
    'Milliseconds one call of a design function may take',
  ),
  defaultSecurity: choice(
    'couchdb',
    'default_security',
    ['', 'everyone', 'admin_only', 'admin_local'],
    '',
    'Security object of new databases; empty: as the dialect says',
  ),
  usersDbSecurityEditable: flag(
    'couchdb',
    'users_db_security_editable',
    false,
    'PUT _security on the users database',
  ),
  maintenanceMode: choice(
    'couchdb',
    'maintenance_mode',
    ['false', 'true', 'nolb'],
    'false',
    'What GET /_up reports',
  ),
  serverUuid: text('couchdb', 'uuid', '', 'Identifier of this server; made at the first start'),

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

  port: integer('chttpd', 'port', 5984, 0, 'TCP port of the server'),
  bindAddress: text('chttpd', 'bind_address', '127.0.0.1', 'Address to listen on'),
  nodePort: text('httpd', 'port', '5986', 'TCP port of the node-local interface, or off'),
  requireValidUser: flag('chttpd', 'require_valid_user', false, 'No anonymous requests'),
  requireValidUserExceptForUp: flag(
    'chttpd',
    'require_valid_user_except_for_up',
    false,
    'Let GET /_up through all the same',
  ),
  adminOnlyAllDbs: flag('chttpd', 'admin_only_all_dbs', true, 'Only server admins list databases'),
  authenticationHandlers: text(
    'chttpd',
    'authentication_handlers',
    '{chttpd_auth, cookie_authentication_handler}, {chttpd_auth, default_authentication_handler}',
    'Authentication mechanisms, in order',
  ),
  maxRequestSize: integer(
    'chttpd',
    'max_http_request_size',
    4_294_967_296,
    1,
    'Bytes of a request body',
  ),
  maxUriLength: integerOrInfinity(
    'chttpd',
    'max_uri_length',
    Number.POSITIVE_INFINITY,
    'Bytes of a request URL, or infinity',
  ),
  maxDbsInfo: integer(
    'chttpd',
    'max_db_number_for_dbs_info_req',
    100,
    1,
    'Names in one POST /_dbs_info',
  ),
  changesTimeoutMs: integer(
    'chttpd',
    'changes_timeout',
    60_000,
    1,
    'Milliseconds a feed waits at the most',
  ),
  scrubFunctionRequests: flag(
    'chttpd',
    'scrub_json_request',
    true,
    'Functions of design documents see no credentials',
  ),
  secureRewrites: flag('chttpd', 'secure_rewrites', true, 'Rewrites stay in their database'),
  rewriteLimit: integer('chttpd', 'rewrite_limit', 100, 1, 'Rewrites one request may go through'),
  functionsCsp: flag(
    'csp',
    'showlist_enable',
    true,
    'Content-Security-Policy on what design functions answer',
  ),
  functionsCspValue: text('csp', 'showlist_header_value', 'sandbox', 'Its value'),
  decodePlus: flag('chttpd', 'decode_plus_to_space', true, 'A plus in a path is a blank'),
  serverHeaderVersions: flag(
    'chttpd',
    'server_header_versions',
    true,
    'Versions in the Server header',
  ),
  preferMinimal: text(
    'chttpd',
    'prefer_minimal',
    'Cache-Control, Content-Length, Content-Range, Content-Type, ETag, Server, Transfer-Encoding, Vary',
    'Headers kept for Prefer: return=minimal',
  ),
  enableCors: flag('chttpd', 'enable_cors', false, 'Cross-origin requests, see [cors]'),
  wwwAuthenticate: text('chttpd', 'WWW-Authenticate', '', 'WWW-Authenticate header of 401 answers'),

  corsOrigins: text('cors', 'origins', '', 'Origins allowed, or *'),
  corsCredentials: flag('cors', 'credentials', false, 'Let browsers send credentials'),
  corsHeaders: text('cors', 'headers', '', 'Further request headers allowed'),
  corsMethods: text('cors', 'methods', '', 'Methods allowed; empty: all'),
  corsExposedHeaders: text(
    'cors',
    'exposed_headers',
    '',
    'Further response headers shown to scripts',
  ),
  corsMaxAgeS: integer('cors', 'max_age', 600, 0, 'Seconds a browser may keep a preflight answer'),

  tlsEnable: flag('ssl', 'enable', false, 'Serve HTTPS too'),
  tlsPort: integer('ssl', 'port', 6984, 0, 'TCP port of HTTPS'),
  tlsCertFile: text('ssl', 'cert_file', '', 'PEM file with the certificate chain'),
  tlsKeyFile: text('ssl', 'key_file', '', 'PEM file with the private key'),
  tlsCaFile: text('ssl', 'cacert_file', '', 'PEM file with authorities for client certificates'),
  tlsPassword: text('ssl', 'password', '', 'Pass phrase of the private key'),
  tlsCiphers: text('ssl', 'ciphers', '', 'OpenSSL cipher list; empty: the default'),
  tlsVersions: text('ssl', 'tls_versions', 'tlsv1.2, tlsv1.3', 'TLS versions offered'),
  tlsVerifyPeer: flag('ssl', 'verify_ssl_certificates', false, 'Ask clients for a certificate'),

  authenticationDb: text(
    'svc_httpd_auth',
    'authentication_db',
    '_users',
    'Database of user documents',
  ),
  sessionTimeoutS: integer(
    'svc_httpd_auth',
    'timeout',
    600,
    1,
    'Seconds a session lives after its last request',
  ),
  persistentCookies: choice(
    'svc_httpd_auth',
    'allow_persistent_cookies',
    ['', 'true', 'false'],
    '',
    'Cookies outlive the browser; empty: as the dialect says',
  ),
  cookieDomain: text('svc_httpd_auth', 'cookie_domain', '', 'Domain attribute of the cookie'),
  cookieSameSite: choice(
    'svc_httpd_auth',
    'same_site',
    ['', 'strict', 'lax', 'none'],
    '',
    'SameSite attribute of the cookie',
  ),
  authCacheSize: integer(
    'svc_httpd_auth',
    'auth_cache_size',
    1000,
    1,
    'Verified passwords and user contexts kept in memory',
  ),
  authSecret: text(
    'svc_httpd_auth',
    'secret',
    '',
    'Secret of cookies and proxy tokens; made at the first start',
  ),
  hashAlgorithms: text(
    'svc_httpd_auth',
    'hash_algorithms',
    'sha256, sha',
    'HMAC digests of cookies and tokens, first one used',
  ),
  iterations: integer('svc_httpd_auth', 'iterations', 600_000, 1, 'PBKDF2 rounds of new passwords'),
  minIterations: integer('svc_httpd_auth', 'min_iterations', 1, 1, 'Fewest rounds accepted'),
  maxIterations: integer('svc_httpd_auth', 'max_iterations', 10_000_000, 1, 'Most rounds accepted'),
  passwordPrf: choice(
    'svc_httpd_auth',
    'pbkdf2_prf',
    ['sha', 'sha224', 'sha256', 'sha384', 'sha512'],
    'sha256',
    'PBKDF2 digest of new passwords',
  ),
  passwordScheme: choice(
    'svc_httpd_auth',
    'password_scheme',
    ['pbkdf2', 'simple'],
    'pbkdf2',
    'Scheme of new passwords',
  ),
  upgradeHash: flag(
    'svc_httpd_auth',
    'upgrade_hash_on_auth',
    true,
    'Rewrite old password hashes at login',
  ),
  passwordRegexp: text('svc_httpd_auth', 'password_regexp', '', 'Rules a new password must match'),
  publicFields: text(
    'svc_httpd_auth',
    'public_fields',
    '',
    'Fields of user documents that all may read',
  ),
  usersDbPublic: flag(
    'svc_httpd_auth',
    'users_db_public',
    false,
    'All users may view user documents',
  ),
  nodeRequireValidUser: flag(
    'svc_httpd_auth',
    'require_valid_user',
    false,
    'No anonymous requests on the node-local port',
  ),
  authenticationRedirect: text(
    'svc_httpd_auth',
    'authentication_redirect',
    '/_utils/session.html',
    'Where browsers are sent to log in',
  ),
  proxyUseSecret: flag(
    'svc_httpd_auth',
    'proxy_use_secret',
    false,
    'Proxy authentication needs a token',
  ),
  proxyUserHeader: text(
    'svc_httpd_auth',
    'x_auth_username',
    '',
    'Header with the user name; empty: both known names',
  ),
  proxyRolesHeader: text('svc_httpd_auth', 'x_auth_roles', '', 'Header with the roles'),
  proxyTokenHeader: text('svc_httpd_auth', 'x_auth_token', '', 'Header with the token'),
  lockoutMode: choice(
    'svc_auth_lockout',
    'mode',
    ['enforce', 'warn', 'off'],
    'enforce',
    'Lock out after repeated failed logins',
  ),
  lockoutThreshold: integer(
    'svc_auth_lockout',
    'threshold',
    5,
    1,
    'Failed logins per name and peer',
  ),
  lockoutWindowMs: integer(
    'svc_auth_lockout',
    'max_lifetime',
    300_000,
    1,
    'Milliseconds failures are remembered',
  ),

  uuidAlgorithm: choice(
    'uuids',
    'algorithm',
    ['sequential', 'random', 'utc_random', 'utc_id'],
    'sequential',
    'How ids are made',
  ),
  uuidSuffix: text('uuids', 'utc_id_suffix', '', 'Suffix of utc_id ids'),
  uuidMaxCount: integer('uuids', 'max_count', 1000, 0, 'Ids in one GET /_uuids'),

  clusterQ: integer('cluster', 'q', 2, 1, 'Shards reported for new databases'),
  clusterN: integer('cluster', 'n', 1, 1, 'Copies reported for new databases'),

  purgeMaxDocuments: integer('purge', 'max_document_id_number', 100, 1, 'Documents in one _purge'),
  purgeMaxRevisions: integer('purge', 'max_revisions_number', 1000, 1, 'Revisions in one _purge'),

  compressionLevel: integer(
    'attachments',
    'compression_level',
    8,
    0,
    'Deflate level of compressible attachments; 0: none',
  ),
  compressibleTypes: text(
    'attachments',
    'compressible_types',
    'text/*, application/javascript, application/json, application/xml',
    'Attachment types stored compressed',
  ),

  logLevel: choice(
    'log',
    'level',
    ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'],
    'info',
    'Least level that is logged',
  ),
  logFormat: choice('log', 'format', ['text', 'json'], 'text', 'Form of log lines'),
  logFile: text('log', 'file', '', 'File to log to; empty: standard error'),
  logRequests: flag('log', 'requests', true, 'A line for each request'),
} as const satisfies Record<string, Setting<unknown>>

export interface Setting<T> {
  readonly section: string
  readonly key: string
  readonly default: T
  readonly about: string
  /** The value of a text, or undefined when the text breaks the setting's rules. */
  readonly parse: (text: string) => T | undefined
  /** The default as ini text. */
  readonly defaultText: string
}

export type SettingName = keyof typeof SETTINGS

function setting<T>(rest: Setting<T>): Setting<T> {
  return Object.freeze(rest)
}

function text(section: string, key: string, value: string, about: string): Setting<string> {
  return setting({ section, key, default: value, about, parse: given => given, defaultText: value })
}

function flag(section: string, key: string, value: boolean, about: string): Setting<boolean> {
  const parse = (given: string) => (given === 'true' ? true : given === 'false' ? false : undefined)
  return setting({ section, key, default: value, about, parse, defaultText: String(value) })
}

function choice<const T extends string>(
  section: string,
  key: string,
  values: readonly T[],
  value: NoInfer<T>,
  about: string,
): Setting<T> {
  const parse = (given: string) => values.find(candidate => candidate === given)
  return setting({ section, key, default: value, about, parse, defaultText: value })
}

function integer(
  section: string,
  key: string,
  value: number,
  least: number,
  about: string,
): Setting<number> {
  const parse = (given: string) => {
    const number = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN
    return number >= least ? number : undefined
  }
  return setting({ section, key, default: value, about, parse, defaultText: String(value) })
}

function integerOrInfinity(
  section: string,
  key: string,
  value: number,
  about: string,
): Setting<number> {
  const finite = integer(section, key, value, 0, about)
  const parse = (given: string) =>
    given === 'infinity' ? Number.POSITIVE_INFINITY : finite.parse(given)
  const defaultText = Number.isFinite(value) ? String(value) : 'infinity'
  return setting({ ...finite, parse, defaultText })
}
