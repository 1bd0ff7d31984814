/**
 * Documents for rows of a view: the winner of the row's own document, or what the row's value names with `_id` and
 * perhaps `_rev`. Rows of a batch get their documents from one state of the database; those that are missing or deleted
 * have none.
 */
import { isFailure } from '../../base/errors.ts'
import type { ReadTx, Steps } from '../../engine/engine.ts'
import type { Database } from '../database/database.ts'
import { documentKey } from '../database/keyspace.ts'
import { decodeDocument } from '../database/stored-document.ts'
import { parseRevision, type Revision } from '../document/revision.ts'
import type { ViewRow } from '../view/scan-view.ts'
import { type DocumentView, openRevisionsIn, viewOfWinner } from './read-document.ts'

export interface RowWithDocument {
  /** The row as on the wire: a JSON object. */
  readonly text: Buffer
  readonly document: DocumentView | undefined
}

/** Documents read at once: they are held until their batch has gone out. */
const ROWS_AT_ONCE = 100

export async function* withDocuments(
  database: Database,
  batches: AsyncIterable<readonly ViewRow[]>,
  withConflicts: boolean,
): AsyncGenerator<RowWithDocument[], void, undefined> {
  for await (const rows of batches) {
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
      const part = rows.slice(at, at + ROWS_AT_ONCE)
      const named = part.map(nameOf)
      const documents = await database.read(tx => load(tx, named, withConflicts))
      yield part.map((row, index) => ({ text: row.text, document: documents[index] }))
    }
  }
}

interface Name {
  readonly id: string
  readonly rev?: Revision | undefined
}

function nameOf(row: ViewRow): Name {
  const { valueText } = row
  // Parsed only where it may be such a value: most are not.
  if (valueText[0] !== 0x7b || !valueText.includes(ID_MEMBER)) return { id: row.id }
  const value = JSON.parse(valueText.toString()) as { _id?: unknown; _rev?: unknown }
  if (typeof value._id !== 'string') return { id: row.id }
  return { id: value._id, rev: typeof value._rev === 'string' ? revisionOf(value._rev) : undefined }
}

const ID_MEMBER = Buffer.from('"_id"')

function revisionOf(text: string): Revision | undefined {
  try {
    return parseRevision(text)
  } catch (thrown) {
    if (isFailure(thrown)) return undefined
    throw thrown
  }
}

function* load(
  tx: ReadTx,
  names: readonly Name[],
  withConflicts: boolean,
): Steps<(DocumentView | undefined)[]> {
  const records = yield* tx.getMany(names.map(({ id }) => documentKey(id)))
  const documents: (DocumentView | undefined)[] = []
  for (const [index, { id, rev }] of names.entries()) {
    const record = records[index]
    if (record === undefined) documents.push(undefined)
    else if (rev !== undefined) documents.push(yield* revision(tx, id, rev))
    else {
      const stored = decodeDocument(record, id)
      const view = stored.deleted ? undefined : viewOfWinner(stored, { conflicts: withConflicts })
      documents.push(view)
    }
  }
  return documents
}

function* revision(tx: ReadTx, id: string, rev: Revision): Steps<DocumentView | undefined> {
  const [opened] = (yield* openRevisionsIn(tx, id, [rev], {})) ?? []
  return opened !== undefined && 'ok' in opened && !opened.ok.deleted ? opened.ok : undefined
}
