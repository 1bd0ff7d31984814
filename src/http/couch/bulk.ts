/** Many documents in one request: `_bulk_docs` writes them, `_revs_diff` and `_missing_revs` compare revisions. */
import { Failure } from '../../base/errors.ts'
import type { EditResult } from '../../core/database/commit-edits.ts'
import type { EditMode } from '../../core/document/apply-edit.ts'
import { type IncomingDocument, scanBulkDocs } from '../../core/document/incoming-document.ts'
import { parseRevision, printRevision, type Revision } from '../../core/document/revision.ts'
import { checkStubs } from '../../core/operations/check-stubs.ts'
import type { DocumentWrite } from '../../core/operations/write-documents.ts'
import type { Reply } from '../kit/reply.ts'
import { limitsOf } from './documents.ts'
import { presentFailure } from './error-table.ts'
import type { Exchange } from './exchange.ts'
import { parseJsonObject } from './parse-view-query.ts'

export async function postBulkDocs(exchange: Exchange): Promise<Reply> {
  exchange.requireJsonType()
  const bytes = await exchange.request.bytes()
  const { documents, newEdits, other } = scanBulkDocs(bytes, limitsOf(exchange))
  if (other.get('all_or_nothing') === true) return refuseAllOrNothing(exchange, documents)
  const mode = newEdits === false ? 'replicated' : 'interactive'
  if (mode === 'replicated') for (const document of documents) requireRevision(document)
  const writes = await writesOf(exchange, documents)
  await refuseEmptyStubs(exchange, writes, mode)
  const results = await exchange.database.writeDocuments(writes, mode)
  const status = isRejected(writes, results, mode) ? exchange.dialect.bulkRejectedStatus : 201
  return exchange.json(status, presentResults(exchange, writes, results, mode))
}

function refuseAllOrNothing(exchange: Exchange, documents: readonly IncomingDocument[]): Reply {
  const results = documents.map(({ id = null }) => ({
    id,
    rev: '0-',
    error: 'not_implemented',
    reason: 'all_or_nothing is not supported',
  }))
  return exchange.value(417, results)
}

function requireRevision({ id, rev, revisions }: IncomingDocument): void {
  if (rev !== undefined || revisions !== undefined || id?.startsWith('_local/')) return
  const reason = 'When `new_edits: false`, the document needs `_rev` or `_revisions` specified'
  throw new Failure('request_invalid', { reason })
}

async function writesOf(
  exchange: Exchange,
  documents: readonly IncomingDocument[],
): Promise<DocumentWrite[]> {
  const { database } = exchange
  const nameless = documents.reduce((count, { id }) => count + (id === undefined ? 1 : 0), 0)
  const newIds = nameless === 0 ? [] : exchange.server.newIds(nameless)
  let next = 0
  const writes: DocumentWrite[] = []
  try {
    for (const document of documents) {
      const id = document.id ?? (newIds[next++] as string)
      // One bad id refuses them all.
      database.checkId(id)
      const incoming = document.attachments
      // CouchDB's bulk writes take the parent of an unknown document on trust, single ones do not.
      if (incoming === undefined) writes.push({ id, document, trustsParent: true })
      else {
        const attachments = await database.prepareAttachments(incoming)
        writes.push({ id, document, attachments, trustsParent: true })
      }
    }
  } catch (thrown) {
    for (const { attachments } of writes) await database.discardAttachments(attachments ?? [])
    throw thrown
  }
  return writes
}

/** A stub without content refuses the whole request, before anything is written. */
async function refuseEmptyStubs(
  { database }: Exchange,
  writes: readonly DocumentWrite[],
  mode: EditMode,
): Promise<void> {
  try {
    await checkStubs(database, writes, mode)
  } catch (thrown) {
    for (const { attachments } of writes) await database.discardAttachments(attachments ?? [])
    throw thrown
  }
}

/**
 * Did a validation function refuse one? Design documents are none of their business. Replicated writes are told item by
 * item only.
 */
const isRejected = (
  writes: readonly DocumentWrite[],
  results: readonly EditResult[],
  mode: EditMode,
): boolean =>
  mode === 'interactive' &&
  results.some(
    (result, index) =>
      !result.ok &&
      (result.failure.code === 'forbidden' || result.failure.code === 'unauthorized') &&
      !writes[index]?.id.startsWith('_design/'),
  )

function presentResults(
  exchange: Exchange,
  writes: readonly DocumentWrite[],
  results: readonly EditResult[],
  mode: EditMode,
): string {
  const items: string[] = []
  for (const [index, result] of results.entries()) {
    const { id, document } = writes[index] as DocumentWrite
    if (!result.ok) items.push(presentRefusal(exchange, id, document, result.failure, mode))
    else if (mode === 'interactive') {
      items.push(`{"ok":true,"id":${JSON.stringify(id)},"rev":${quoteRevision(result.rev)}}`)
    }
  }
  return `[${items.join(',')}]`
}

const quoteRevision = (rev: Revision): string =>
  rev.id.length === 16 ? `"${printRevision(rev)}"` : JSON.stringify(printRevision(rev))

function presentRefusal(
  { dialect }: Exchange,
  id: string,
  document: IncomingDocument,
  failure: Failure,
  mode: EditMode,
): string {
  const { error, reason } = presentFailure(failure, dialect)
  const { rev } = document
  const named = mode === 'replicated' && rev !== undefined ? { rev: printRevision(rev) } : {}
  return JSON.stringify({ id, ...named, error, reason })
}

export async function postRevsDiff(exchange: Exchange): Promise<Reply> {
  const differences = await exchange.database.compareRevisions(await offeredRevisions(exchange))
  const items = differences.map(({ id, missing, possibleAncestors }) => {
    const ancestors =
      possibleAncestors.length === 0 ? '' : `,"possible_ancestors":${list(possibleAncestors)}`
    return `${JSON.stringify(id)}:{"missing":${list(missing)}${ancestors}}`
  })
  return exchange.json(200, `{${items.join(',')}}`)
}

export async function postMissingRevs(exchange: Exchange): Promise<Reply> {
  const differences = await exchange.database.compareRevisions(await offeredRevisions(exchange))
  const items = differences.map(({ id, missing }) => `${JSON.stringify(id)}:${list(missing)}`)
  return exchange.json(200, `{"missing_revs":{${items.join(',')}}}`)
}

const list = (revs: readonly Revision[]): string => `[${revs.map(quoteRevision).join(',')}]`

async function offeredRevisions(exchange: Exchange): Promise<Map<string, Revision[]>> {
  exchange.requireJsonType()
  const offered = new Map<string, Revision[]>()
  for (const [id, revs] of parseJsonObject(await exchange.request.bytes())) {
    if (!Array.isArray(revs)) {
      // CouchDB fails on it in a way of its own, and clients see a 500.
      throw new Failure('unexpected', { reason: `a list of revisions is expected for ${id}` })
    }
    offered.set(id, revs.map(parseRevision))
  }
  return offered
}
