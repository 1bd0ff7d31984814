/**
 * What some views would say about a document that is not written yet, or was written so lately that their indexes do not
 * know it. Transitions of one batch see each other's work through them. Each is the same rule as the map function of that
 * name in `install/designs/`.
 */
import { CONTACT_DOCUMENT_TYPES } from '../contacts/contact-types.ts'
import { chainOf } from '../contacts/lineage.ts'
import { type Document, idIn, isObject, type JsonObject } from '../documents/document.ts'

export type Emit = (document: Document) => readonly unknown[]

const isContact = ({ type }: Document): boolean => CONTACT_DOCUMENT_TYPES.includes(type as string)
const isReport = ({ type, form }: Document): boolean => type === 'data_record' && Boolean(form)
const fieldsOf = ({ fields }: Document): JsonObject => (isObject(fields) ? fields : {})
const distinct = (values: readonly unknown[]): string[] => [
  ...new Set(values.filter(Boolean).map(String)),
]

/** As JavaScript sees it: people's documents have texts and objects where lists should be. */
const hasLength = (value: unknown): boolean =>
  Boolean(value && (value as { readonly length?: unknown }).length)

const pairsOf = (object: JsonObject): string[][] =>
  Object.entries(object).flatMap(([name, value]) => {
    const isShown = (typeof value === 'string' && value !== '') || typeof value === 'number'
    return isShown
      ? [[`${name.toLowerCase()}:${String(value).trim().normalize('NFC').toLowerCase()}`]]
      : []
  })

/** Keys as JSON; none of a document that makes the rule throw, as with map functions. */
export function keyTexts(emit: Emit, document: Document): string[] {
  try {
    return emit(document).map(key => JSON.stringify(key))
  } catch (thrown) {
    if (thrown instanceof TypeError) return []
    throw thrown
  }
}

/** Keys that a document has in a view, by design document (without the database's name) and view. */
export const EMITS: Readonly<Record<string, Emit>> = {
  '-client/contacts_by_phone': document =>
    isContact(document) && document.phone ? [document.phone] : [],
  '-client/contacts_by_reference': document => {
    if (!isContact(document) && document.type !== 'national_office') return []
    const codes = [document.place_id, document.patient_id].filter(Boolean)
    const external = document.rc_code ? [['external', String(document.rc_code).toUpperCase()]] : []
    return [...codes.map(code => ['shortcode', String(code)]), ...external]
  },
  '-client/registered_patients': document => {
    if (!isReport(document) || hasLength(document.errors)) return []
    const fields = fieldsOf(document)
    return [document.patient_id || fields.patient_id, document.place_id || fields.place_id]
      .filter(Boolean)
      .map(String)
  },
  '-client/reports_by_subject': document => {
    if (!isReport(document)) return []
    const fields = fieldsOf(document)
    return distinct([
      document.patient_id,
      document.place_id,
      document.case_id,
      fields.patient_id,
      fields.place_id,
      fields.case_id,
      fields.patient_uuid,
      fields.place_uuid,
    ])
  },
  '-client/reports_by_form': document => (isReport(document) ? [[document.form]] : []),
  '-client/reports_by_date': document => (isReport(document) ? [[document.reported_date]] : []),
  // Pairs of a name and a value alone: nobody here asks for single words.
  '-client/reports_by_freetext': document =>
    isReport(document) ? [document, fieldsOf(document)].flatMap(pairsOf) : [],
  '/docs_by_shortcode': ({ place_id: place, patient_id: patient, case_id: record }) =>
    [place, patient, record].filter(Boolean),
  '/contacts_by_depth': document =>
    isContact(document) ? [document._id, ...chainOf(document.parent)].map(id => [id]) : [],
  '/contacts_by_primary_contact': document => {
    const primary = isContact(document) ? idIn(document.contact) : undefined
    return primary === undefined ? [] : [primary]
  },
}
