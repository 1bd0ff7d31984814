/**
 * Contacts for other programs: ids, names, codes, types. In the order in which lists show them: the living, the not
 * muted, the hierarchy, the name; without any filter by type and id.
 *
 * To be put in order, ids and names are kept for a while; beyond `SORTED_MAX` contacts they come in the order of the
 * index of types instead.
 */
import type { ApplicationContext } from '../application-context.ts'
import { CONTACT_DOCUMENT_TYPES, typeIdOf, USUAL_TYPES } from '../contacts/contact-types.ts'
import type { FreetextTerm } from '../contacts/freetext.ts'
import { termRange } from '../contacts/freetext.ts'
import { type Document, idIn, isText, type JsonObject } from '../documents/document.ts'
import type { DocumentDatabase, RowQuery } from '../documents/document-database.ts'
import type { Cell } from './csv.ts'
import { csvHeading, csvLines } from './csv.ts'
import { type ExportRequest, selectedIn } from './export-request.ts'
import { slices } from './find-reports.ts'
import { contactHasWords, parseSearch } from './search-words.ts'

interface ContactFilters {
  readonly types?: ReadonlySet<string> | undefined
  readonly words: readonly FreetextTerm[]
  readonly parent?: string | undefined
}

const MEMBERS = ['id', 'rev', 'name', 'patient_id', 'type', 'contact_type', 'place_id']
const SORTED_MAX = 500_000

export async function* exportContactsAsCsv(
  context: ApplicationContext,
  request: ExportRequest,
  signal?: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  yield csvHeading(MEMBERS)
  for await (const contacts of findContacts(context, request, signal)) {
    yield csvLines(contacts.map(contact => cellsOf(contact)))
  }
}

/** The same as JSON objects, in batches. */
export async function* exportContactsAsJson(
  context: ApplicationContext,
  request: ExportRequest,
  signal?: AbortSignal,
): AsyncGenerator<readonly string[], void, undefined> {
  for await (const contacts of findContacts(context, request, signal)) {
    yield contacts.map(contact => {
      const cells = cellsOf(contact)
      const members = MEMBERS.map((member, index) => [member, cells[index]] as const)
      return JSON.stringify(Object.fromEntries(members))
    })
  }
}

function cellsOf(contact: Document): Cell[] {
  const { name, patient_id, type, contact_type, place_id } = contact
  return [contact._id, contact._rev, name, patient_id, type, contact_type, place_id] as Cell[]
}

async function* findContacts(
  context: ApplicationContext,
  { filters, options }: ExportRequest,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly Document[], void, undefined> {
  const parsed = parseContactFilters(filters)
  for await (const ids of contactIds(context, parsed, options.batchCount, signal)) {
    const documents = await context.data.getMany(ids)
    const contacts = documents.filter(document => document !== undefined)
    const wanted = contacts.filter(contact => isFilteredContact(contact, parsed))
    if (wanted.length > 0) yield wanted
  }
}

function parseContactFilters({ types, search, parent }: JsonObject): ContactFilters {
  return {
    types: selectedIn(types, 'id'),
    words: parseSearch(search),
    parent: isText(parent) ? parent : undefined,
  }
}

const isFilteredContact = (contact: Document, { types, words, parent }: ContactFilters): boolean =>
  CONTACT_DOCUMENT_TYPES.includes(contact.type as string) &&
  (types === undefined || types.has(String(typeIdOf(contact)))) &&
  (parent === undefined || idIn(contact.parent) === parent) &&
  contactHasWords(contact, words)

interface Question {
  readonly view: string
  readonly query: RowQuery
}

/** Undefined where there is no filter. */
function questionOf({ types, words, parent }: ContactFilters): Question | undefined {
  if (parent !== undefined) {
    const query = { startKey: [parent], endKey: [parent, {}] }
    return { view: 'contacts_by_parent', query }
  }
  const [word] = [...words].sort((a, b) => b.text.length - a.text.length)
  if (word !== undefined) return { view: 'contacts_by_freetext', query: termRange(word) }
  if (types === undefined) return undefined
  return {
    view: 'contacts_by_type',
    query: { keys: [...types].map(type => [type]), reduce: false },
  }
}

async function* contactIds(
  context: ApplicationContext,
  filters: ContactFilters,
  batchCount: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly string[], void, undefined> {
  const { data } = context
  const question = questionOf(filters)
  const sorted = question && (await sortedIds(context, question, signal))
  if (sorted !== undefined) return yield* slices(sorted, batchCount)
  const keys = filters.types && { keys: [...filters.types].map(type => [type]) }
  const query = { ...keys, reduce: false }
  for await (const rows of data.rows(`${data.name}-client`, 'contacts_by_type', query, signal)) {
    yield* slices(
      rows.map(({ id }) => id),
      batchCount,
    )
  }
}

/** Undefined when there are too many to put in order. */
async function sortedIds(
  { data }: ApplicationContext,
  { view, query }: Question,
  signal: AbortSignal | undefined,
): Promise<string[] | undefined> {
  const found = new Map<string, string>()
  for await (const rows of data.rows(`${data.name}-client`, view, query, signal)) {
    for (const { id, value } of rows) found.set(id, typeof value === 'string' ? value : '')
    if (found.size > SORTED_MAX) return undefined
  }
  if (view === 'contacts_by_parent') await addSortTexts(data, found)
  return [...found].sort(([a, x], [b, y]) => compare(x, y) || compare(a, b)).map(([id]) => id)
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const READ_COUNT = 500

/** The index of children does not have them. */
async function addSortTexts(data: DocumentDatabase, found: Map<string, string>): Promise<void> {
  for (const ids of slices([...found.keys()], READ_COUNT)) {
    const documents = await data.getMany(ids)
    for (const document of documents) {
      if (document !== undefined) found.set(document._id, sortTextOf(document))
    }
  }
}

/** As the indexes have it (`install/designs/map-function.ts`). */
function sortTextOf(contact: Document): string {
  const typeId = String(typeIdOf(contact))
  const rank = USUAL_TYPES.indexOf(typeId)
  const place = rank >= 0 ? rank : typeId
  const name = typeof contact.name === 'string' ? contact.name.toLowerCase() : ''
  return `${Boolean(contact.date_of_death)} ${Boolean(contact.muted)} ${place} ${name}`
}
