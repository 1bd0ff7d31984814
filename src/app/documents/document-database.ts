/**
 * One database of the application, seen as plain documents: read by id, asked through its views, written. It works on
 * the core's operations as the server itself; whether somebody may do what he asks for is decided before.
 *
 * Stubs of attachments are part of a document, so that a document can be read, changed and written back without losing
 * any. Leaves to others: what documents mean.
 */
import { assert } from '../../base/assert.ts'
import { Failure, isFailure } from '../../base/errors.ts'
import type { User } from '../../core/auth/user.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { EditResult } from '../../core/database/commit-edits.ts'
import { printDigest, type StoredAttachment } from '../../core/document/attachment.ts'
import { type IncomingDocument, scanDocument } from '../../core/document/incoming-document.ts'
import { printRevision } from '../../core/document/revision.ts'
import type { ListingRange } from '../../core/operations/list-documents.ts'
import type { DatabaseOperations, ServerOperations } from '../../core/operations/operations.ts'
import type { ViewAnswer } from '../../core/operations/query-view.ts'
import type { DocumentView } from '../../core/operations/read-document.ts'
import type { DocumentWrite } from '../../core/operations/write-documents.ts'
import type { Document, JsonObject } from './document.ts'

/** The server itself; it may do everything, and validation functions see who it is. */
export const APPLICATION_USER: User = Object.freeze({
  name: 'application',
  roles: Object.freeze(['_admin']),
})

export type WriteOutcome =
  | { readonly ok: true; readonly id: string; readonly rev: string }
  | { readonly ok: false; readonly id: string; readonly failure: Failure }

export interface RowQuery {
  readonly startKey?: unknown
  readonly endKey?: unknown
  /** Instead of a range. */
  readonly keys?: readonly unknown[]
  readonly skip?: number
  readonly limit?: number
  readonly descending?: boolean
  /** For views that reduce: `false` asks for their rows. */
  readonly reduce?: boolean
  readonly group?: boolean
  /** Groups by so many first members of keys that are lists. */
  readonly groupLevel?: number
}

export interface ViewRow {
  readonly id: string
  readonly key: unknown
  readonly value: unknown
}

/** Rows of an index as it was found, and how far that has come. */
export interface IndexedRows {
  readonly rows: readonly ViewRow[]
  readonly updateSeq: number
  readonly purgeSeq: number
  /** It waits for its first build, or is at it: there can be no rows. */
  readonly isAbsent: boolean
}

export class DocumentDatabase {
  readonly name: string
  readonly #server: ServerOperations

  constructor(server: ServerOperations, name: string) {
    this.#server = server
    this.name = name
  }

  /** @param documentId of the document that will be read at once */
  async open(documentId?: string): Promise<DatabaseOperations> {
    return this.#server.open(APPLICATION_USER, this.name, documentId)
  }

  newId(): string {
    const [id] = this.#server.newIds(1)
    assert(id !== undefined, 'one id was asked for')
    return id
  }

  /** Undefined when there is none, or a deleted one. */
  async get(id: string): Promise<Document | undefined> {
    const view = await this.#view(id)
    return view && documentOf(view)
  }

  /** The same without the document: nothing is parsed. */
  async revisionOf(id: string): Promise<string | undefined> {
    const view = await this.#view(id)
    return view && printRevision(view.rev)
  }

