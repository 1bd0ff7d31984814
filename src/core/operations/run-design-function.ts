/**
 * The functions of one design document for one user: shows, updates, lists and the rewrite function.
 *
 * The documents they get are read through the operations of the user, so nobody sees through a function what he may not
 * read; what an update function returns is written the same way, and validated. What requests and responses look
 * like is known to the HTTP API alone: here they are JSON texts.
 */

import { Failure, isFailure } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { EditResult } from '../database/commit-edits.ts'
import type { Database } from '../database/database.ts'
import type { EditAttachment } from '../database/edit-attachments.ts'
import type { LocalDocument } from '../database/local-documents.ts'
import type { CachedDesign } from '../design/design-cache.ts'
import { requireJavaScript } from '../design/design-language.ts'
import { functionDocument } from '../design/function-document.ts'
import type { EditMode } from '../document/apply-edit.ts'
import type { DesignDocument } from '../document/design-document.ts'
import { validateDocumentId } from '../document/document-id.ts'
import type { IncomingAttachment } from '../document/incoming-attachment.ts'
import { type DocumentLimits, scanDocument } from '../document/incoming-document.ts'
import { type Revision, sameRevision } from '../document/revision.ts'
import type { ListConversation } from '../sandbox/sandbox.ts'
import type { DocumentView, ReadOptions } from './read-document.ts'
import { type DocumentWrite, type FunctionParts, isLocal } from './write-documents.ts'

/** What functions may do with a database: what their user may. */
export interface FunctionHost {
  readonly database: Database
  readDocument(id: string, options?: ReadOptions): MaybePromise<DocumentView>
  readLocalDocument(id: string): Promise<LocalDocument>
  prepareAttachments(incoming: readonly IncomingAttachment[]): Promise<EditAttachment[]>
  writeDocuments(writes: readonly DocumentWrite[], mode: EditMode): Promise<EditResult[]>
}

/** Which member of a design document holds the functions. */
export type FunctionKind = 'shows' | 'lists' | 'updates'

/** A document as functions see it. */
export interface FunctionInput {
  readonly rev: Revision
  /** JSON text. */
  readonly text: Buffer
}

export interface UpdateOutcome {
  /** The document that was written, if the function gave one. */
  readonly saved: { readonly id: string; readonly rev: Revision } | undefined
  /** The response object as JSON text. */
  readonly response: Buffer
}

/** Fails with `document_missing`, reason `missing` or `deleted`. */
export async function openDesign(
  host: FunctionHost,
  parts: FunctionParts,
  name: string,
): Promise<DesignFunctions> {
  const id = `_design/${name}`
  for (let attempt = 1; ; attempt++) {
    // Read as the user, who may not see it at all; what is kept tells the rest.
    const { rev } = await host.readDocument(id)
    const design = await parts.designs.find(host.database, id)
    if (design !== undefined && sameRevision(design.rev, rev)) {
      return new DesignFunctions(host, design, parts)
    }
    // It changed between the two looks.
    if (attempt === ATTEMPTS_MAX) throw new Failure('engine_busy')
  }
}

const ATTEMPTS_MAX = 10

export class DesignFunctions {
  readonly #host: FunctionHost
  readonly #design: CachedDesign
  readonly #parts: FunctionParts

  constructor(host: FunctionHost, design: CachedDesign, parts: FunctionParts) {
    this.#host = host
    this.#design = design
    this.#parts = parts
  }

  get rev(): Revision {
    return this.#design.rev
  }

  get document(): DesignDocument {
    return this.#design.document
  }

  /** Fails with `function_missing` unless the function is there, and can run. */
  requireFunction(kind: FunctionKind, name: string): void {
    let holder: unknown = this.#design.fields
    for (const key of [kind, name]) {
      if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) {
        throw new Failure('function_missing', { reason: `missing json key: ${key}` })
      }
      holder = (holder as Record<string, unknown>)[key]
    }
    requireJavaScript(this.#design)
  }

  /** Undefined when there is no such document, or no longer. */
  async input(id: string): Promise<FunctionInput | undefined> {
    try {
      if (isLocal(id)) {
        const { generation, body } = await this.#host.readLocalDocument(id)
        const rev = { pos: 0, id: Buffer.from(String(generation)) }
        return { rev, text: functionDocument({ id, rev, body }) }
      }
      const view = await this.#host.readDocument(id, { revs: true })
      return { rev: view.rev, text: functionDocument(view) }
    } catch (thrown) {
      if (isFailure(thrown, 'document_missing')) return undefined
      throw thrown
    }
  }

  /** The response object as JSON text. */
  show(name: string, document: FunctionInput | undefined, request: Buffer): Promise<Buffer> {
    return this.#parts.sandbox().show(this.#design.source, name, document?.text ?? null, request)
  }

  /** The caller must close it whatever happens; until then it takes one of few places. */
  async list(name: string, head: Buffer, request: Buffer): Promise<ListConversation> {
    const leave = await this.#parts.lists.enter()
    try {
      const list = await this.#parts.sandbox().list(this.#design.source, name, head, request)
      return new GatedList(list, leave)
    } catch (thrown) {
      leave()
      throw thrown
    }
  }

  /** The path or object that the function answers, as JSON text; null when it declined. */
  rewrite(request: Buffer): Promise<Buffer | null> {
    requireJavaScript(this.#design)
    return this.#parts.sandbox().rewrite(this.#design.source, request)
  }

  async update(
    name: string,
    document: FunctionInput | undefined,
    request: Buffer,
    limits: DocumentLimits,
  ): Promise<UpdateOutcome> {
    const input = document?.text ?? null
    const result = await this.#parts.sandbox().update(this.#design.source, name, input, request)
    const { response } = result
    // Only an object is a document; anything else means that there is nothing to save.
    const isDocument = result.document !== null && result.document[0] === 0x7b
    const saved = isDocument ? await this.#save(result.document as Buffer, limits) : undefined
    return { saved, response }
  }

  async #save(text: Buffer, limits: DocumentLimits): Promise<{ id: string; rev: Revision }> {
    const { document } = scanDocument(text, 0, limits)
    const id = document.id ?? ''
    validateDocumentId(id, limits.idBytesMax)
    const { attachments: incoming = [] } = document
    const attachments =
      incoming.length === 0 ? undefined : await this.#host.prepareAttachments(incoming)
    const write = { id, document, ...(attachments === undefined ? {} : { attachments }) }
    const [result] = await this.#host.writeDocuments([write], 'interactive')
    if (result?.ok) return { id, rev: result.rev }
    throw result?.failure ?? new Failure('unexpected')
  }
}

/** A list that gives its place back when it is closed. */
class GatedList implements ListConversation {
  readonly response: Buffer
  readonly chunk: Buffer
  readonly #list: ListConversation
  readonly #leave: () => void

  constructor(list: ListConversation, leave: () => void) {
    this.#list = list
    this.#leave = leave
    this.response = list.response
    this.chunk = list.chunk
  }

  get wantsRows(): boolean {
    return this.#list.wantsRows
  }

  feed(rows: Uint8Array, isLast: boolean): Promise<Buffer> {
    return this.#list.feed(rows, isLast)
  }

  close(): void {
    this.#list.close()
    this.#leave()
  }
}
