/** `/api/v1/contact`: contacts of both kinds. */
import { listContactIds, listContacts } from '../../app/contacts/list-contacts.ts'
import { type ContactKind, isOfKind, readContact } from '../../app/contacts/read-contact.ts'
import type { Document } from '../../app/documents/document.ts'
import { listByIds, parseIdList } from '../../app/documents/list-by-ids.ts'
import { parsePage } from '../../app/documents/page.ts'
import { readSummaries } from '../../app/reports/read-summaries.ts'
import { Failure } from '../../base/errors.ts'
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

const LIMIT_DEFAULT = 100

/** Whole documents, named by their ids or of one type. */
export function getContacts(exchange: AppExchange): Reply {
  const { context, request } = exchange
  const ids = exchange.param('ids')
  const type = exchange.param('type')
  const page = pageOf(exchange, LIMIT_DEFAULT)
  if (ids !== undefined) {
    const isContact = (document: Document) => isOfKind(context, 'contact', document)
    return exchange.page(listByIds(context.data, parseIdList(ids), page, isContact))
  }
  if (type === undefined) {
    throw new Failure('request_invalid', { reason: 'Either query param ids or type is required' })
  }
  return exchange.page(listContacts(context, 'contact', type, page, request.signal))
}

export async function postContactSummary(exchange: AppExchange): Promise<Reply> {
  const { ids } = (await exchange.jsonBody()) as { ids?: unknown }
  return exchange.json(await readSummaries(exchange.context, 'contact', ids))
}

export const pageOf = (exchange: AppExchange, defaultLimit: number) =>
  parsePage({ cursor: exchange.param('cursor'), limit: exchange.param('limit') }, defaultLimit)
