/**
 * A registration makes a person or a place. The new document's id follows from the report's, so that it is made once
 * however often the report is worked on, and its short id is found again in it.
 *
 * Refusals are codes, for which the settings may have a text: the place it belongs to is missing, unknown or of a kind
 * that cannot hold it, or the id that the report brings along belongs to somebody else.
 */
import { ContactTypes, typeIdOf } from '../../contacts/contact-types.ts'
import { hydrateOne } from '../../contacts/hydrate.ts'
import { referenceTo } from '../../contacts/lineage.ts'
import { type Document, idIn, isObject, isText, type JsonObject } from '../../documents/document.ts'
import { stableUuid } from '../stable-id.ts'
import type { Work } from '../work.ts'
import { fieldOf, textParameter } from './parameters.ts'

export interface ContactKind {
  readonly name: 'patient' | 'place'
  /** Where the contact and the report have its short id. */
  readonly codeMember: 'patient_id' | 'place_id'
  readonly nameField: string
  readonly defaultType: string | undefined
}

export const PATIENT: ContactKind = {
  name: 'patient',
  codeMember: 'patient_id',
  nameField: 'patient_name',
  defaultType: 'person',
}

export const PLACE: ContactKind = {
  name: 'place',
  codeMember: 'place_id',
  nameField: 'place_name',
  defaultType: undefined,
}

/** The code of a refusal, or undefined when all went well. */
export async function addContact(
  work: Work,
  kind: ContactKind,
  parameters: JsonObject,
): Promise<string | undefined> {
  const { data } = work.desk
  const typeId = textParameter(parameters, 'contact_type') ?? kind.defaultType
  if (typeId === undefined) throw new Error(`add_${kind.name} needs a contact_type`)
  const id = stableUuid(work.id, `add_${kind.name}`)
  const made = await data.get(id)
  if (made !== undefined) return adopt(work, kind, made)
  // A report that has an id already was registered elsewhere.
  if (isText(work.stored[kind.codeMember])) return undefined
  const parent = await findParent(work, parameters, typeId)
  if (typeof parent === 'string') return parent
  const code = await codeFor(work, kind, parameters)
  if (code.refusal !== undefined) return code.refusal
  const contact = contactOf(work, kind, { id, typeId, parent, code: code.code, parameters })
  work.changeOther(contact)
  return adopt(work, kind, contact)
}

/** The report names what was made for it. */
async function adopt(work: Work, kind: ContactKind, contact: Document): Promise<undefined> {
  const code = contact[kind.codeMember]
  const whole = { [kind.name]: await hydrateOne(work.desk, contact) }
  work.set({ [kind.codeMember]: code }, { [kind.codeMember]: code, ...whole })
  return undefined
}

interface NewContact {
  readonly id: string
  readonly typeId: string
  readonly parent: Document | undefined
  readonly code: string
  readonly parameters: JsonObject
}

function contactOf(
  work: Work,
  kind: ContactKind,
  { id, typeId, parent, code, parameters }: NewContact,
): Document {
  const isUsual = ['person', 'clinic', 'health_center', 'district_hospital'].includes(typeId)
  const nameField = textParameter(parameters, `${kind.name}_name_field`) ?? kind.nameField
  const { birth_date: birthDate } = work.stored
  return {
    _id: id,
    ...(isUsual ? { type: typeId } : { type: 'contact', contact_type: typeId }),
    name: fieldOf(work.fields, nameField),
    ...(parent === undefined ? {} : { parent: referenceTo(parent) }),
    [kind.codeMember]: code,
    reported_date: work.reportedMs,
    ...(work.contactId === undefined ? {} : { created_by: work.contactId }),
    source_id: work.id,
    ...(kind === PATIENT && isText(birthDate) ? { date_of_birth: birthDate } : {}),
  }
}

/** The place it belongs to; the code of a refusal; or nothing where whoever sent the report has none. */
async function findParent(
  work: Work,
  parameters: JsonObject,
  typeId: string,
): Promise<Document | string | undefined> {
  const field = textParameter(parameters, 'parent_id')
  const { data, client, settings } = work.desk
  if (field === undefined) {
    const id = isObject(work.contact) ? idIn(work.contact.parent) : undefined
    return id === undefined ? undefined : data.get(id)
  }
  const given = fieldOf(work.fields, field)
  if (given === undefined || given === null || given === '') return 'parent_field_not_provided'
  const keys = [['shortcode', String(given)]]
  const rows = await data.allRows(client, 'contacts_by_reference', { keys })
  const parent = await data.get(rows[0]?.id ?? String(given))
  const types = ContactTypes.of(settings)
  if (parent === undefined || !types.isContact(parent)) return 'parent_not_found'
  const allowed = types.find(typeId)?.parents ?? []
  return allowed.includes(typeIdOf(parent) as string) ? parent : 'parent_invalid'
}

type Code = { readonly code: string; readonly refusal?: undefined } | { readonly refusal: string }

/** One of ours, or the one that the report brings along. */
async function codeFor(work: Work, kind: ContactKind, parameters: JsonObject): Promise<Code> {
  const field = textParameter(parameters, `${kind.name}_id_field`)
  if (field === undefined) return { code: await work.desk.shortCodes.next() }
  const given = fieldOf(work.fields, field)
  if (given === undefined || given === null || given === '') {
    return { refusal: `no_provided_${kind.codeMember}` }
  }
  const { data } = work.desk
  const rows = await data.allRows(data.name, 'docs_by_shortcode', { keys: [String(given)] })
  const others = rows.filter(({ id }) => id !== work.id)
  return others.length > 0
    ? { refusal: `provided_${kind.codeMember}_not_unique` }
    : { code: String(given) }
}
