/**
 * Writing documents, the steps in order: may this user, are design documents well-formed, what validation functions
 * say, then one commit. One result per document, in order; a document that fails takes no other with it.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import { adminCheck } from '../auth/authorize.ts'
import type { DocumentEdit, EditResult } from '../database/commit-edits.ts'
import { isDesignId } from '../database/design-stamp.ts'
import { writeLocalDocument } from '../database/local-documents.ts'
import { checkFunctions } from '../design/check-functions.ts'
import type { DesignCache } from '../design/design-cache.ts'
import type { ListGate } from '../design/list-gate.ts'
import { validateUpdates } from '../design/validate-update.ts'
import type { EditMode } from '../document/apply-edit.ts'
import { readDesignDocument, validateDesignDocument } from '../document/design-document.ts'
import { validatePartitionedId } from '../document/document-id.ts'
import { printRevision, type Revision } from '../document/revision.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { OpenedDatabase } from './opened-database.ts'
import { discardAttachments } from './prepare-attachments.ts'

export type DocumentWrite = Omit<DocumentEdit, 'mode'>

/** What functions of design documents need: where they are, and where they run. */
export interface FunctionParts {
  readonly designs: DesignCache
  readonly sandbox: () => Sandbox
  readonly lists: ListGate
}

export interface WriteParts {
  readonly functions: FunctionParts
  /** External bytes from which on a partition takes no more; 0: no limit. */
  readonly partitionBytesMax: number
}

/** Attachments that were uploaded for writes that fail are discarded. */
export async function writeDocuments(
  opened: OpenedDatabase,
  writes: readonly DocumentWrite[],
  mode: EditMode,
  parts: WriteParts,
): Promise<EditResult[]> {
  try {
    const results = await writeAll(opened, writes, mode, parts)
    await discardRefused(opened, writes, results)
    return results
  } catch (thrown) {
    for (const { attachments } of writes)
      await discardAttachments(opened.database, attachments ?? [])
    throw thrown
  }
}

async function discardRefused(
  { database }: OpenedDatabase,
  writes: readonly DocumentWrite[],
  results: readonly EditResult[],
): Promise<void> {
  for (let index = 0; index < writes.length; index++) {
    const attachments = writes[index]?.attachments
    if (attachments === undefined || results[index]?.ok) continue
    await discardAttachments(database, attachments)
  }
}

/** Field by field: a copy of an object by its fields' names costs as much as all the rest of a small write. */
function editOf(write: DocumentWrite, mode: EditMode, partitionBytesMax: number): DocumentEdit {
  const { id, document, attachments, trustsParent, judgedBy } = write
  if (partitionBytesMax > 0 || judgedBy !== undefined || attachments !== undefined) {
    return { ...write, mode, ...(partitionBytesMax > 0 ? { partitionBytesMax } : {}) }
  }
  return trustsParent === undefined ? { id, document, mode } : { id, document, mode, trustsParent }
}

async function writeAll(
  opened: OpenedDatabase,
  writes: readonly DocumentWrite[],
  mode: EditMode,
  { partitionBytesMax, functions }: WriteParts,
): Promise<EditResult[]> {
  const { database, user } = opened
  const { partitioned } = database.properties
  // What was accepted elsewhere is accepted here: copies must become equal.
  const limit = mode === 'interactive' ? partitionBytesMax : 0
  const results: (EditResult | undefined)[] = []
  const edits: DocumentEdit[] = []
  const places: number[] = []
  for (let index = 0; index < writes.length; index++) {
    const write = writes[index] as DocumentWrite
    results.push(undefined)
    if (isDesign(write.id)) results[index] = await designRefusal(opened, write, functions)
    else if (isLocal(write.id)) results[index] = await writeLocal(opened, write)
    else if (partitioned) results[index] = idRefusal(write)
    if (results[index] !== undefined) continue
    edits.push(editOf(write, mode, limit))
    places.push(index)
  }
  const { designs, sandbox } = functions
  const judged = await validateUpdates({ designs, sandbox, database, user }, edits)
  const accepted = judged === undefined ? edits : edits.filter((_, at) => judged[at] === undefined)
  const committed = await database.write(accepted, bytesOf(accepted))
  let next = 0
  for (let at = 0; at < places.length; at++) {
    results[places[at] as number] = judged?.[at] ?? committed[next++]
  }
  return results as EditResult[]
}

const bytesOf = (edits: readonly DocumentEdit[]): number =>
  edits.reduce((sum, { document, attachments }) => {
    return sum + document.body.length + PER_DOCUMENT_BYTES + inlineBytes(attachments)
  }, 0)

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
export const isDesign = isDesignId

/** The failed result of a document whose id names no partition. */
function idRefusal({ id }: DocumentWrite): EditResult | undefined {
  try {
    validatePartitionedId(id)
    return undefined
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown
    return { ok: false, failure: thrown }
  }
}

/** The failed result of a design document that this user may not write or that breaks a rule. */
async function designRefusal(
  { user, security, database }: OpenedDatabase,
  { document }: DocumentWrite,
  { sandbox }: FunctionParts,
): Promise<EditResult | undefined> {
  try {
    adminCheck(user, security)
    if (document.deleted) return undefined
    const fields = JSON.parse(document.body.toString()) as Record<string, unknown>
    validateDesignDocument(fields, database.properties)
    await checkFunctions(sandbox, database.store.id, readDesignDocument(fields))
    return undefined
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown
    return { ok: false, failure: thrown }
  }
}

/** `0-N`: the generation of a local document, as its revision says it. */
async function writeLocal(
  opened: OpenedDatabase,
  { id, document }: DocumentWrite,
): Promise<EditResult> {
  const generation = document.rev === undefined ? undefined : generationOf(document.rev)
  const body = document.deleted ? undefined : document.body
  const next = await writeLocalDocument(opened.database.store, { id, generation, body })
  return { ok: true, rev: { pos: 0, id: Buffer.from(String(next)) } }
}

function generationOf(rev: Revision): number {
  const [, digits] = /^0-(\d{1,15})$/.exec(printRevision(rev)) ?? []
  if (digits !== undefined) return Number(digits)
  throw new Failure('request_invalid', { reason: 'Invalid rev format' })
}
