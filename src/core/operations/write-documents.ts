/**
 * Writing documents, the steps in order: may this user, are design documents well-formed, what the system databases ask,
 * what validation functions say, then one commit. One result per document, in order; a document that fails takes no other
 * with it.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import { adminCheck } from '../auth/authorize.ts'
import type { DocumentEdit, EditResult } from '../database/commit-edits.ts'
import { writeLocalDocument } from '../database/local-documents.ts'
import type { EditMode } from '../document/apply-edit.ts'
import { validateDesignDocument } from '../document/design-document.ts'
import { printRevision, type Revision } from '../document/revision.ts'
import type { DatabaseOperations } from './operations.ts'

export type DocumentWrite = Omit<DocumentEdit, 'mode'>

/** Attachments that were uploaded for writes that fail are discarded. */
export async function writeDocuments(
  operations: DatabaseOperations,
  writes: readonly DocumentWrite[],
  mode: EditMode,
): Promise<EditResult[]> {
  try {
    const results = await writeAll(operations, writes, mode)
    for (const [index, { attachments }] of writes.entries()) {
      if (attachments !== undefined && !results[index]?.ok) {
        await operations.discardAttachments(attachments)
      }
    }
    return results
  } catch (thrown) {
    for (const { attachments } of writes) await operations.discardAttachments(attachments ?? [])
    throw thrown
  }
}

async function writeAll(
  operations: DatabaseOperations,
  writes: readonly DocumentWrite[],
  mode: EditMode,
): Promise<EditResult[]> {
  const results: (EditResult | undefined)[] = []
  for (const write of writes) results.push(await firstRefusal(operations, write))
  const edits: DocumentEdit[] = []
  const places: number[] = []
  let bytes = 0
  for (const [index, write] of writes.entries()) {
    if (results[index] !== undefined) continue
    if (isLocal(write.id)) {
      results[index] = await writeLocal(operations, write)
      continue
    }
    bytes += write.document.body.length + PER_DOCUMENT_BYTES + inlineBytes(write.attachments)
    edits.push({ ...write, mode })
    places.push(index)
  }
  const committed = await operations.database.write(edits, bytes)
  for (const [index, result] of committed.entries()) results[places[index] as number] = result
  return results as EditResult[]
}

const PER_DOCUMENT_BYTES = 256

/** Of the contents that ride in the commit itself. */
function inlineBytes(attachments: DocumentWrite['attachments']): number {
  let bytes = 0
  for (const attachment of attachments ?? []) {
    if (attachment.kind === 'new') bytes += attachment.content.inline?.length ?? 0
  }
  return bytes
}

export const isLocal = (id: string): boolean => id.startsWith('_local/')
export const isDesign = (id: string): boolean => id.startsWith('_design/')

/** A failed document's result, or undefined when nothing speaks against it so far. */
async function firstRefusal(
  operations: DatabaseOperations,
  write: DocumentWrite,
): Promise<EditResult | undefined> {
  try {
    if (isDesign(write.id)) {
      adminCheck(operations.user, operations.security)
      if (!write.document.deleted)
        validateDesignDocument(JSON.parse(write.document.body.toString()))
    }
    return undefined
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown
    return { ok: false, failure: thrown }
  }
}

/** `0-N`: the generation of a local document, as its revision says it. */
async function writeLocal(
  operations: DatabaseOperations,
  { id, document }: DocumentWrite,
): Promise<EditResult> {
  const generation = document.rev === undefined ? undefined : generationOf(document.rev)
  const body = document.deleted ? undefined : document.body
  const next = await writeLocalDocument(operations.database.store, { id, generation, body })
  return { ok: true, rev: { pos: 0, id: Buffer.from(String(next)) } }
}

function generationOf(rev: Revision): number {
  const [, digits] = /^0-(\d{1,15})$/.exec(printRevision(rev)) ?? []
  if (digits !== undefined) return Number(digits)
  throw new Failure('request_invalid', { reason: 'Invalid rev format' })
}
