/** One contact, person or place by its id, as stored or with everything around it. */
import type { ApplicationContext } from '../application-context.ts'
import type { Document, JsonObject } from '../documents/document.ts'
import { notFound } from '../documents/refusal.ts'
import { ContactTypes } from './contact-types.ts'
import { hydrateOne } from './hydrate.ts'

export type ContactKind = 'contact' | 'person' | 'place'

export interface ReadContactOptions {
  readonly withLineage: boolean
}

/** Fails with `document_missing` when there is no such document, or one of another kind. */
export async function readContact(
  context: ApplicationContext,
  kind: ContactKind,
  id: string,
  { withLineage }: ReadContactOptions,
): Promise<JsonObject> {
  const document = await context.data.get(id)
  if (document === undefined || !isOfKind(context, kind, document)) {
    throw notFound(`${TITLE[kind]} not found`)
  }
  return withLineage ? hydrateOne(context, document) : document
}

const TITLE = { contact: 'Contact', person: 'Person', place: 'Place' } as const

export function isOfKind(
  { settings }: ApplicationContext,
  kind: ContactKind,
  document: Document,
): boolean {
  const types = ContactTypes.of(settings)
  if (kind === 'person') return types.isPerson(document)
  return kind === 'place' ? types.isPlace(document) : types.isContact(document)
}
