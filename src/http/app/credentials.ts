/** `/api/v1/credentials/{key}`: secrets of other services are set here; nobody can read them back. */
import { Failure } from '../../base/errors.ts'
import type { Reply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'

const SECRET_BYTES_MAX = 64 * 1024
const TEXT_TYPES: readonly string[] = ['text/plain', 'application/xml', 'text/csv']

export async function putCredentials(exchange: AppExchange): Promise<Reply> {
  const { request, params, application } = exchange
  const key = params.get('key')
  const isText = TEXT_TYPES.includes(request.contentType.toLowerCase())
  const secret = isText ? (await request.bytes({ limitBytes: SECRET_BYTES_MAX })).toString() : ''
  if (secret === '') {
    throw new Failure('request_invalid', { reason: 'Missing required request body' })
  }
  await application.credentials.set(key, secret)
  return exchange.json({ ok: true })
}

/** The path without a key. */
export function putWithoutKey(): Reply {
  throw new Failure('request_invalid', { reason: 'Missing required param "key"' })
}
