/** `/api/v1/person` and `/api/v1/place`, which are one thing for two kinds; and the older `/people` and `/places`. */
import { createContact } from '../../app/contacts/create-contact.ts'
import { listContacts } from '../../app/contacts/list-contacts.ts'
import { createPerson, createPlace, updatePlace } from '../../app/contacts/save-contacts.ts'
import { updateContact } from '../../app/contacts/update-contact.ts'
import type { JsonObject } from '../../app/documents/document.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange, AppHandler } from './app-exchange.ts'
import { getOne, pageOf } from './contacts.ts'
import { requireBody } from './require-body.ts'

const LIMIT_DEFAULT = 100

export interface KindHandlers {
  readonly list: AppHandler
  readonly create: AppHandler
  readonly read: AppHandler
  readonly replace: AppHandler
}

export const handlersOf = (kind: 'person' | 'place'): KindHandlers => ({
  list: exchange => {
    const page = pageOf(exchange, LIMIT_DEFAULT)
    const { context, request } = exchange
    return exchange.page(listContacts(context, kind, exchange.param('type'), page, request.signal))
  },
  create: async exchange =>
    exchange.json(await createContact(exchange.context, kind, await exchange.jsonBody())),
  read: exchange => getOne(exchange, kind),
  replace: async exchange => {
    const given = await exchange.jsonBody()
    const id = exchange.params.get('uuid')
    return exchange.json(await updateContact(exchange.context, kind, id, given))
  },
})

export async function postPeople(exchange: AppExchange): Promise<Reply> {
  const given = requireBody(await exchange.jsonBody())
  return exchange.json({ ok: true, ...(await createPerson(exchange.context, given)) })
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
