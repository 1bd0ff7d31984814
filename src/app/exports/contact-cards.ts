/**
 * The little that exports show of contacts: names and short codes. Read when first needed and kept for one export, so
 * that half a million reports of a thousand people cost a thousand reads. Bounded: when there are too many, all are
 * forgotten.
 */
import { type Document, isObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'

export interface ContactCard {
  readonly name: unknown
  readonly patientId: unknown
}

const CARDS_MAX = 20_000
const NOBODY: ContactCard = { name: undefined, patientId: undefined }

export class ContactCards {
  readonly #data: DocumentDatabase
  readonly #cards = new Map<string, ContactCard>()

  constructor(data: DocumentDatabase) {
    this.#data = data
  }

  /** Makes sure that `of` knows all of these, until the next call. */
  async load(ids: Iterable<string>): Promise<void> {
    const wanted = new Set(ids)
    let missing = [...wanted].filter(id => !this.#cards.has(id))
    if (missing.length === 0) return
    if (this.#cards.size + missing.length > CARDS_MAX) {
      this.#cards.clear()
      missing = [...wanted]
    }
    const documents = await this.#data.getMany(missing)
    for (const [index, id] of missing.entries()) this.#cards.set(id, cardOf(documents[index]))
  }

  of(id: string | undefined): ContactCard {
    return (id === undefined ? undefined : this.#cards.get(id)) ?? NOBODY
  }
}

const cardOf = (document: Document | undefined): ContactCard =>
  document === undefined ? NOBODY : { name: document.name, patientId: document.patient_id }

const DEPTH_MAX = 50

/** Ids from a link upwards, as far as any hierarchy goes. */
export function idsUpFrom(link: unknown): string[] {
  const ids: string[] = []
  for (let at = link; isObject(at) && ids.length < DEPTH_MAX; at = at.parent) {
    if (typeof at._id !== 'string' || at._id === '') break
    ids.push(at._id)
  }
  return ids
}

/** Who sent a record, and all above him; old records may have no more than his id. */
export function senderChain({ contact }: Document): string[] {
  return typeof contact === 'string' && contact !== '' ? [contact] : idsUpFrom(contact)
}
