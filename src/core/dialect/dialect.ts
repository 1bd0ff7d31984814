/**
 * Every difference between the specification ("spec", the default) and CouchDB 3.5 ("couchdb"), in one table.
 *
 * The rest of the code asks for what it needs to know (`dialect.missingDatabaseReason`), never which dialect is on.
 * Numbers in comments are the rows of the comparison in docs/compatibility.md.
 */
export interface Dialect {
  readonly name: 'spec' | 'couchdb'

  /** 1. Invalid JSON in a body is the server's 500, except where an endpoint's own table says 400. */
  readonly invalidJsonIs500: boolean
  /** 2. JSON goes out as text/plain unless Accept names application/json. */
  readonly plainTextJson: boolean
  /** 3. */
  readonly missingDatabaseReason: string
  /** 4. View-style listings carry an ETag and answer 304. */
  readonly listingEtags: boolean
  /** 5. `_dbs_info` adds the sizes of old and a numeric purge_seq. */
  readonly oldSizeFields: boolean
  /** 7. `_local_seq` is a string. */
  readonly localSeqIsString: boolean
  /** 8. */
  readonly changesLimitZeroIsOne: boolean
  /** 9. */
  readonly continuousLineEnd: string
  /** 10. `Last-Event-ID` overrides `since` in every feed. */
  readonly lastEventIdAlways: boolean
  /** 12. */
  readonly selectorErrorWord: string
  readonly selectorErrorPrefix: string
  /** 13. */
  readonly dbUpdatesTimeoutUnitMs: number
  /** 14. `_db_updates` longpoll and continuous bodies are the content of `results` alone. */
  readonly dbUpdatesBareRows: boolean
  /** 15. Sequences are numbers in `_all_docs` update_seq, replication results and tasks. */
  readonly numericSequences: boolean
  /** 16. */
  readonly localDocsRevIsConstant: boolean
  /** 17. */
  readonly bulkRejectedStatus: number
  /** 18. */
  readonly modArgumentMissing: boolean
  /** 19. */
  readonly keysExaminedIsZero: boolean
  /** 20, 21. Creating indexes and setting security needs a server admin and refuses with 401. */
  readonly serverAdminForIndexAndSecurity: boolean
  /** 22. */
  readonly newDatabaseSecurity: 'everyone' | 'admin_only'
  /** 24. */
  readonly adminHashForm: 'pbkdf2' | 'pbkdf2:sha256'
  /** 25. `raw=true` stores an admin's hash as it is. */
  readonly rawAdminPasswords: boolean
  /** 27. */
  readonly sessionShowsAuthenticationDb: boolean
  /** 28. */
  readonly persistentCookies: boolean
  /** 30. */
  readonly systemDatabases: readonly string[]
  /** 31. Byte ranges work on compressed attachments too. */
  readonly rangesOnCompressed: boolean
  /** 32. */
  readonly attachmentTypeRequired: boolean
  /** 33. */
  readonly attachmentIfMatch: boolean
  /** 34. */
  readonly attachmentDeleteEtag: boolean
  /** 43. Users see their own account by default. */
  readonly usersOpenAtFirst: boolean
  /** 39. */
  readonly oldViewInfoFields: boolean
  /** 40. */
  readonly checkContentMd5: boolean
  /** A method that `_replicate` does not support is a 405 even without a body. */
  readonly replicateMethodFirst: boolean
}

const spec: Dialect = Object.freeze({
  name: 'spec',
  invalidJsonIs500: true,
  plainTextJson: true,
  missingDatabaseReason: 'no_db_file',
  listingEtags: true,
  oldSizeFields: true,
  localSeqIsString: true,
  changesLimitZeroIsOne: true,
  continuousLineEnd: '\r\n',
  lastEventIdAlways: true,
  selectorErrorWord: 'bad request',
  selectorErrorPrefix: 'Selector error: ',
  dbUpdatesTimeoutUnitMs: 1000,
  dbUpdatesBareRows: true,
  numericSequences: true,
  localDocsRevIsConstant: true,
  bulkRejectedStatus: 417,
  modArgumentMissing: true,
  keysExaminedIsZero: true,
  serverAdminForIndexAndSecurity: true,
  newDatabaseSecurity: 'everyone',
  adminHashForm: 'pbkdf2',
  rawAdminPasswords: true,
  sessionShowsAuthenticationDb: true,
  persistentCookies: false,
  systemDatabases: ['_users', '_replicator', '_global_changes'],
  rangesOnCompressed: true,
  attachmentTypeRequired: true,
  attachmentIfMatch: true,
  attachmentDeleteEtag: true,
  usersOpenAtFirst: true,
  oldViewInfoFields: true,
  checkContentMd5: true,
  replicateMethodFirst: true,
} satisfies Dialect)

const couchdb: Dialect = Object.freeze({
  name: 'couchdb',
  invalidJsonIs500: false,
  plainTextJson: false,
  missingDatabaseReason: 'Database does not exist.',
  listingEtags: false,
  oldSizeFields: false,
  localSeqIsString: false,
  changesLimitZeroIsOne: false,
  continuousLineEnd: '\n',
  lastEventIdAlways: false,
  selectorErrorWord: 'bad_request',
  selectorErrorPrefix: '',
  dbUpdatesTimeoutUnitMs: 1,
  dbUpdatesBareRows: false,
  numericSequences: false,
  localDocsRevIsConstant: false,
  bulkRejectedStatus: 201,
  modArgumentMissing: false,
  keysExaminedIsZero: false,
  serverAdminForIndexAndSecurity: false,
  newDatabaseSecurity: 'admin_only',
  adminHashForm: 'pbkdf2:sha256',
  rawAdminPasswords: false,
  sessionShowsAuthenticationDb: false,
  persistentCookies: true,
  systemDatabases: ['_users', '_replicator'],
  rangesOnCompressed: false,
  attachmentTypeRequired: false,
  attachmentIfMatch: false,
  attachmentDeleteEtag: false,
  usersOpenAtFirst: false,
  oldViewInfoFields: false,
  checkContentMd5: false,
  replicateMethodFirst: false,
} satisfies Dialect)

export const DIALECTS: Readonly<Record<'spec' | 'couchdb', Dialect>> = { spec, couchdb }
