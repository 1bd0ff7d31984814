/**
 * The front door of the document database: what it can do, for the HTTP API, the application and replication alike.
 *
 * `ServerOperations` is about the server; `DatabaseOperations` about one database for one user, who was found to be a
 * member when it was opened. Somebody who may see less (an offline user) gets another implementation of the same
 * interface that answers less; no caller knows the difference.
 */
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { MetricsSnapshot } from '../../base/metrics.ts'
import type { AuthSettings } from '../auth/auth-settings.ts'
import type { Authenticator, PasswordUpgrade } from '../auth/authenticate.ts'
import type { Security } from '../auth/security-object.ts'
import type { User } from '../auth/user.ts'
import type { Configuration } from '../configuration/configuration.ts'
import type { EditResult } from '../database/commit-edits.ts'
import type { Database } from '../database/database.ts'
import type { EditAttachment } from '../database/edit-attachments.ts'
import type { LocalDocument } from '../database/local-documents.ts'
import type { PurgeRequest } from '../database/purge.ts'
import type { Dialect } from '../dialect/dialect.ts'
import type { EditMode } from '../document/apply-edit.ts'
import type { StoredAttachment } from '../document/attachment.ts'
import type { IncomingAttachment } from '../document/incoming-attachment.ts'
import type { Revision } from '../document/revision.ts'
import type { IndexDefinition } from '../mango/index-definition.ts'
import type { JsonObject } from '../mango/json-value.ts'
import type { Task } from '../tasks/active-tasks.ts'
import type { RevisionDifference } from './compare-revisions.ts'
import type { UpdatesFeed, UpdatesQuery } from './database-updates.ts'
import type { FindAnswer } from './find-documents.ts'
import type { ChangesFeed, ChangesQuery } from './follow-changes.ts'
import type { KeyedListing, Listing, ListingRange, Namespace } from './list-documents.ts'
import type { CreatedIndex, DeletedDesign, IndexName } from './manage-indexes.ts'
import type { Opened, OpenRequest } from './open-many.ts'
import type { PartitionInfo } from './partition-info.ts'
import type { AttachmentUpload, FollowingParts } from './prepare-attachments.ts'
import type { PurgeLimits } from './purge-documents.ts'
import type { AskerSignal, OpenedView } from './query-view.ts'
import type { AttachmentView, ByteSpan } from './read-attachment.ts'
import type { DocumentView, OpenedRevision, OpenOptions, ReadOptions } from './read-document.ts'
import type { ReplicationOperations } from './replication-operations.ts'
import type { DesignFunctions } from './run-design-function.ts'
import type { ViewInfo } from './view-info.ts'
import type { DocumentWrite } from './write-documents.ts'

export interface ServerOperations {
  readonly dialect: Dialect
  readonly configuration: Configuration
  readonly authSettings: AuthSettings
  readonly authenticator: Authenticator
  readonly node: NodeOperations
  readonly replication: ReplicationOperations

  databaseNames(): Promise<string[]>
  /** Undefined when there is none. */
  databaseInfo(name: string): Promise<DatabaseInfo | undefined>
  createDatabase(user: User, name: string, options: NewDatabase): Promise<void>
  deleteDatabase(user: User, name: string): Promise<void>
  /** What happened to databases. Fails when the query's sequence is malformed. */
  openUpdates(query: UpdatesQuery): Promise<UpdatesFeed>
  /** Fails with `database_missing`, `unauthorized` or `forbidden`. */
  /** @param documentId of the document that will be read at once: where reads take time it is asked for on the way */
  open(user: User, name: string, documentId?: string): MaybePromise<DatabaseOperations>
  newIds(count: number): string[]
  upgradePassword(upgrade: PasswordUpgrade): void
  /** Resolves when all writes that nobody waits for have ended. */
  settle(): Promise<void>
  tasks(): Promise<Task[]>
  /** Figures of all processes, added up. */
  metrics(): Promise<MetricsSnapshot>
  systemFigures(): Promise<SystemFigures>
}

