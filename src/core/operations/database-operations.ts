/** One database for one member: the plain implementation, which sees everything. */

import { Failure } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { adminCheck, maintenanceCheck, serverAdminCheck } from '../auth/authorize.ts'
import {
  parseSecurity,
  type Security,
  UNSET_SECURITY_FOR_FUNCTIONS,
} from '../auth/security-object.ts'
import type { User } from '../auth/user.ts'
import type { EditResult } from '../database/commit-edits.ts'
import type { Database } from '../database/database.ts'
import type { EditAttachment } from '../database/edit-attachments.ts'
import { type LocalDocument, readLocalDocument } from '../database/local-documents.ts'
import type { PurgeRequest } from '../database/purge.ts'
import type { Dialect } from '../dialect/dialect.ts'
import type { EditMode } from '../document/apply-edit.ts'
import type { StoredAttachment } from '../document/attachment.ts'
import { requirePartition, validatePartitionedId } from '../document/document-id.ts'
import type { IncomingAttachment } from '../document/incoming-attachment.ts'
import type { Revision } from '../document/revision.ts'
import type { IndexDefinition } from '../mango/index-definition.ts'
import type { Compare, JsonObject } from '../mango/json-value.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { ActiveTasks, Task } from '../tasks/active-tasks.ts'
import { compareRevisions, type RevisionDifference } from './compare-revisions.ts'
import {
  explainDocuments,
  type FindAnswer,
  type FindParts,
  type FindSettings,
  findDocuments,
  indexesOf,
} from './find-documents.ts'
import { type ChangesFeed, type ChangesQuery, openChanges } from './follow-changes.ts'
import {
  type KeyedListing,
  type Listing,
  type ListingRange,
  listDocuments,
  listNamedDocuments,
  type Namespace,
} from './list-documents.ts'
import type { DocumentAhead } from './look-ahead.ts'
import { compactDatabase } from './manage-database.ts'
import {
  type CreatedIndex,
  createIndex,
  type DeletedDesign,
  deleteIndex,
  deleteIndexDesigns,
  type IndexName,
  type IndexParts,
} from './manage-indexes.ts'
import { type Opened, type OpenRequest, openMany, openOneByOne } from './open-many.ts'
import type { DatabaseInfo, DatabaseOperations } from './operations.ts'
import { type PartitionInfo, readPartitionInfo, requirePartitions } from './partition-info.ts'
import { idsOfPartition, narrowedToPartition } from './partition-listing.ts'
import {
  type AttachmentPolicy,
  type AttachmentUpload,
  discardAttachments,
  type FollowingParts,
  type PreparingParts,
  prepareAttachments,
  uploadAttachment,
} from './prepare-attachments.ts'
import { listPurges, type PurgeLimits, purgeDocuments } from './purge-documents.ts'
import {
  type AskerSignal,
  buildAhead,
  findDesign,
  type OpenedView,
  openView,
} from './query-view.ts'
import {
  type AttachmentView,
  type ByteSpan,
  plainBytes,
  plainLength,
  plainWhole,
  readAttachment,
  storedBytes,
  storedWhole,
} from './read-attachment.ts'
import {
  type DocumentView,
  type OpenedRevision,
  type OpenOptions,
  openRevisions,
  type ReadOptions,
  readDocument,
} from './read-document.ts'
import { type DesignFunctions, openDesign } from './run-design-function.ts'
import { cleanUpIndexes, compactIndex, readViewInfo, type ViewInfo } from './view-info.ts'
import type { ViewServices } from './view-services.ts'
import {
  type DocumentWrite,
  type FunctionParts,
  isDesign,
  writeDocuments,
} from './write-documents.ts'

export interface DatabaseParts {
  readonly database: Database
  readonly user: User
  readonly security: Security
  readonly server: OwningServer
  /** Asked for already; for the first read of it. */
  readonly document?: DocumentAhead
}

/** What a database asks of the server it belongs to. */
export interface OwningServer {
  readonly dialect: Dialect
  readonly attachmentPolicy: AttachmentPolicy
  readonly functions: FunctionParts
  /** External bytes from which on a partition takes no more; 0: no limit. */
  readonly partitionBytesMax: number
  readonly views: ViewServices
  readonly clock: () => number
  /** Waits for the work before the server stops; tells nobody how it ended. */
  keep(work: Promise<unknown>): void
  /** Long work that nobody waits for; it ends early when the server stops. What goes wrong is logged. */
  inBackground(name: string, work: (signal: AbortSignal) => Promise<void>): void
  readonly activeTasks: ActiveTasks
  /** Of all processes. */
  tasks(): Promise<Task[]>
  /** Runs functions of design documents; started when first asked for. */
  sandbox(): Sandbox
  /** The order of view keys. */
  compare(): Compare
  readonly findSettings: FindSettings
}

export class PlainDatabaseOperations implements DatabaseOperations {
  readonly database: Database
  readonly user: User
  readonly security: Security
  readonly #server: OwningServer
  #documentAhead: DocumentAhead | undefined

