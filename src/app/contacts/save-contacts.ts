/**
 * Creating people and places, and changing places, with what they refer to given as an id or as something new.
 *
 * New places and people may nest in each other. All of them are worked out and checked first and then written in one
 * commit, so that a mistake anywhere leaves nothing behind.
 */
import { Failure } from '../../base/errors.ts'
import { isForeignId } from '../access/protected-documents.ts'
import type { ApplicationContext } from '../application-context.ts'
import { type Document, isObject, type JsonObject, without } from '../documents/document.ts'
import { invalid, notFound } from '../documents/refusal.ts'
import { checkPerson, checkPlace, withReportedDate } from './contact-rules.ts'
import { ContactTypes } from './contact-types.ts'
import { hydrateOne } from './hydrate.ts'
import { type MinimalContact, minify, referenceTo } from './lineage.ts'

export interface SavedContact {
  readonly id: string
  readonly rev: string
}

export interface SavedPlace extends SavedContact {
  /** Its primary contact, where one was given. */
  readonly contact?: { readonly id: string }
}

/** A new person; `place` is where it belongs, an id or a new place. */
export async function createPerson(
  context: ApplicationContext,
  given: unknown,
): Promise<SavedContact> {
  const draft = new Draft(context)
  const person = checkPerson(draft.types, withPersonType(draft.types, given))
  const { place } = person
  if (!place) return draft.save(draft.add(person))
  const parent = await draft.placeOf(place)
  return draft.save(draft.add({ ...without(person, 'place'), parent: referenceTo(parent) }))
}

/** A new place, with its parents and its primary contact where those are new too. */
export async function createPlace(
  context: ApplicationContext,
  given: unknown,
): Promise<SavedPlace> {
  const draft = new Draft(context)
  const place = await draft.addPlace(given)
  const saved = await draft.save(place)
  const { contact } = place
  if (!contact) return saved
  const id = isObject(contact) ? (contact._id as string) : (contact as string)
  return { ...saved, contact: { id } }
}

const EDITABLE = ['name', 'parent', 'contact', 'place_id']

export async function updatePlace(
  context: ApplicationContext,
  id: string,
  given: JsonObject,
): Promise<SavedContact> {
  const changes = Object.entries(given).filter(
    ([name, value]) => EDITABLE.includes(name) && value !== null && value !== undefined,
  )
  if (changes.length === 0) {
    throw invalid(`One of the following fields are required: ${EDITABLE.join(', ')}`)
  }
  const draft = new Draft(context)
  const place = { ...(await draft.findPlace(id)), ...Object.fromEntries(changes) }
  const wanted = Object.fromEntries(changes)
  const parent = wanted.parent ? await draft.placeOf(wanted.parent) : place.parent
  const changed: Document = { ...place, ...(parent === undefined ? {} : { parent }) }
  checkPlace(draft.types, changed)
  const contact = wanted.contact ? await draft.personOf(wanted.contact, changed) : undefined
  return draft.save(draft.keep(contact === undefined ? changed : { ...changed, contact }))
}

/** People need not say that they are, where there is a plain type for them. */
function withPersonType(types: ContactTypes, given: unknown): unknown {
  if (!isObject(given) || given.type || types.find('person') === undefined) return given
  return { ...given, type: 'person' }
}

/** Documents that are to be written together. */
export class Draft {
  readonly types: ContactTypes
  readonly #context: ApplicationContext
  readonly #documents: Document[] = []
  readonly #newIds: string[] = []

  constructor(context: ApplicationContext) {
    this.#context = context
    this.types = ContactTypes.of(context.settings)
  }

  /** Something new; it gets an id where it has none. */
  add(given: JsonObject): Document {
    const { data, clock } = this.#context
    const _id = typeof given._id === 'string' && given._id !== '' ? given._id : data.newId()
    if (isForeignId(_id)) throw invalid(`The id "${_id}" is not one of people or places.`)
    this.#newIds.push(_id)
    return this.keep({ ...withReportedDate(given, clock()), _id })
  }

  keep(document: Document): Document {
    this.#documents.push(minify(document))
    return document
  }

  /** A stored place with whole parents. */
  async findPlace(id: string): Promise<Document> {
    const place = await this.#context.data.get(id)
    if (place === undefined || !this.types.isPlace(place)) throw notFound('Failed to find place.')
    return (await hydrateOne(this.#context, place)) as Document
  }

  /** A place given by its id or as a new one. */
  async placeOf(given: unknown): Promise<Document> {
    if (typeof given === 'string') return this.findPlace(given)
    if (isObject(given) && given._rev === undefined) return this.addPlace(given)
    throw invalid('Place must be a new object or string identifier (UUID).')
  }

  async addPlace(given: unknown): Promise<Document> {
    if (!isObject(given)) throw invalid('Place must be an object.')
    const resolved = { ...given, ...(await this.#resolvedParent(given.parent)) }
    const place = checkPlace(this.types, resolved)
    const { data } = this.#context
    const withId = { ...place, _id: place._id || data.newId() } as Document
    if (!withId.contact) return this.add(without(withId, 'contact'))
    const contact = await this.personOf(withId.contact, withId)
    const isKnown = typeof withId.contact === 'string'
    return this.add({ ...withId, contact: isKnown ? withId.contact : contact })
  }

  /** A person given by its id, or a new one who lives in this place. */
  async personOf(given: unknown, place: Document): Promise<MinimalContact> {
    if (typeof given === 'string') {
      const person = await this.#context.data.get(given)
      if (person === undefined || !this.types.isPerson(person)) {
        throw notFound('Failed to find person.')
      }
      return referenceTo(person)
    }
    if (!isObject(given) || given._rev !== undefined) {
      throw invalid('Person must be a new object or string identifier (UUID).')
    }
    const person = checkPerson(this.types, withPersonType(this.types, given))
    return referenceTo(this.add({ ...person, parent: referenceTo(place) }))
  }

  /** All of them in their stored form, for those who write them with others. */
  get documents(): readonly Document[] {
    return this.#documents
  }

  /** Fails with `document_conflict` when something new has an id that is taken. */
  async checkNewIds(): Promise<void> {
    const taken = await this.#context.data.getMap(this.#newIds)
    if (taken.size > 0 || new Set(this.#newIds).size < this.#newIds.length) {
      throw new Failure('document_conflict', { reason: 'Document update conflict.' })
    }
  }

  /** Writes all; the answer is about this one. */
  async save({ _id }: Document): Promise<SavedContact> {
    await this.checkNewIds()
    const outcomes = await this.#context.data.putMany(this.#documents)
    for (const outcome of outcomes) if (!outcome.ok) throw outcome.failure
    const own = outcomes.find(({ id }) => id === _id)
    return { id: _id, rev: own?.ok ? own.rev : '' }
  }

  /** An id stands for a stored place; an object with an id for one that the caller has read himself. */
  async #resolvedParent(parent: unknown): Promise<JsonObject> {
    if (typeof parent === 'string' && parent !== '') return { parent: await this.findPlace(parent) }
    if (isObject(parent) && parent._id === undefined) return { parent: await this.addPlace(parent) }
    return {}
  }
}
