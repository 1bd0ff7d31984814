/** `/api/v1/contact`: contacts of both kinds. */
import { listContactIds } from '../../app/contacts/list-contacts.ts'
import { type ContactKind, readContact } from '../../app/contacts/read-contact.ts'
import { parsePage } from '../../app/documents/page.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'

const IDS_LIMIT_DEFAULT = 10_000

export const getContact = (exchange: AppExchange): Promise<Reply> => getOne(exchange, 'contact')

export async function getOne(exchange: AppExchange, kind: ContactKind): Promise<Reply> {
  const withLineage = exchange.isParamTrue('with_lineage')
  const id = exchange.params.get('uuid')
  return exchange.json(await readContact(exchange.context, kind, id, { withLineage }))
}

export function getContactIds(exchange: AppExchange): Reply {
  const search = { type: exchange.param('type'), freetext: exchange.param('freetext') }
  const request = pageOf(exchange, IDS_LIMIT_DEFAULT)
  const { context } = exchange
  return exchange.page(listContactIds(context, search, request, exchange.request.signal))
}

export const pageOf = (exchange: AppExchange, defaultLimit: number) =>
  parsePage({ cursor: exchange.param('cursor'), limit: exchange.param('limit') }, defaultLimit)