  constructor(parts: DatabaseParts) {
    this.database = parts.database
    this.user = parts.user
    this.security = parts.security
    this.#server = parts.server
    this.#documentAhead = parts.document
  }

  get name(): string {
    return this.database.name
  }

  get narrowsDocuments(): boolean {
    return false
  }

  openChanges(query: ChangesQuery): Promise<ChangesFeed> {
    return openChanges(this, query, {
      sandbox: () => this.#server.sandbox(),
      compare: () => this.#server.compare(),
    })
  }

  requireListing(): void {
    // Members may see all of an ordinary database.
  }

  checkId(id: string): void {
    if (this.database.properties.partitioned) validatePartitionedId(id)
  }

  readDocument(id: string, options?: ReadOptions): MaybePromise<DocumentView> {
    if (this.database.properties.partitioned) requirePartition(id)
    const ahead = this.#documentAhead
    this.#documentAhead = undefined
    return readDocument(this.database, id, options, ahead?.id === id ? ahead.record : undefined)
  }

  openRevisions(
    id: string,
    wanted: 'all' | readonly Revision[],
    options: OpenOptions,
  ): Promise<OpenedRevision[] | undefined> {
    if (this.database.properties.partitioned) requirePartition(id)
    return openRevisions(this.database, id, wanted, options)
  }

  openMany(requests: readonly OpenRequest[], options: OpenOptions): AsyncIterable<Opened[]> {
    return this.narrowsDocuments
      ? openOneByOne(this, requests, options)
      : openMany(this.database, requests, options)
  }

  async listDocuments(namespace: Namespace, range: ListingRange): Promise<Listing> {
    this.requireListing()
    const own = narrowedToPartition(this.database, range, this.#server.views.partitionLimitMax)
    return listDocuments(this.database, namespace, own)
  }

  async listNamedDocuments(
    namespace: Namespace,
    ids: readonly (string | undefined)[],
    partition?: string,
  ): Promise<KeyedListing> {
    this.requireListing()
    const own = idsOfPartition(this.database, ids, partition)
    return listNamedDocuments(this.database, namespace, own)
  }

  compareRevisions(
    offered: ReadonlyMap<string, readonly Revision[]>,
  ): Promise<readonly RevisionDifference[]> {
    return compareRevisions(this.database, offered)
  }

  readAttachment(id: string, name: string, rev?: Revision): Promise<AttachmentView> {
    return readAttachment((...asked) => this.readDocument(...asked), id, name, rev)
  }

  storedBytes(attachment: StoredAttachment, span?: ByteSpan): AsyncIterable<Buffer> {
    return storedBytes(this.database, attachment, span)
  }

  storedWhole(attachment: StoredAttachment): MaybePromise<Buffer | undefined> {
    return storedWhole(this.database, attachment)
  }

  plainBytes(attachment: StoredAttachment, span?: ByteSpan): AsyncIterable<Buffer> {
    return plainBytes(this.database, attachment, span)
  }

  plainWhole(attachment: StoredAttachment): MaybePromise<Buffer | undefined> {
    return plainWhole(this.database, attachment)
  }

  plainLength(attachment: StoredAttachment): Promise<number> {
    return plainLength(this.database, attachment)
  }

  prepareAttachments(
    incoming: readonly IncomingAttachment[],
    following?: FollowingParts,
  ): Promise<EditAttachment[]> {
    return prepareAttachments(this.#preparing, incoming, following)
  }

  uploadAttachment(upload: AttachmentUpload): Promise<EditAttachment> {
    return uploadAttachment(this.#preparing, upload)
  }

  discardAttachments(attachments: readonly EditAttachment[]): Promise<void> {
    return discardAttachments(this.database, attachments)
  }

  get #preparing(): PreparingParts {
    const { attachmentPolicy: policy, clock } = this.#server
    return { database: this.database, policy, clock }
  }

  async readLocalDocument(id: string): Promise<LocalDocument> {
    const document = await readLocalDocument(this.database.store, id)
    if (document === undefined) throw new Failure('document_missing', { reason: 'missing' })
    return document
  }

  async writeDocuments(writes: readonly DocumentWrite[], mode: EditMode): Promise<EditResult[]> {
    const { functions } = this.#server
    const { partitioned } = this.database.properties
    const partitionBytesMax = partitioned ? this.#server.partitionBytesMax : 0
    const results = await writeDocuments(this, writes, mode, { functions, partitionBytesMax })
    for (let at = 0; at < writes.length; at++) {
      const { id, document } = writes[at] as DocumentWrite
      if (isDesign(id) && results[at]?.ok && !document.deleted) this.#buildAhead(id)
    }
    return results
  }

  writeLater(writes: readonly DocumentWrite[], mode: EditMode): void {
    this.#server.keep(this.writeDocuments(writes, mode))
  }

  /** The index of a design document is made before anybody asks for it. */
  #buildAhead(id: string): void {
    const { views } = this.#server
    this.#server.inBackground(`index of ${id}`, signal =>
      buildAhead(this.database, views, id, signal),
    )
  }

