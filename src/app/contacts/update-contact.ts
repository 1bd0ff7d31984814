/**
 * Replacing one person or place: what the new document lacks is gone. Who and where it is cannot change this way.
 * Whole parents and contacts may come in; ids are what is stored, and the answer is what came in.
 */
import type { ApplicationContext } from '../application-context.ts'
import {
  type Document,
  idIn,
  isObject,
  isSameJson,
  isText,
  type JsonObject,
  without,
} from '../documents/document.ts'
import { invalid, notFound } from '../documents/refusal.ts'
import { ContactTypes } from './contact-types.ts'
import { refuseChanges, requireObject } from './field-rules.ts'
import { chainOf, minify, referenceTo } from './lineage.ts'
import { isOfKind } from './read-contact.ts'

const UNCHANGEABLE = ['_rev', 'reported_date', 'type', 'contact_type']

/** Fails with `request_invalid` or `document_missing`. */
export async function updateContact(
  context: ApplicationContext,
  kind: 'person' | 'place',
  id: string,
  given: unknown,
): Promise<JsonObject> {
  const fields: Document = { ...requireObject(given), _id: id }
  if (!isText(fields._rev) || !isText(fields.type)) {
    throw invalid('Valid _id, _rev, and type fields must be provided.')
  }
  const stored = await context.data.get(id)
  if (stored === undefined || !isOfKind(context, kind, stored)) {
    throw notFound(`${kind === 'person' ? 'Person' : 'Place'} record [${id}] not found.`)
  }
  refuseChanges(UNCHANGEABLE, name => isSameJson(fields[name], stored[name]))
  checkName(kind, fields, stored)
  checkLineage(fields, stored)
  const contact = kind === 'place' ? await contactFor(context, fields.contact) : fields.contact
  const bare = without(fields, 'contact') as Document
  const { rev } = await context.data.put(
    minify(contact === undefined ? bare : { ...bare, contact }),
  )
  return { ...fields, _rev: rev }
}

function checkName(kind: 'person' | 'place', fields: JsonObject, { name }: JsonObject): void {
  const mustBeText = kind === 'person' ? Boolean(name) : fields.name !== name
  if (mustBeText && !isText(fields.name)) {
    throw invalid('The [name] field must have a [string] value.')
  }
}

function checkLineage(fields: Document, stored: Document): void {
  const given =
    typeof fields.parent === 'string' ? [fields.parent] : chainOf(fields.parent, fields._id)
  if (!isSameJson(given, chainOf(stored.parent, stored._id))) {
    throw invalid('Parent lineage does not match.')
  }
}

/** The primary contact in its stored form. */
async function contactFor({ data, settings }: ApplicationContext, given: unknown) {
  if (given === undefined || given === null) return undefined
  const id = idIn(given)
  const contact = id === undefined ? undefined : await data.get(id)
  if (contact === undefined || !ContactTypes.of(settings).isContact(contact)) {
    throw invalid(`No valid contact found for [${id ?? JSON.stringify(given)}].`)
  }
  const reference = referenceTo(contact)
  if (isObject(given) && !isSameJson(chainOf(given, contact._id), chainOf(reference))) {
    throw invalid('The given contact lineage does not match the current lineage for that contact.')
  }
  return reference
}
