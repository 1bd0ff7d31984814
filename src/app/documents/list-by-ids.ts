/** Pages of documents that are named by their ids; those that are not there, or of another kind, are left out. */
import type { Document } from './document.ts'
import type { DocumentDatabase } from './document-database.ts'
import { fillPage, type Page, type PageRequest } from './page.ts'
import { invalid } from './refusal.ts'

/** Ids as a query has them: separated by commas, the parameter several times, or both. */
export const parseIdList = (given: string | readonly string[]): string[] =>
  [given]
    .flat()
    .flatMap(text => text.split(','))
    .map(text => text.trim())
    .filter(text => text !== '')

/** Ids as a body has them. Fails with `request_invalid`. */
export function requireIds(given: unknown): readonly string[] {
  const isList = Array.isArray(given) && given.every(id => typeof id === 'string' && id !== '')
  if (!isList) throw invalid(`Invalid identifiers [${JSON.stringify(given)}].`)
  return given
}

export function listByIds(
  data: DocumentDatabase,
  ids: readonly string[],
  page: PageRequest,
  isWanted: (document: Document) => boolean,
): Page<Document> {
  const distinct = [...new Set(ids)]
  async function* read({ skip, limit }: PageRequest): AsyncGenerator<readonly string[]> {
    const part = distinct.slice(skip, skip + limit)
    if (part.length > 0) yield part
  }
  return fillPage(read, page, async part => {
    const documents = await data.getMany(part)
    return documents.map(document =>
      document !== undefined && isWanted(document) ? document : undefined,
    )
  })
}
