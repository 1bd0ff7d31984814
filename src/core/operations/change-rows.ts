/**
 * Changes as rows to print: which revisions are listed, and the document in the cheapest form that will do. A winner
 * without attachments, conflicts or anybody who may see only part of it stays the record it is stored as.
 */
import { isFailure } from '../../base/errors.ts'
import type { Change } from '../database/changes.ts'
import { decodeDocument, placesIn } from '../database/stored-document.ts'
import { functionDocument } from '../design/function-document.ts'
import type { Revision } from '../document/revision.ts'
import type { JsonValue } from '../mango/json-value.ts'
import { compileProjection, type Projection } from '../mango/projection.ts'
import type { ReadableDatabase } from './opened-database.ts'
import { type DocumentView, type ReadOptions, viewOfWinner } from './read-document.ts'

export interface RowDocumentOptions {
  readonly conflicts: boolean
  /** Trim the document to these; all of it without. */
  readonly fields?: readonly string[]
}

export type RowDocument =
  /** The winner; its body is the record from `bodyStart` on, and nothing goes behind it but `_deleted`. */
  | { readonly kind: 'record'; readonly record: Buffer; readonly bodyStart: number }
  | { readonly kind: 'view'; readonly view: DocumentView }
  | { readonly kind: 'text'; readonly text: Buffer }

/** A row of the feed. Getters decode; whoever copies bytes takes them from `change`. */
export class ChangeRow {
  readonly change: Change
  /** The revisions to list; undefined: the winner alone. */
  readonly listed: readonly Revision[] | undefined
  readonly document: RowDocument | undefined

  constructor(
    change: Change,
    listed: readonly Revision[] | undefined,
    document: RowDocument | undefined,
  ) {
    this.change = change
    this.listed = listed
    this.document = document
  }

  get seq(): number {
    return this.change.seq
  }

  get id(): string {
    return this.change.id
  }

  /** UTF-8. */
  get idBytes(): Buffer {
    return this.change.idBytes
  }

  get deleted(): boolean {
    return this.change.deleted
  }

  get revs(): readonly Revision[] {
    return this.listed ?? this.change.leaves.slice(0, 1)
  }
}

export class RowBuilder {
  readonly #operations: ReadableDatabase
  readonly #allLeaves: boolean
  readonly #documents: RowDocumentOptions | undefined
  readonly #projection: Projection | undefined

  constructor(
    operations: ReadableDatabase,
    query: { readonly allLeaves: boolean; readonly documents?: RowDocumentOptions },
  ) {
    this.#operations = operations
    this.#allLeaves = query.allLeaves
    this.#documents = query.documents
    const fields = query.documents?.fields
    this.#projection = fields === undefined ? undefined : compileProjection(fields)
  }

  get wantsRecords(): boolean {
    return this.#documents !== undefined
  }

  /** All of the changes. */
  async plain(changes: readonly Change[]): Promise<ChangeRow[]> {
    const rows = changes.map(change => this.#row(change, this.#revsOf(change)))
    return this.#narrowed(rows)
  }

  /** Those with revisions to list, up to a number. */
  async filtered(
    changes: readonly Change[],
    listed: readonly (readonly Revision[] | undefined)[],
    limit: number,
  ): Promise<ChangeRow[]> {
    const rows: ChangeRow[] = []
    for (const [index, revs] of listed.entries()) {
      if (revs === undefined) continue
      if (rows.length >= limit) break
      rows.push(this.#row(changes[index] as Change, revs))
    }
    return this.#narrowed(rows)
  }

  #revsOf(change: Change): readonly Revision[] | undefined {
    return this.#allLeaves && change.leafCount > 1 ? change.leaves : undefined
  }

  #row(change: Change, revs: readonly Revision[] | undefined): ChangeRow {
    const document = this.#documents === undefined ? undefined : this.#documentOf(change)
    return new ChangeRow(change, revs, document)
  }

  #documentOf(change: Change): RowDocument | undefined {
    const { record } = change
    if (record === undefined) return undefined
    const wantsConflicts = this.#documents?.conflicts === true
    const { conflicted, hasAttachments, bodyStart } = placesIn(record)
    const isPlain = !hasAttachments && !(conflicted && wantsConflicts)
    if (isPlain && this.#projection === undefined) {
      return { kind: 'record', record, bodyStart }
    }
    const stored = decodeDocument(record, change.id)
    const view = viewOfWinner(stored, { conflicts: wantsConflicts })
    return this.#projection === undefined ? { kind: 'view', view } : this.#projected(view)
  }

  #projected(view: DocumentView): RowDocument {
    const whole = JSON.parse(functionDocument(view).toString()) as JsonValue
    const trimmed = (this.#projection as Projection)(whole)
    return { kind: 'text', text: Buffer.from(JSON.stringify(trimmed)) }
  }

  /** Where the user may see parts only, documents come through the door that knows which. */
  async #narrowed(rows: ChangeRow[]): Promise<ChangeRow[]> {
    if (this.#documents === undefined || !this.#operations.narrowsDocuments) return rows
    const narrowed: ChangeRow[] = []
    for (const row of rows) {
      const view = row.document && (await readSeen(this.#operations, row.change.id, SEEN))
      narrowed.push(new ChangeRow(row.change, row.listed, view && { kind: 'view', view }))
    }
    return narrowed
  }
}

const SEEN: ReadOptions = { deleted: true }

/** What the user may see of a document; undefined when that is nothing. */
export async function readSeen(
  operations: ReadableDatabase,
  id: string,
  options: ReadOptions,
): Promise<DocumentView | undefined> {
  try {
    return await operations.readDocument(id, options)
  } catch (thrown) {
    // Design documents of system databases are refused to some; a feed goes on without them.
    if (isFailure(thrown, 'document_missing') || isFailure(thrown, 'forbidden')) return undefined
    throw thrown
  }
}
