/**
 * Documents with the people and places around them put in: ancestors, primary contacts, linked documents; for reports
 * also who sent them and whom they are about.
 *
 * Any number of documents costs the same few rounds of reading: short codes, subjects, ancestors, and then what those
 * refer to. The chain of ids that a document itself carries is what counts; an ancestor that is gone leaves its id.
 */
import type { ApplicationContext } from '../application-context.ts'
import { type Document, idIn, isObject, type JsonObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { CONTACT_DOCUMENT_TYPES, ContactTypes } from './contact-types.ts'
import { chainOf } from './lineage.ts'

/** One document alone: records without a form stay as they are. */
export async function hydrateOne(
  context: ApplicationContext,
  document: Document,
): Promise<JsonObject> {
  const [hydrated] = await hydrate(context, [document], isReport)
  return hydrated as JsonObject
}

/** Several: all records are hydrated, those without a form too. */
export const hydrateMany = (
  context: ApplicationContext,
  documents: readonly Document[],
): Promise<JsonObject[]> => hydrate(context, documents, isRecord)

const isRecord = (document: JsonObject): boolean => document.type === 'data_record'
const isReport = (document: JsonObject): boolean => isRecord(document) && Boolean(document.form)

async function hydrate(
  { data, settings }: ApplicationContext,
  documents: readonly Document[],
  isHydratedRecord: (document: JsonObject) => boolean,
): Promise<JsonObject[]> {
  const types = ContactTypes.of(settings)
  const isContact = (document: JsonObject): boolean =>
    CONTACT_DOCUMENT_TYPES.includes(document.type as string) || types.isContact(document)
  const records = documents.filter(isHydratedRecord)
  const contacts = documents.filter(document => !isHydratedRecord(document) && isContact(document))
  const subjects = await findSubjects(data, records)
  const chained = [...contacts, ...subjects.documents]
  const ids = [
    ...chained.flatMap(document => chainOf(document.parent, document._id)),
    ...records.flatMap(record => submitterChain(record)),
  ]
  const ancestors = ids.length === 0 ? new Map<string, Document>() : await data.getMap(ids)
  const around = await loadReferences(data, [...chained, ...ancestors.values()])
  const assembly = new Assembly(ancestors, around)
  return documents.map(document => {
    if (isHydratedRecord(document)) return assembly.record(document, subjects)
    return isContact(document) ? assembly.contact(document) : document
  })
}

/** Ids of who sent a record and of all above him; old records may have no more than his id. */
const submitterChain = ({ _id, contact }: Document): string[] =>
  typeof contact === 'string' && contact !== '' ? [contact] : chainOf(contact, _id)

interface Subjects {
  readonly documents: readonly Document[]
  find(value: unknown): Document | undefined
}

/** Whom records are about, by short code or else by id. */
async function findSubjects(
  data: DocumentDatabase,
  records: readonly Document[],
): Promise<Subjects> {
  const values = new Set<string>()
  for (const record of records) {
    for (const value of [patientOf(record), placeOf(record)]) {
      if (value !== undefined) values.add(value)
    }
  }
  if (values.size === 0) return { documents: [], find: () => undefined }
  const keys = [...values].map(value => ['shortcode', value])
  const rows = await data.allRows(`${data.name}-client`, 'contacts_by_reference', { keys })
  const idsByCode = new Map<string, string>()
  for (const { key, id } of rows) {
    const [, code] = key as [string, string]
    if (!idsByCode.has(code)) idsByCode.set(code, id)
  }
  const found = await data.getMap([...values].map(value => idsByCode.get(value) ?? value))
  return {
    documents: [...found.values()],
    find: value => found.get(idsByCode.get(value as string) ?? (value as string)),
  }
}

const fieldsOf = ({ fields }: Document): JsonObject => (isObject(fields) ? fields : {})

function patientOf(record: Document): string | undefined {
  const fields = fieldsOf(record)
  return codeText(fields.patient_id) ?? codeText(fields.patient_uuid) ?? codeText(record.patient_id)
}

const placeOf = (record: Document): string | undefined =>
  codeText(fieldsOf(record).place_id) ?? codeText(record.place_id)

const codeText = (value: unknown): string | undefined =>
  (typeof value === 'string' && value !== '') || typeof value === 'number'
    ? String(value)
    : undefined

/** Primary contacts and linked documents of all of these, in one round. */
async function loadReferences(
  data: DocumentDatabase,
  documents: readonly Document[],
): Promise<Map<string, Document>> {
  const ids = documents.flatMap(({ contact, linked_docs: links }) => [
    idIn(contact),
    ...(isObject(links) ? Object.values(links).map(idIn) : []),
  ])
  const wanted = ids.filter(id => id !== undefined)
  return wanted.length === 0 ? new Map() : data.getMap(wanted)
}

/** Puts documents together from what was read. */
class Assembly {
  readonly #ancestors: ReadonlyMap<string, Document>
  readonly #around: ReadonlyMap<string, Document>

  constructor(ancestors: ReadonlyMap<string, Document>, around: ReadonlyMap<string, Document>) {
    this.#ancestors = ancestors
    this.#around = around
  }

  contact(document: Document): JsonObject {
    const parent = this.#chain(chainOf(document.parent, document._id))
    const whole = this.#withReferences(document)
    return parent === undefined ? whole : { ...whole, parent }
  }

  record(document: Document, subjects: Subjects): JsonObject {
    const submitter = this.#chain(submitterChain(document))
    const patient = subjects.find(patientOf(document))
    const place = subjects.find(placeOf(document))
    return {
      ...document,
      ...(submitter === undefined ? {} : { contact: submitter }),
      ...(patient === undefined ? {} : { patient: this.contact(patient) }),
      ...(place === undefined ? {} : { place: this.contact(place) }),
    }
  }

  #chain(ids: readonly string[]): JsonObject | undefined {
    return ids.reduceRight<JsonObject | undefined>((parent, id) => {
      const document = this.#ancestors.get(id)
      const own = document === undefined ? { _id: id } : this.#withReferences(document)
      return parent === undefined ? own : { ...own, parent }
    }, undefined)
  }

  #withReferences(document: Document): JsonObject {
    const { contact, linked_docs: links } = document
    const primary = this.#around.get(idIn(contact) ?? '')
    const hydrated = primary === undefined ? document : { ...document, contact: primary }
    if (!isObject(links)) return hydrated
    const linked = Object.entries(links).map(
      ([name, link]) => [name, this.#around.get(idIn(link) ?? '') ?? link] as const,
    )
    return { ...hydrated, linked_docs: Object.fromEntries(linked) }
  }
}
