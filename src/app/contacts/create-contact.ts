/** Creating one person or place the strict way: references are ids, and the stored document is the answer. */
import type { ApplicationContext } from '../application-context.ts'
import { type Document, type JsonObject, without } from '../documents/document.ts'
import { invalid } from '../documents/refusal.ts'
import type { ContactTypeSetting } from '../settings/settings.ts'
import { ContactTypes, typeIdOf } from './contact-types.ts'
import {
  checkDate,
  checkOptionalTexts,
  refuseIdentity,
  reportedDateOf,
  requireObject,
  requireTexts,
} from './field-rules.ts'
import { type MinimalContact, referenceTo } from './lineage.ts'

/** Fails with `request_invalid`. */
export async function createContact(
  context: ApplicationContext,
  kind: 'person' | 'place',
  given: unknown,
): Promise<JsonObject> {
  const fields = requireObject(given)
  const isPerson = kind === 'person'
  requireTexts(fields, isPerson ? ['type', 'name', 'parent'] : ['type', 'name'])
  checkOptionalTexts(
    fields,
    isPerson ? ['phone', 'patient_id', 'sex'] : ['parent', 'contact', 'place_id'],
  )
  refuseIdentity(fields)
  const reportedDate = reportedDateOf(fields, context.clock())
  if (isPerson) checkDate(fields, 'date_of_birth')
  const type = requireType(context, kind, fields.type as string)
  const parent = await findParent(context, kind, type, fields.parent)
  const contact = isPerson ? undefined : await findPrimaryContact(context, fields.contact)
  const document: Document = {
    _id: context.data.newId(),
    ...without(fields, '_id', '_rev', 'parent', ...(isPerson ? [] : ['contact'])),
    ...(isConfigured(context, type) ? { type: 'contact', contact_type: type.id } : {}),
    reported_date: reportedDate,
    ...(parent === undefined ? {} : { parent }),
    ...(contact === undefined ? {} : { contact }),
  }
  const { rev } = await context.data.put(document)
  return { ...document, _rev: rev }
}

const isConfigured = ({ settings }: ApplicationContext, { id }: ContactTypeSetting): boolean =>
  ContactTypes.of(settings).find(id) !== undefined

function requireType(
  { settings }: ApplicationContext,
  kind: 'person' | 'place',
  id: string,
): ContactTypeSetting {
  const types = ContactTypes.of(settings)
  const sample = { type: id }
  const isRight = kind === 'person' ? types.isPerson(sample) : types.isPlace(sample)
  if (!isRight) throw invalid(`[${id}] is not a valid ${kind} type.`)
  return types.find(id) ?? { id, person: true }
}

async function findParent(
  { data, settings }: ApplicationContext,
  kind: 'person' | 'place',
  type: ContactTypeSetting,
  given: unknown,
): Promise<MinimalContact | undefined> {
  const allowed = type.parents ?? []
  if (kind === 'place') {
    if (given && allowed.length === 0) {
      throw invalid(`Place type [${type.id}] does not support having a parent contact.`)
    }
    if (!given && allowed.length > 0) {
      throw invalid(`Place type [${type.id}] requires a parent contact.`)
    }
  }
  if (!given) return undefined
  const parent = await data.get(given as string)
  if (parent === undefined || !ContactTypes.of(settings).isContact(parent)) {
    throw invalid(`Parent contact [${given}] not found.`)
  }
  const parentType = typeIdOf(parent)
  if (!allowed.includes(parentType as string)) {
    throw invalid(`Parent contact of type [${parentType}] is not allowed for type [${type.id}].`)
  }
  return referenceTo(parent)
}

async function findPrimaryContact(
  { data, settings }: ApplicationContext,
  given: unknown,
): Promise<MinimalContact | undefined> {
  if (!given) return undefined
  const contact = await data.get(given as string)
  if (contact === undefined || !ContactTypes.of(settings).isContact(contact)) {
    throw invalid(`Primary contact [${given}] not found.`)
  }
  return referenceTo(contact)
}
