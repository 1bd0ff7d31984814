/** `/api/v1/place` and the older `/api/v1/places`. */
import { createContact } from '../../app/contacts/create-contact.ts'
import { listContacts } from '../../app/contacts/list-contacts.ts'
import { createPlace, updatePlace } from '../../app/contacts/save-contacts.ts'
import { updateContact } from '../../app/contacts/update-contact.ts'
import type { JsonObject } from '../../app/documents/document.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'
import { getOne, pageOf } from './contacts.ts'
import { requireBody } from './require-body.ts'

const LIMIT_DEFAULT = 100

export const getPlace = (exchange: AppExchange): Promise<Reply> => getOne(exchange, 'place')

export function getPlaces(exchange: AppExchange): Reply {
  const request = pageOf(exchange, LIMIT_DEFAULT)
  const type = exchange.param('type')
  const { context } = exchange
  return exchange.page(listContacts(context, 'place', type, request, exchange.request.signal))
}

export const postPlace = async (exchange: AppExchange): Promise<Reply> =>
  exchange.json(await createContact(exchange.context, 'place', await exchange.jsonBody()))

export async function putPlace(exchange: AppExchange): Promise<Reply> {
  const given = await exchange.jsonBody()
  const id = exchange.params.get('uuid')
  return exchange.json(await updateContact(exchange.context, 'place', id, given))
}

export async function postPlaces(exchange: AppExchange): Promise<Reply> {
  const given = requireBody(await exchange.jsonBody())
  return exchange.json({ ok: true, ...(await createPlace(exchange.context, given)) })
}

export async function postPlacesId(exchange: AppExchange): Promise<Reply> {
  const given = requireBody(await exchange.jsonBody()) as JsonObject
  const id = exchange.params.get('id')
  return exchange.json(await updatePlace(exchange.context, id, given))
}
