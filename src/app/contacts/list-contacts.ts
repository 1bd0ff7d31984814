/** Pages of contacts: ids by type and words, documents of people or places by type. */
import type { ApplicationContext } from '../application-context.ts'
import type { Document } from '../documents/document.ts'
import type { ViewRow } from '../documents/document-database.ts'
import { fillPage, type Page, type PageRequest } from '../documents/page.ts'
import { invalid } from '../documents/refusal.ts'
import { ContactTypes } from './contact-types.ts'
import { parseFreetext, termRange } from './freetext.ts'
import { type ContactKind, isOfKind } from './read-contact.ts'

export interface ContactSearch {
  readonly type?: unknown
  readonly freetext?: unknown
}

/** Ids of contacts of a type, or with a word, or both. An id comes once in a page. */
export function listContactIds(
  { data, settings }: ApplicationContext,
  { type, freetext }: ContactSearch,
  page: PageRequest,
  signal?: AbortSignal,
): Page<string> {
  if (type === undefined && freetext === undefined) {
    throw invalid('Either query param freetext or type is required')
  }
  const types = ContactTypes.of(settings)
  const typeId = type === undefined ? undefined : requireType(type, id => types.isContactType(id))
  const design = `${data.name}-client`
  if (freetext === undefined) {
    const range = { startKey: [typeId], endKey: [typeId] }
    const query = { ...range, reduce: false }
    return fillPage(
      part => data.rows(design, 'contacts_by_type', { ...query, ...part }, signal),
      page,
      distinctIds(),
    )
  }
  const term = parseFreetext(freetext)
  const view = typeId === undefined ? 'contacts_by_freetext' : 'contacts_by_type_freetext'
  const range = termRange(term, typeId === undefined ? [] : [typeId])
  return fillPage(
    part => data.rows(design, view, { ...range, ...part }, signal),
    page,
    distinctIds(),
  )
}

/** Documents of a type of people, of places, or of either. */
export function listContacts(
  context: ApplicationContext,
  kind: ContactKind,
  type: unknown,
  page: PageRequest,
  signal?: AbortSignal,
): Page<Document> {
  const types = ContactTypes.of(context.settings)
  const isRight = (id: string): boolean => {
    if (kind === 'contact') return types.isContactType(id)
    return kind === 'person' ? types.isPersonType(id) : types.isPlaceType(id)
  }
  const key = [requireType(type, isRight)]
  const query = { startKey: key, endKey: key, reduce: false }
  const { data } = context
  const read = (part: PageRequest) =>
    data.rows(`${data.name}-client`, 'contacts_by_type', { ...query, ...part }, signal)
  return fillPage(read, page, async batch => {
    const documents = await data.getMany(batch.map(({ id }) => id))
    return documents.map(document =>
      document !== undefined && isOfKind(context, kind, document) ? document : undefined,
    )
  })
}

/** Shows each id once: a document is in an index of words with each of its words. */
export function distinctIds(): (rows: readonly ViewRow[]) => Promise<(string | undefined)[]> {
  const seen = new Set<string>()
  return async rows =>
    rows.map(({ id }) => {
      if (seen.has(id)) return undefined
      seen.add(id)
      return id
    })
}

function requireType(type: unknown, isRight: (id: string) => boolean): string {
  if (typeof type === 'string' && type !== '' && isRight(type)) return type
  const shown = typeof type === 'string' && type !== '' ? type : JSON.stringify(type)
  throw invalid(`Invalid contact type [${shown}].`)
}
