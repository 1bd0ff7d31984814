/**
 * Whom a message goes to. Settings name a recipient by what he is for a record: its sender, the person in charge of a
 * place above, somebody linked, a field, a number. The record has its contacts put in (`contacts/hydrate.ts`). Pure.
 */
import { isObject, isText, type JsonObject } from '../documents/document.ts'

/** Of several the first that leads to somebody; where none does, the sender. */
export function recipientPhone(record: JsonObject, recipient: unknown): string | undefined {
  for (const each of [recipient].flat()) {
    const phone = typeof each === 'string' ? phoneFor(record, each.trim()) : undefined
    if (phone !== undefined) return phone
  }
  return senderPhone(record)
}

export const senderPhone = (record: JsonObject): string | undefined =>
  phoneText(record.from) ?? phoneIn(record.contact)

const PLACE_TYPES: Readonly<Record<string, string>> = {
  clinic: 'clinic',
  health_center: 'health_center',
  district: 'district_hospital',
}

const LEVELS: Readonly<Record<string, number>> = { parent: 1, grandparent: 2 }

function phoneFor(record: JsonObject, recipient: string): string | undefined {
  if (recipient === '') return undefined
  if (recipient === 'reporting_unit') return senderPhone(record)
  const type = PLACE_TYPES[recipient] ?? after(recipient, 'ancestor:')
  if (type !== undefined) return firstOf(record, chain => ofType(chain, type))
  const level = LEVELS[recipient]
  if (level !== undefined) return firstOf(record, chain => inCharge(chain[level]))
  const tag = after(recipient, 'link:')
  if (tag !== undefined) return firstOf(record, chain => linked(chain, tag))
  return fieldPhone(record, recipient) ?? literalPhone(recipient)
}

const after = (text: string, prefix: string): string | undefined =>
  text.startsWith(prefix) ? text.slice(prefix.length) : undefined

/** Whom the record is about comes before who sent it. */
function firstOf(
  { patient, place, contact }: JsonObject,
  find: (chain: readonly JsonObject[]) => string | undefined,
): string | undefined {
  for (const begin of [patient, place, contact]) {
    const phone = find(chainFrom(begin))
    if (phone !== undefined) return phone
  }
  return undefined
}

const DEPTH_MAX = 50

/** A contact and all above it. */
export function chainFrom(begin: unknown): JsonObject[] {
  const chain: JsonObject[] = []
  for (let at = begin; isObject(at) && chain.length < DEPTH_MAX; at = at.parent) chain.push(at)
  return chain
}

const ofType = (chain: readonly JsonObject[], type: string): string | undefined =>
  inCharge(chain.find(place => place.type === type || place.contact_type === type))

/** A place is reached through its primary contact. */
const inCharge = (place: JsonObject | undefined): string | undefined =>
  phoneIn(place?.contact) ?? phoneIn(place)

function linked(chain: readonly JsonObject[], tag: string): string | undefined {
  for (const { linked_docs: links } of chain) {
    const link = isObject(links) && Object.hasOwn(links, tag) ? links[tag] : undefined
    if (isObject(link)) return inCharge(link)
  }
  return undefined
}

function fieldPhone(record: JsonObject, path: string): string | undefined {
  const fields = isObject(record.fields) ? record.fields : {}
  return phoneText(at(fields, path)) ?? phoneText(at(record, path))
}

const at = (object: JsonObject, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
      object,
    )

const literalPhone = (text: string): string | undefined =>
  /^\+?[\d\s().-]{3,}$/.test(text) ? text : undefined

const phoneIn = (contact: unknown): string | undefined =>
  isObject(contact) ? phoneText(contact.phone) : undefined

function phoneText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return isText(value) ? value.trim() : undefined
}
