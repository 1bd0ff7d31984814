/**
 * Lineage as it is stored: nothing but ids, nested through `parent`. Pure.
 *
 * Documents may come in with whole parents in them; `minify` brings them into the stored form. What is nested deeper
 * than any hierarchy is refused.
 */

import { type Document, idIn, isObject, type JsonObject, without } from '../documents/document.ts'
import { invalid } from '../documents/refusal.ts'

const DEPTH_MAX = 50

export interface MinimalContact {
  readonly _id: string
  readonly parent?: MinimalContact
}

/** Ids up the chain that begins with this link; ends at the first link without one. */
export function chainOf(link: unknown, about = ''): string[] {
  const ids: string[] = []
  for (let at = link; isObject(at) && typeof at._id === 'string' && at._id !== ''; at = at.parent) {
    ids.push(at._id)
    if (ids.length > DEPTH_MAX) {
      throw invalid(`Could not minify ${about}, possible parent recursion.`)
    }
  }
  return ids
}

/** `{_id, parent: {_id …}}`; undefined for a chain without ids. */
export const linkOf = (ids: readonly string[]): MinimalContact | undefined =>
  ids.reduceRight<MinimalContact | undefined>(
    (parent, _id) => (parent === undefined ? { _id } : { _id, parent }),
    undefined,
  )

/** A contact as others refer to it. */
export function referenceTo(contact: Document): MinimalContact {
  return linkOf([contact._id, ...chainOf(contact.parent, contact._id)]) as MinimalContact
}

/** The document in its stored form. */
export function minify<T extends JsonObject>(document: T): T {
  const about = String(document._id ?? '')
  const members: [string, unknown][] = []
  const isRecord = document.type === 'data_record'
  for (const [name, value] of Object.entries(document)) {
    if (name === 'parent') {
      const parent = linkOf(chainOf(value, about))
      if (parent !== undefined) members.push([name, parent])
    } else if (name === 'contact' && isObject(value) && idIn(value) !== undefined) {
      members.push([name, linkOf(chainOf(value, about))])
    } else if (name === 'linked_docs' && isObject(value)) {
      members.push([name, plainLinks(value)])
    } else if (!isRecord || (name !== 'patient' && name !== 'place')) members.push([name, value])
  }
  return Object.fromEntries(members) as T
}

const plainLinks = (links: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(links).map(([name, link]) => [name, idIn(link) ?? link]))

/** The document with another parent, or none. */
export const withParent = (document: JsonObject, parent: MinimalContact | undefined): JsonObject =>
  parent === undefined ? without(document, 'parent') : { ...document, parent }
