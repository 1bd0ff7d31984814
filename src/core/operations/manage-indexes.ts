/**
 * Indexes of declarative queries: made, listed and removed. They are members of design documents, so each change is a
 * write of one, with all that belongs to it; when somebody else wrote it meanwhile, the change is made again.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import { maintenanceCheck } from '../auth/authorize.ts'
import type { Security } from '../auth/security-object.ts'
import type { User } from '../auth/user.ts'
import type { DocumentEdit, EditResult } from '../database/commit-edits.ts'
import type { Database } from '../database/database.ts'
import type { EditAttachment } from '../database/edit-attachments.ts'
import { loadDocument } from '../database/load-documents.ts'
import type { StoredDocument } from '../database/stored-document.ts'
import type { Dialect } from '../dialect/dialect.ts'
import { decodeAttachments } from '../document/attachment.ts'
import { fromParts } from '../document/incoming-document.ts'
import { addIndex, parseIndexRequest, removeIndex } from '../mango/index-request.ts'
import { isJsonObject, type JsonObject, member } from '../mango/json-value.ts'

/** A database as its user sees it, as far as indexes look. */
export interface IndexHost {
  readonly database: Database
  readonly user: User
  readonly security: Security
  writeDocuments(
    writes: readonly Omit<DocumentEdit, 'mode'>[],
    mode: 'interactive',
  ): Promise<EditResult[]>
}

export interface IndexParts {
  readonly host: IndexHost
  readonly dialect: Dialect
  readonly textSearch: boolean
}

export interface CreatedIndex {
  readonly created: boolean
  /** Of the design document. */
  readonly id: string
  readonly name: string
}

/** Fails with `mango_invalid`, `index_invalid`, `unauthorized` or `index_unsaved`. */
export async function createIndex(parts: IndexParts, request: JsonObject): Promise<CreatedIndex> {
  const { host, dialect, textSearch } = parts
  if (dialect.serverAdminForIndexAndSecurity) {
    maintenanceCheck(host.user, host.security)
  }
  const { partitioned } = host.database.properties
  const index = parseIndexRequest(request, { partitioned, textSearch })
  const asked = member(request, 'partitioned')
  const created = await changeDesign(parts, index.ddoc, existing =>
    addIndex(existing, index, typeof asked === 'boolean' ? asked : undefined),
  )
  return { created, id: index.ddoc, name: index.name }
}

export interface IndexName {
  /** With or without its `_design/`. */
  readonly ddoc: string
  readonly type: string
  readonly name: string
}

/** Fails with `document_missing` when there is no such index. */
export async function deleteIndex(
  parts: IndexParts,
  { ddoc, type, name }: IndexName,
): Promise<void> {
  const id = ddoc.startsWith('_design/') ? ddoc : `_design/${ddoc}`
  await changeDesign(parts, id, existing => {
    const body = existing && removeIndex(existing, type, name)
    if (body === undefined) throw new Failure('document_missing', { reason: 'missing' })
    return body
  })
}

export interface DeletedDesign {
  readonly id: string
  /** Why it is still there. */
  readonly failure?: Failure
}

/** Removes whole design documents of indexes, each for itself. */
export async function deleteIndexDesigns(
  parts: IndexParts,
  ids: readonly string[],
): Promise<DeletedDesign[]> {
  const results: DeletedDesign[] = []
  for (const id of ids) {
    try {
      await changeDesign(parts, id, existing => {
        if (existing && member(existing, 'language') === 'query') return null
        throw new Failure('document_missing', { reason: 'missing' })
      })
      results.push({ id })
    } catch (thrown) {
      if (!isFailure(thrown)) throw thrown
      results.push({ id, failure: thrown })
    }
  }
  return results
}

/** The body it shall have; null: it goes; undefined: it stays as it is. */
type Change = (existing: JsonObject | undefined) => JsonObject | null | undefined

/** Makes a change to a design document, again when somebody else was quicker. True when something changed. */
async function changeDesign(parts: IndexParts, id: string, change: Change): Promise<boolean> {
  const { host } = parts
  for (let attempt = 1; ; attempt++) {
    const stored = await loadDocument(host.database, id)
    const body = change(stored === undefined || stored.deleted ? undefined : bodyOf(stored))
    if (body === undefined) return false
    const document = fromParts({
      id,
      rev: stored?.deleted ? undefined : stored?.winner,
      deleted: body === null,
      body: body ?? {},
    })
    const attachments = body === null || stored === undefined ? [] : keptOf(stored)
    const [result] = await host.writeDocuments([{ id, document, attachments }], 'interactive')
    if (result?.ok) return true
    const isConflict = isFailure(result?.failure, 'document_conflict')
    if (!isConflict || attempt === ATTEMPTS_MAX) throw refusal(parts, result?.failure)
  }
}

const ATTEMPTS_MAX = 10

/** CouchDB does not say more about a refusal than that it was one. */
function refusal({ dialect }: IndexParts, failure: Failure | undefined): Failure {
  const isRefused = isFailure(failure, 'unauthorized') || isFailure(failure, 'forbidden')
  if (!isRefused || dialect.serverAdminForIndexAndSecurity) {
    return failure ?? new Failure('engine_busy')
  }
  const reason = 'Unknown error while saving the design document: forbidden'
  return new Failure('index_unsaved', { reason }, failure)
}

function bodyOf({ body }: StoredDocument): JsonObject {
  const json = JSON.parse(body.toString())
  return isJsonObject(json) ? json : {}
}

const keptOf = ({ deleted, attachments }: StoredDocument): EditAttachment[] =>
  deleted
    ? []
    : decodeAttachments(attachments).map(stored => ({ kind: 'kept', name: stored.name, stored }))
