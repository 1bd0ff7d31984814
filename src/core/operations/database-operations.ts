/** One database for one member: the plain implementation, which sees everything. */
import { Failure } from '../../base/errors.ts'
import { adminCheck, serverAdminCheck } from '../auth/authorize.ts'
import { parseSecurity, type Security } from '../auth/security-object.ts'
import type { User } from '../auth/user.ts'
import type { EditResult } from '../database/commit-edits.ts'
import type { Database } from '../database/database.ts'
import type { EditAttachment } from '../database/edit-attachments.ts'
import { type LocalDocument, readLocalDocument } from '../database/local-documents.ts'
import type { Dialect } from '../dialect/dialect.ts'
import type { EditMode } from '../document/apply-edit.ts'
import type { StoredAttachment } from '../document/attachment.ts'
import type { IncomingAttachment } from '../document/incoming-attachment.ts'
import type { Revision } from '../document/revision.ts'
import type { DatabaseInfo, DatabaseOperations } from './operations.ts'
import {
  type AttachmentPolicy,
  type AttachmentUpload,
  discardAttachments,
  type FollowingParts,
  type PreparingParts,
  prepareAttachments,
  uploadAttachment,
} from './prepare-attachments.ts'
import {
  type AttachmentView,
  type ByteSpan,
  plainBytes,
  plainLength,
  readAttachment,
  storedBytes,
} from './read-attachment.ts'
import {
  type DocumentView,
  type OpenedRevision,
  type OpenOptions,
  openRevisions,
  type ReadOptions,
  readDocument,
} from './read-document.ts'
import { type DocumentWrite, writeDocuments } from './write-documents.ts'

export interface DatabaseParts {
  readonly database: Database
  readonly user: User
  readonly security: Security
  readonly server: OwningServer
}

/** What a database asks of the server it belongs to. */
export interface OwningServer {
  readonly dialect: Dialect
  readonly attachmentPolicy: AttachmentPolicy
  readonly clock: () => number
  /** Waits for the work before the server stops; tells nobody how it ended. */
  keep(work: Promise<unknown>): void
}

export class PlainDatabaseOperations implements DatabaseOperations {
  readonly database: Database
  readonly user: User
  readonly security: Security
  readonly #server: OwningServer

  constructor(parts: DatabaseParts) {
    this.database = parts.database
    this.user = parts.user
    this.security = parts.security
    this.#server = parts.server
  }

  get name(): string {
    return this.database.name
  }

  requireListing(): void {
    // Members may see all of an ordinary database.
  }

  readDocument(id: string, options?: ReadOptions): Promise<DocumentView> {
    return readDocument(this.database, id, options)
  }

  openRevisions(
    id: string,
    wanted: 'all' | readonly Revision[],
    options: OpenOptions,
  ): Promise<OpenedRevision[] | undefined> {
    return openRevisions(this.database, id, wanted, options)
  }

  readAttachment(id: string, name: string, rev?: Revision): Promise<AttachmentView> {
    return readAttachment(this, id, name, rev)
  }

  storedBytes(attachment: StoredAttachment, span?: ByteSpan): AsyncIterable<Buffer> {
    return storedBytes(this.database, attachment, span)
  }

  plainBytes(attachment: StoredAttachment, span?: ByteSpan): AsyncIterable<Buffer> {
    return plainBytes(this.database, attachment, span)
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

  writeDocuments(writes: readonly DocumentWrite[], mode: EditMode): Promise<EditResult[]> {
    return writeDocuments(this, writes, mode)
  }

  writeLater(writes: readonly DocumentWrite[], mode: EditMode): void {
    this.#server.keep(this.writeDocuments(writes, mode))
  }

  info(): Promise<DatabaseInfo> {
    return readInfo(this.database)
  }

  printSequence(seq: number): string {
    return this.database.printSequence(seq)
  }

  securityText(): Promise<Buffer> {
    return this.database.securityText()
  }

  async setSecurity(text: Buffer): Promise<void> {
    if (this.#server.dialect.serverAdminForIndexAndSecurity) serverAdminCheck(this.user)
    else adminCheck(this.user, this.security)
    parseSecurity(JSON.parse(text.toString()))
    await this.database.setSecurity(text)
  }
}

export async function readInfo(database: Database): Promise<DatabaseInfo> {
  const [head, size] = await Promise.all([database.head(), database.store.size()])
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
    compactRunning: false,
    partitioned,
    q,
    n,
  }
}