  async #view(id: string): Promise<DocumentView | undefined> {
    if (id === '' || id.startsWith('_local/')) return undefined
    try {
      return await (await this.open(id)).readDocument(id)
    } catch (thrown) {
      if (isFailure(thrown, 'document_missing')) return undefined
      throw thrown
    }
  }

  /** One for each id, in order; undefined where there is none. */
  async getMany(ids: readonly string[]): Promise<(Document | undefined)[]> {
    const documents: (Document | undefined)[] = []
    for await (const batch of this.named(ids))
      for (const document of batch) documents.push(document)
    return documents
  }

  /** The same in batches that are not large, however large the documents are. */
  async *named(
    ids: readonly string[],
  ): AsyncGenerator<readonly (Document | undefined)[], void, undefined> {
    if (ids.length === 0) return
    // Local documents are nobody's but the replicators', who know them by name.
    const asked = ids.map(id => (id.startsWith('_local/') ? undefined : id))
    const { rows } = await (await this.open()).listNamedDocuments('all', asked)
    for await (const batch of rows) {
      yield batch.map(row =>
        row === undefined || row.deleted ? undefined : documentOf(row.view({})),
      )
    }
  }

  /** Those that are there, by id; ids may repeat. */
  async getMap(ids: Iterable<string>): Promise<Map<string, Document>> {
    const wanted = [...new Set(ids)]
    const found = await this.getMany(wanted)
    const map = new Map<string, Document>()
    for (const document of found) if (document !== undefined) map.set(document._id, document)
    return map
  }

  /**
   * Documents of a range of ids, in batches at the reader's pace.
   *
   * @param isWanted looks at the text of a document before it is parsed, where most are of no interest
   */
  async *list(
    range: ListingRange,
    isWanted?: (body: Buffer) => boolean,
  ): AsyncGenerator<readonly Document[], void, undefined> {
    const uncounted = { ...range, withoutOffset: true }
    const { rows } = await (await this.open()).listDocuments('all', uncounted)
    for await (const batch of rows) {
      const documents: Document[] = []
      for (const row of batch) {
        const view = isWanted === undefined || isWanted(row.value) ? row.view({}) : undefined
        if (view !== undefined) documents.push(documentOf(view))
      }
      if (documents.length > 0) yield documents
    }
  }

  /** The bytes of an attachment. Fails with `document_missing`, `attachment_missing` or `attachment_too_large`. */
  async readAttachment(id: string, name: string, bytesMax: number): Promise<Buffer> {
    const database = await this.open()
    const { attachment } = await database.readAttachment(id, name)
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of database.plainBytes(attachment)) {
      length += chunk.length
      if (length > bytesMax) throw new Failure('attachment_too_large')
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  }

  /** Fails as the write fails: `document_conflict`, `forbidden`, `document_too_large` … */
  async put(document: Document): Promise<{ readonly id: string; readonly rev: string }> {
    const [outcome] = await this.putMany([document])
    assert(outcome !== undefined, 'a write has an outcome')
    if (!outcome.ok) throw outcome.failure
    return { id: outcome.id, rev: outcome.rev }
  }

  /** One commit for all; those that fail take no other with them. Documents with `_deleted` are deleted. */
  async putMany(documents: readonly Document[]): Promise<WriteOutcome[]> {
    if (documents.length === 0) return []
    const database = await this.open()
    const writes: DocumentWrite[] = []
    for (const document of documents) writes.push(await this.#writeOf(database, document))
    const results = await database.writeDocuments(writes, 'interactive')
    return results.map((result, index) => outcomeOf((documents[index] as Document)._id, result))
  }

  /** Rows of a view, in batches at the reader's pace. The index is up to date when the first one comes. */
  async *rows(
    design: string,
    view: string,
    query: RowQuery,
    signal?: AbortSignal,
  ): AsyncGenerator<readonly ViewRow[], void, undefined> {
    const opened = await (await this.open()).openView(design, view)
    yield* rowsOf(await opened.answer(viewRequest(query), signal))
  }

  /**
   * All rows of keys, for those who know themselves what changed since.
   *
   * @param update `false` asks the index as it is, `lazy` does the same and has it brought up later
   */
  async indexedRows(
    design: string,
    view: string,
    query: { readonly keys: readonly Buffer[]; readonly update: 'true' | 'false' | 'lazy' },
  ): Promise<IndexedRows> {
    const opened = await (await this.open()).openView(design, view)
    const answer = await opened.answer({ ...query, reduce: false })
    const { updateSeq, purgeSeq, state } = answer
    const rows: ViewRow[] = []
    for await (const batch of rowsOf(answer)) for (const row of batch) rows.push(row)
    return { rows, updateSeq, purgeSeq, isAbsent: state === 'absent' }
  }

  /** All rows of a query that has few. */
  async allRows(design: string, view: string, query: RowQuery): Promise<ViewRow[]> {
    const all: ViewRow[] = []
    for await (const batch of this.rows(design, view, query)) for (const row of batch) all.push(row)
    return all
  }

  async #writeOf(database: DatabaseOperations, document: Document): Promise<DocumentWrite> {
    const limits = { bodyBytesMax: this.#server.configuration.get(SETTINGS.maxDocumentSize) }
    const scanned = scanDocument(Buffer.from(JSON.stringify(document)), 0, limits).document
    return { id: document._id, document: scanned, ...(await attachmentsOf(database, scanned)) }
  }
}

async function attachmentsOf(
  database: DatabaseOperations,
  { attachments }: IncomingDocument,
): Promise<Pick<DocumentWrite, 'attachments'>> {
  return attachments === undefined
    ? {}
    : { attachments: await database.prepareAttachments(attachments) }
}

function viewRequest({ startKey, endKey, keys, ...rest }: RowQuery) {
  return {
    ...rest,
    ...(startKey === undefined ? {} : { startKey: keyText(startKey) }),
    ...(endKey === undefined ? {} : { endKey: keyText(endKey) }),
    ...(keys === undefined ? {} : { keys: keys.map(keyText) }),
  }
}

async function* rowsOf({ rows }: ViewAnswer): AsyncGenerator<readonly ViewRow[], void, undefined> {
  assert(rows.kind === 'texts', 'documents were not asked for')
  for await (const texts of rows.batches) {
    const joined = texts.map(text => text.toString()).join(',')
    if (joined !== '') yield JSON.parse(`[${joined}]`) as ViewRow[]
  }
}

const keyText = (key: unknown): Buffer => Buffer.from(JSON.stringify(key))

function documentOf({ id, rev, body, attachments }: DocumentView): Document {
  const members = JSON.parse(body.toString()) as JsonObject
  const document = { _id: id, _rev: printRevision(rev), ...members }
  return attachments.length === 0
    ? document
    : { ...document, _attachments: Object.fromEntries(attachments.map(stubOf)) }
}

const stubOf = (attachment: StoredAttachment): [string, JsonObject] => [
  attachment.name,
  {
    content_type: attachment.contentType,
    revpos: attachment.revpos,
    digest: printDigest(attachment),
    length: attachment.length,
    stub: true,
  },
]

const outcomeOf = (id: string, result: EditResult): WriteOutcome =>
  result.ok
    ? { ok: true, id, rev: printRevision(result.rev) }
    : { ok: false, id, failure: result.failure }