  openView(design: string, view: string): MaybePromise<OpenedView> {
    return openView(this, this.#viewParts, { design, view })
  }

  get #viewParts() {
    const server = this.#server
    return { services: server.views, inBackground: server.inBackground.bind(server) }
  }

  async viewInfo(design: string): Promise<ViewInfo> {
    const { views } = this.#server
    const found = await findDesign(this, views, `_design/${design}`)
    return readViewInfo(this.database, views, found, await this.#server.tasks())
  }

  openDesign(name: string): Promise<DesignFunctions> {
    return openDesign(this, this.#server.functions, name)
  }

  find(request: JsonObject, signal?: AskerSignal): MaybePromise<FindAnswer> {
    return findDocuments(this.#findParts, request, signal)
  }

  explain(request: JsonObject): Promise<JsonObject> {
    return explainDocuments(this.#findParts, request)
  }

  listIndexes(): Promise<readonly IndexDefinition[]> {
    return indexesOf(this.#findParts)
  }

  get #findParts(): FindParts {
    const server = this.#server
    const { views, findSettings: settings } = server
    return { host: this, views, settings, compare: () => server.compare() }
  }

  createIndex(request: JsonObject): Promise<CreatedIndex> {
    return createIndex(this.#indexParts, request)
  }

  deleteIndex(index: IndexName): Promise<void> {
    return deleteIndex(this.#indexParts, index)
  }

  deleteIndexDesigns(ids: readonly string[]): Promise<DeletedDesign[]> {
    return deleteIndexDesigns(this.#indexParts, ids)
  }

  get #indexParts(): IndexParts {
    const { dialect, findSettings } = this.#server
    return { host: this, dialect, textSearch: findSettings.textSearch }
  }

  requirePartitions(): void {
    requirePartitions(this.database)
  }

  async partitionInfo(partition: string): Promise<PartitionInfo> {
    this.requireListing()
    return readPartitionInfo(this.database, partition)
  }

  info(): Promise<DatabaseInfo> {
    return readInfo(this.database)
  }

  printSequence(seq: number): string {
    return this.database.printSequence(seq)
  }

  securityText(): MaybePromise<Buffer> {
    return this.database.securityText()
  }

  async securityForFunctions(): Promise<Buffer> {
    return this.database.securityText(UNSET_SECURITY_FOR_FUNCTIONS)
  }

  async setSecurity(text: Buffer): Promise<void> {
    // The specification refuses with 401 whoever asks; admins of the database may in both dialects.
    if (this.#server.dialect.serverAdminForIndexAndSecurity)
      maintenanceCheck(this.user, this.security)
    else adminCheck(this.user, this.security)
    parseSecurity(JSON.parse(text.toString()))
    await this.database.setSecurity(text)
  }

  revisionLimit(): Promise<number> {
    return this.database.revisionLimit()
  }

  async setRevisionLimit(limit: number): Promise<void> {
    adminCheck(this.user, this.security)
    await this.database.setRevisionLimit(limit)
  }

  purgedInfosLimit(): Promise<number> {
    return this.database.purgedInfosLimit()
  }

  async setPurgedInfosLimit(limit: number): Promise<void> {
    serverAdminCheck(this.user)
    await this.database.setPurgedInfosLimit(limit)
  }

  purge(requests: readonly PurgeRequest[], limits: PurgeLimits): Promise<Revision[][]> {
    return purgeDocuments(this, requests, limits)
  }

  async purges(): Promise<PurgeRequest[]> {
    this.requireListing()
    return listPurges(this.database)
  }

  compact(): void {
    maintenanceCheck(this.user, this.security)
    const { activeTasks: tasks, clock } = this.#server
    this.#server.inBackground(`compaction of ${this.name}`, signal =>
      compactDatabase(this.database, { tasks, clock }, signal),
    )
  }

  async compactDesign(id: string): Promise<void> {
    maintenanceCheck(this.user, this.security)
    const { views, activeTasks } = this.#server
    const design = await findDesign(this, views, id)
    this.#server.inBackground(`compaction of the index of ${id}`, () =>
      compactIndex(this.database, views, design, activeTasks),
    )
  }

  async cleanUpViews(): Promise<void> {
    maintenanceCheck(this.user, this.security)
    await cleanUpIndexes(this.database, this.#server.views)
  }
}

export async function readInfo(database: Database): Promise<DatabaseInfo> {
  const [head, size, compactRunning] = await Promise.all([
    database.head(),
    database.store.size(),
    database.compaction.isRunning(),
  ])
  const { createdMs, partitioned, q, n } = database.properties
  return {
    name: database.name,
    createdMs,
    updateSeq: database.printSequence(head.updateSeq),
    purgeSeq: head.purgeSeq,
    purgeSeqText: database.printSequence(head.purgeSeq),
    fileBytes: size.fileBytes,
    liveBytes: size.liveBytes,
    externalBytes: head.externalBytes,
    liveCount: head.liveCount,
    deletedCount: head.deletedCount,
    compactRunning,
    partitioned,
    q,
    n,
  }
}
