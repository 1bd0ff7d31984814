/** The places and the person of a user: given as new things, or as ids of what is there. */
import { hasPermission } from '../access/permissions.ts'
import type { ApplicationContext } from '../application-context.ts'
import { ContactTypes } from '../contacts/contact-types.ts'
import { chainOf } from '../contacts/lineage.ts'
import { Draft } from '../contacts/save-contacts.ts'
import { type Document, idIn, isObject, type JsonObject, without } from '../documents/document.ts'
import { invalid, notFound } from '../documents/refusal.ts'
import { missingFields, refusal } from './user-refusal.ts'

export interface UserPlaces {
  readonly facilityIds: readonly string[] | undefined
  readonly contactId: string | undefined
  /** What is to be written with the user. */
  readonly documents: readonly Document[]
  /** The revision of a contact that exists. */
  readonly contactRev?: string | undefined
}

/** A place and a person that may be new. Nothing is written yet. */
export async function draftPlaces(
  context: ApplicationContext,
  given: { readonly place: unknown; readonly contact: unknown },
): Promise<UserPlaces> {
  const draft = new Draft(context)
  const contact = withoutFlag(given.contact)
  const isNewPlace = isObject(given.place)
  if (isNewPlace && contact !== undefined) requireNewContact(contact)
  const primary = isNewPlace && isObject(contact) ? { contact: without(contact, 'parent') } : {}
  const place =
    given.place === undefined
      ? undefined
      : await draft.placeOf(isObject(given.place) ? { ...given.place, ...primary } : given.place)
  const facilityIds = place && [place._id]
  if (typeof contact === 'string') {
    const found = await requirePerson(context, contact, facilityIds)
    return { facilityIds, contactId: found._id, contactRev: found._rev, documents: [] }
  }
  if (contact === undefined || isNewPlace) {
    await draft.checkNewIds()
    const contactId = contact === undefined ? undefined : idIn(place?.contact)
    return { facilityIds, contactId, documents: draft.documents }
  }
  // A new person must live somewhere.
  if (place === undefined) throw missingFields(['place'])
  const home = await homeOf(draft, contact, place)
  const person = isObject(contact) ? without(contact, 'parent') : contact
  const { _id } = await draft.personOf(person, home)
  await draft.checkNewIds()
  return { facilityIds, contactId: _id, documents: draft.documents }
}

/** Somebody who exists cannot live in a place that does not yet. */
function requireNewContact(contact: unknown): void {
  const isElsewhere = typeof contact === 'string' || (isObject(contact) && contact.parent)
  if (isElsewhere) throw notWithinPlace()
}

/** Where a new person lives: in the place, or somewhere below it. */
async function homeOf(draft: Draft, contact: unknown, place: Document): Promise<Document> {
  const parent = isObject(contact) ? idIn(contact.parent) : undefined
  if (parent === undefined || parent === place._id) return place
  const home = await draft.findPlace(parent)
  if (!chainOf(home.parent).includes(place._id)) throw notWithinPlace()
  return home
}

/** A person who asked for a user has one now. */
function withoutFlag(contact: unknown): unknown {
  if (!isObject(contact) || !isObject(contact.user_for_contact)) return contact
  const rest = without(contact.user_for_contact, 'create')
  return Object.keys(rest).length === 0
    ? without(contact, 'user_for_contact')
    : { ...contact, user_for_contact: rest }
}

/** A stored person, in one of the places where there are any. */
async function requirePerson(
  { data, settings }: ApplicationContext,
  id: string,
  facilityIds: readonly string[] | undefined,
): Promise<Document> {
  const person = await data.get(id)
  if (person === undefined) throw notFound('Failed to find person.')
  if (!ContactTypes.of(settings).isPerson(person)) {
    throw refusal('Wrong type, contact is not a person.', 'contact.type.wrong')
  }
  if (facilityIds !== undefined && !isWithin(person, facilityIds)) throw notWithinPlace()
  return person
}

/** The id of a stored person who belongs to one of the places; for users that exist. */
export async function checkContact(
  context: ApplicationContext,
  given: unknown,
  facilityIds: readonly string[] | undefined,
): Promise<string> {
  const id = idIn(given)
  const contact = id === undefined ? undefined : await context.data.get(id)
  if (contact === undefined) throw notFound(`Contact not found [${id ?? JSON.stringify(given)}].`)
  return (await requirePerson(context, contact._id, facilityIds))._id
}

const FACILITIES_MAX = 100

/** Ids of stored places; several only for those who may have several. */
export async function checkFacilities(
  { data, settings }: ApplicationContext,
  given: unknown,
  roles: readonly string[],
): Promise<string[]> {
  const items = Array.isArray(given) ? given : [given]
  const ids = [...new Set(items.map(idIn))]
  const isList = ids.length > 0 && ids.length <= FACILITIES_MAX && ids.every(id => id !== undefined)
  if (!isList) throw invalid('Invalid facilities list')
  const facilityIds = ids as string[]
  if (facilityIds.length > 1 && !hasPermission({ roles }, settings, 'can_have_multiple_places')) {
    throw invalid('This user cannot have multiple places')
  }
  const found = await data.getMap(facilityIds)
  const types = ContactTypes.of(settings)
  for (const id of facilityIds) {
    if (!types.isPlace(found.get(id))) throw notFound(`Failed to find place ${id}`)
  }
  return facilityIds
}

const isWithin = (contact: JsonObject & { _id: string }, facilityIds: readonly string[]): boolean =>
  [contact._id, ...chainOf(contact.parent)].some(id => facilityIds.includes(id))

const notWithinPlace = () =>
  refusal('Contact is not within place.', 'configuration.user.place.contact')
