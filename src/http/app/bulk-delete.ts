/** `/api/v1/bulk-delete`: an array with one array for each batch, each sent as soon as its batch is deleted. */
import { isAdmin } from '../../app/access/permissions.ts'
import { isAdminOnly } from '../../app/access/protected-documents.ts'
import { deleteDocuments, parseDeletions } from '../../app/contacts/delete-documents.ts'
import { type Document, isObject } from '../../app/documents/document.ts'
import type { WriteOutcome } from '../../app/documents/document-database.ts'
import { joinRows, type RowBatch } from '../kit/json-stream.ts'
import { FLUSH, type Reply, streamReply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'
import { presentFailure } from './error-table.ts'

const HEADERS: readonly string[] = [
  'Content-Type',
  'application/json',
  'X-Content-Type-Options',
  'nosniff',
]

export async function postBulkDelete(exchange: AppExchange): Promise<Reply> {
  const given = await exchange.jsonBody()
  const ids = parseDeletions(isObject(given) ? given.docs : undefined)
  const frame = { prefix: '[', separator: ',', suffix: ']' }
  return streamReply(200, HEADERS, joinRows(frame, deleted(exchange, ids)))
}

async function* deleted(
  { context, user }: AppExchange,
  ids: readonly string[],
): AsyncGenerator<RowBatch, void, undefined> {
  const mayDelete = (document: Document) => isAdmin(user) || !isAdminOnly(document)
  for await (const outcomes of deleteDocuments(context, ids, mayDelete)) {
    yield [JSON.stringify(outcomes.map(presentOutcome))]
    yield FLUSH
  }
}

function presentOutcome(outcome: WriteOutcome) {
  if (outcome.ok) return { ok: true, id: outcome.id, rev: outcome.rev }
  const { error } = presentFailure(outcome.failure)
  return { id: outcome.id, error: WORDS[outcome.failure.code] ?? error, reason: error }
}

/** Single results look as those of the database's own bulk writes. */
const WORDS: Readonly<Record<string, string>> = {
  document_conflict: 'conflict',
  forbidden: 'forbidden',
}
