/** `/api/v1/hydrate` and `/api/v1/contacts-by-phone`: documents with the people and places around them. */

import { findContactsByPhone } from '../../app/contacts/find-by-phone.ts'
import { hydrateByIds } from '../../app/contacts/hydrate-by-ids.ts'
import { isObject } from '../../app/documents/document.ts'
import { Failure } from '../../base/errors.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'

export async function hydrate(exchange: AppExchange): Promise<Reply> {
  const ids = await given(exchange, 'doc_ids')
  if (!Array.isArray(ids)) {
    const reason = '`doc_ids` parameter must be a json array.'
    throw new Failure('request_invalid', { error: 'bad_request', reason })
  }
  return exchange.json(await hydrateByIds(exchange.context, ids))
}

export async function contactsByPhone(exchange: AppExchange): Promise<Reply> {
  const phone = exchange.param('phone') ?? (await fromBody(exchange, 'phone'))
  return exchange.json({ ok: true, docs: await findContactsByPhone(exchange.context, phone) })
}

/** From the query, as JSON where it is JSON; else from the body. */
async function given(exchange: AppExchange, name: string): Promise<unknown> {
  const value = exchange.param(name)
  if (value === undefined) return fromBody(exchange, name)
  return typeof value === 'string' ? parsed(value) : value
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    // Not JSON: the text itself is the value, and whoever wants something else refuses it.
    return text
  }
}

async function fromBody(exchange: AppExchange, name: string): Promise<unknown> {
  if (exchange.request.method !== 'POST') return undefined
  const body = await exchange.jsonBodyIfAny()
  return isObject(body) ? body[name] : undefined
}
