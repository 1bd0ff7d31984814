/**
 * Telemetry and feedback of all users, gathered from the database that each has of his own into one, once a night. What
 * was copied is purged at its source; what could not be is copied again the next time, and is then there already.
 */
import { applicationDatabase } from '../../base/product-names.ts'
import { parseRevision } from '../../core/document/revision.ts'
import type { ServerOperations } from '../../core/operations/operations.ts'
import { type Document, without } from '../documents/document.ts'
import { DocumentDatabase } from '../documents/document-database.ts'

const PREFIXES = ['feedback-', 'interaction-', 'telemetry-']
const BATCH = 100

/** How many were copied. */
export async function copyUsersMeta(
  server: ServerOperations,
  target: DocumentDatabase,
  signal: AbortSignal,
): Promise<number> {
  const own = new RegExp(`^${applicationDatabase('user-')}.+-meta$`)
  let count = 0
  for (const name of await server.databaseNames()) {
    if (!own.test(name)) continue
    const source = new DocumentDatabase(server, name)
    for (const prefix of PREFIXES) {
      for (let moved = BATCH; moved === BATCH && !signal.aborted; count += moved) {
        moved = await moveBatch(source, target, prefix)
      }
    }
  }
  return count
}

async function moveBatch(
  source: DocumentDatabase,
  target: DocumentDatabase,
  prefix: string,
): Promise<number> {
  const database = await source.open()
  const range = { start: prefix, end: `${prefix}\ufff0`, limit: BATCH }
  const ids: string[] = []
  for await (const rows of (await database.listDocuments('all', range)).rows) {
    for (const row of rows) ids.push(row.view({}).id)
  }
  const documents = (await source.getMany(ids)).filter(document => document !== undefined)
  const outcomes = await target.putMany(documents.map(plain))
  for (const outcome of outcomes) {
    if (!outcome.ok && outcome.failure.code !== 'document_conflict') throw outcome.failure
  }
  const requests = documents.map(({ _id, _rev }) => ({
    id: _id,
    revs: [parseRevision(_rev as string)],
  }))
  await database.purge(requests, { documentsMax: BATCH, revisionsMax: BATCH })
  return documents.length
}

const plain = (document: Document): Document =>
  without(document, '_rev', '_attachments') as unknown as Document
