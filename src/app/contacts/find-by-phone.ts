/** Contacts that a phone number belongs to. Numbers are compared as they are stored, so they must be stored normalised. */
import { Failure } from '../../base/errors.ts'
import type { ApplicationContext } from '../application-context.ts'
import type { JsonObject } from '../documents/document.ts'
import { hydrateMany } from './hydrate.ts'
import { normalizePhone } from './phone-number.ts'

/** Fails with `request_invalid` for what is no phone number and `document_missing` where nobody has it. */
export async function findContactsByPhone(
  context: ApplicationContext,
  phone: unknown,
): Promise<JsonObject[]> {
  const number = typeof phone === 'string' ? normalizePhone(phone, context.settings) : undefined
  if (number === undefined) {
    const reason = '`phone` parameter is required and must be a valid phone number'
    throw new Failure('request_invalid', { error: 'bad_request', reason })
  }
  const { data } = context
  const query = { startKey: number, endKey: number }
  const rows = await data.allRows(`${data.name}-client`, 'contacts_by_phone', query)
  const found = await data.getMany([...new Set(rows.map(({ id }) => id))])
  const documents = found.filter(document => document !== undefined)
  if (documents.length === 0) {
    throw new Failure('document_missing', { error: 'not_found', reason: 'no matches found' })
  }
  return hydrateMany(context, documents)
}
