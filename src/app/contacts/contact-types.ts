/** Which documents are people and which are places, as the settings say. Made once for a settings snapshot. */
import { isObject } from '../documents/document.ts'
import type { ContactTypeSetting, Settings } from '../settings/settings.ts'

/** Types of contacts that indexes know without asking the settings; the usual hierarchy and configured ones. */
export const CONTACT_DOCUMENT_TYPES: readonly string[] = [
  'contact',
  'district_hospital',
  'health_center',
  'clinic',
  'person',
]

/** The usual hierarchy, from the top. */
export const USUAL_TYPES: readonly string[] = CONTACT_DOCUMENT_TYPES.slice(1)

const PERSON = 'person'

export class ContactTypes {
  static readonly #made = new WeakMap<Settings, ContactTypes>()
  readonly #types: ReadonlyMap<string, ContactTypeSetting>

  private constructor(settings: Settings) {
    this.#types = new Map(settings.contactTypes.map(type => [type.id, type]))
  }

  static of(settings: Settings): ContactTypes {
    const known = ContactTypes.#made.get(settings)
    if (known !== undefined) return known
    const made = new ContactTypes(settings)
    ContactTypes.#made.set(settings, made)
    return made
  }

  find(id: unknown): ContactTypeSetting | undefined {
    return typeof id === 'string' ? this.#types.get(id) : undefined
  }

  /** May be listed: one that is configured, or where nothing is, one of the usual ones. */
  isContactType(id: string): boolean {
    return this.#types.size === 0 ? USUAL_TYPES.includes(id) : this.#types.has(id)
  }

  isPersonType(id: unknown): boolean {
    const type = this.find(id)
    return type !== undefined && (type.person === true || id === PERSON)
  }

  isPlaceType(id: unknown): boolean {
    return this.find(id) !== undefined && !this.isPersonType(id)
  }

  isPerson(document: unknown): boolean {
    const id = typeIdOf(document)
    return id === PERSON || this.isPersonType(id)
  }

  isPlace(document: unknown): boolean {
    return this.isPlaceType(typeIdOf(document))
  }

  isContact(document: unknown): boolean {
    return this.isPerson(document) || this.isPlace(document)
  }
}

/** `contact_type` of a document of type `contact`, else its type. */
export function typeIdOf(document: unknown): unknown {
  if (!isObject(document)) return undefined
  return document.type === 'contact' ? document.contact_type : document.type
}