/** What the operating system says about the processes of this node, added up. */
export interface SystemFigures {
  readonly uptimeS: number
  readonly memory: {
    readonly rss: number
    readonly heapTotal: number
    readonly heapUsed: number
    readonly external: number
  }
  readonly contextSwitches: number
  readonly bytesRead: number
  readonly bytesWritten: number
  readonly processCount: number
}

export interface NewDatabase {
  readonly q?: number
  readonly n?: number
  readonly partitioned?: boolean
  /** Its first security object, as JSON text; the configured one without. */
  readonly security?: string
}

/** This node: its name, configuration and place in the cluster. */
/** The nodes that share an engine, by name. */
export interface Members {
  /** Those that belong to it, up or down. */
  readonly known: readonly string[]
  /** Those that are up. */
  readonly alive: readonly string[]
}

export interface NodeOperations {
  readonly name: string
  members(): Promise<Members>
  /** Fails with `service_unavailable` when the storage does not answer soon. */
  checkStorage(): MaybePromise<void>
  changeConfig(change: ConfigEdit): Promise<string | undefined>
  reloadConfig(): Promise<void>
  clusterState(ensured: readonly string[]): Promise<ClusterState>
  setUpCluster(user: User, request: Readonly<Record<string, unknown>>): Promise<void>
}

export interface ConfigEdit {
  readonly section: string
  readonly key: string
  readonly value: string | undefined
  readonly persist: boolean
  /** The value of an admin is a hash already. */
  readonly raw: boolean
}

export type ClusterState =
  | 'cluster_disabled'
  | 'single_node_disabled'
  | 'single_node_enabled'
  | 'cluster_enabled'
  | 'cluster_finished'

export interface DatabaseInfo {
  readonly name: string
  readonly createdMs: number
  readonly updateSeq: string
  readonly purgeSeq: number
  readonly purgeSeqText: string
  readonly fileBytes: number
  readonly liveBytes: number
  readonly externalBytes: number
  readonly liveCount: number
  readonly deletedCount: number
  readonly compactRunning: boolean
  readonly partitioned: boolean
  readonly q: number
  readonly n: number
}

export interface DatabaseOperations {
  readonly name: string
  readonly user: User
  readonly security: Security
  /** The storage beneath; for the operations' own files. */
  readonly database: Database

  /** Fails for those who may not see all documents; lists, feeds and indexes ask it first. */
  requireListing(): void
  /** True when the user sees parts of documents only: records must then not be copied to him, but read as documents. */
  readonly narrowsDocuments: boolean
  /** Fails when the query's sequence is malformed or its filter has no function. */
  openChanges(query: ChangesQuery): Promise<ChangesFeed>
  /** Fails for an id that no document of this database can have; ids are valid otherwise. */
  checkId(id: string): void
  /** Fails with `document_missing`, reason `missing` or `deleted`. */
  readDocument(id: string, options?: ReadOptions): MaybePromise<DocumentView>
  /** Undefined when all leaves of a document are asked for that never was. */
  openRevisions(
    id: string,
    wanted: 'all' | readonly Revision[],
    options: OpenOptions,
  ): Promise<OpenedRevision[] | undefined>
  /** Many at once: one result per request, in order, in batches at the reader's pace. */
  openMany(requests: readonly OpenRequest[], options: OpenOptions): AsyncIterable<Opened[]>
  /** A range of ids. */
  listDocuments(namespace: Namespace, range: ListingRange): Promise<Listing>
  /**
   * @param ids undefined stands for a key that is no id
   * @param partition documents outside of it are not found
   */
  listNamedDocuments(
    namespace: Namespace,
    ids: readonly (string | undefined)[],
    partition?: string,
  ): Promise<KeyedListing>
  /** Documents of which some offered revision is missing here. */
  compareRevisions(
    offered: ReadonlyMap<string, readonly Revision[]>,
  ): Promise<readonly RevisionDifference[]>
  /** Fails with `document_missing` or `attachment_missing`. */
  readAttachment(id: string, name: string, rev?: Revision): Promise<AttachmentView>
  /** The bytes as they are stored. */
  storedBytes(attachment: StoredAttachment, span?: ByteSpan): AsyncIterable<Buffer>
  /** The same all at once; undefined when they are too many for that. */
  storedWhole(attachment: StoredAttachment): MaybePromise<Buffer | undefined>
  /** The plain content, unpacked on the way. */
  plainBytes(attachment: StoredAttachment, span?: ByteSpan): AsyncIterable<Buffer>
  /** The same all at once; undefined when it is too much for that. */
  plainWhole(attachment: StoredAttachment): MaybePromise<Buffer | undefined>
  /** Of the plain content, counted where nobody knows it. */
  plainLength(attachment: StoredAttachment): Promise<number>
  /**
   * Takes in the attachments of a document that is about to be written; the result is for `writeDocuments`.
   *
   * @param following the bodies that `follows` entries stand for
   */
  prepareAttachments(
    incoming: readonly IncomingAttachment[],
    following?: FollowingParts,
  ): Promise<EditAttachment[]>
  /** Streams one attachment in; the result is for `writeDocuments`. */
  uploadAttachment(upload: AttachmentUpload): Promise<EditAttachment>
  /** For those who prepared attachments and then wrote nothing. */
  discardAttachments(attachments: readonly EditAttachment[]): Promise<void>
  /** @param id with its `_local/` in front */
  readLocalDocument(id: string): Promise<LocalDocument>
  /** One result per document, in order, once they are on disk. */
  writeDocuments(writes: readonly DocumentWrite[], mode: EditMode): Promise<EditResult[]>
  /** Writes soon; nobody is told how it ends. */
  writeLater(writes: readonly DocumentWrite[], mode: EditMode): void

