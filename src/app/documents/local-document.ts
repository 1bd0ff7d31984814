/** Local documents of a database: where somebody who follows it keeps his place. The last writer wins. */
import { isFailure } from '../../base/errors.ts'
import { fromParts } from '../../core/document/incoming-document.ts'
import type { JsonObject } from './document.ts'
import type { DocumentDatabase } from './document-database.ts'

/** Undefined when there is none. @param id with its `_local/` in front */
export async function readLocal(
  database: DocumentDatabase,
  id: string,
): Promise<JsonObject | undefined> {
  try {
    const { body } = await (await database.open()).readLocalDocument(id)
    return JSON.parse(body.toString()) as JsonObject
  } catch (thrown) {
    if (isFailure(thrown, 'document_missing')) return undefined
    throw thrown
  }
}

export async function writeLocal(
  database: DocumentDatabase,
  id: string,
  body: JsonObject,
): Promise<void> {
  const opened = await database.open()
  const write = { id, document: fromParts({ body }) }
  const [result] = await opened.writeDocuments([write], 'interactive')
  if (result?.ok === false) throw result.failure
}
