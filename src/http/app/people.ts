/** `/api/v1/person` and the older `/api/v1/people`. */
import { createContact } from '../../app/contacts/create-contact.ts'
import { listContacts } from '../../app/contacts/list-contacts.ts'
import { createPerson } from '../../app/contacts/save-contacts.ts'
import { updateContact } from '../../app/contacts/update-contact.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'
import { getOne, pageOf } from './contacts.ts'
import { requireBody } from './require-body.ts'

const LIMIT_DEFAULT = 100

export const getPerson = (exchange: AppExchange): Promise<Reply> => getOne(exchange, 'person')

export function getPersons(exchange: AppExchange): Reply {
  const request = pageOf(exchange, LIMIT_DEFAULT)
  const type = exchange.param('type')
  const { context } = exchange
  return exchange.page(listContacts(context, 'person', type, request, exchange.request.signal))
}

export const postPerson = async (exchange: AppExchange): Promise<Reply> =>
  exchange.json(await createContact(exchange.context, 'person', await exchange.jsonBody()))

export async function putPerson(exchange: AppExchange): Promise<Reply> {
  const given = await exchange.jsonBody()
  const id = exchange.params.get('uuid')
  return exchange.json(await updateContact(exchange.context, 'person', id, given))
}

export async function postPeople(exchange: AppExchange): Promise<Reply> {
  const given = requireBody(await exchange.jsonBody())
  return exchange.json({ ok: true, ...(await createPerson(exchange.context, given)) })
}