  /** The functions of `_design/{name}`. Fails with `document_missing`. */
  openDesign(name: string): Promise<DesignFunctions>

  /** A view of `_design/{design}`. Fails with `document_missing`, reason `missing_named_view` where only the view is. */
  openView(design: string, view: string): MaybePromise<OpenedView>
  /** About the index of `_design/{design}`. Fails with `document_missing`. */
  viewInfo(design: string): Promise<ViewInfo>

  /** A declarative query. Fails with `mango_invalid`. */
  find(request: JsonObject, signal?: AskerSignal): MaybePromise<FindAnswer>
  /** How it would be answered. */
  explain(request: JsonObject): Promise<JsonObject>
  /** Indexes of declarative queries, that of all documents first. */
  listIndexes(): Promise<readonly IndexDefinition[]>
  createIndex(request: JsonObject): Promise<CreatedIndex>
  /** Fails with `document_missing`. */
  deleteIndex(index: IndexName): Promise<void>
  /** Whole design documents of indexes; one result each. */
  deleteIndexDesigns(ids: readonly string[]): Promise<DeletedDesign[]>

  info(): Promise<DatabaseInfo>
  /** Fails with `request_invalid` where the database has no partitions. */
  requirePartitions(): void
  /** Fails with `partition_invalid`, and with `request_invalid` where the database has no partitions. */
  partitionInfo(partition: string): Promise<PartitionInfo>
  printSequence(seq: number): string
  /** The security object as JSON text. */
  securityText(): MaybePromise<Buffer>
  /** The same as functions of design documents see it. */
  securityForFunctions(): Promise<Buffer>
  setSecurity(text: Buffer): Promise<void>

  revisionLimit(): Promise<number>
  setRevisionLimit(limit: number): Promise<void>
  purgedInfosLimit(): Promise<number>
  setPurgedInfosLimit(limit: number): Promise<void>
  /** The revisions that really went, one list per request. */
  purge(requests: readonly PurgeRequest[], limits: PurgeLimits): Promise<Revision[][]>
  purges(): Promise<PurgeRequest[]>
  /** Begins a compaction and does not wait for it. */
  compact(): void
  /** The same for the indexes of a design document; fails with `document_missing`. */
  compactDesign(id: string): Promise<void>
  /** Removes indexes that no design document needs any more. */
  cleanUpViews(): Promise<void>
}
