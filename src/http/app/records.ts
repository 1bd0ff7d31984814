/** `/api/v1/records` and `/api/v2/records`: records from messages (form-encoded) and from objects (JSON). */
import {
  type CreatedRecord,
  createRecordFromJson,
  createRecordFromMessage,
  requireMessage,
} from '../../app/records/create-record.ts'
import { Failure } from '../../base/errors.ts'
import type { Reply } from '../kit/reply.ts'
import { type AppExchange, BODY_BYTES_MAX } from './app-exchange.ts'
import { FORM_TYPE, parseFormEncoded } from './form-encoded.ts'

export const postRecordV2 = async (exchange: AppExchange): Promise<Reply> =>
  created(exchange, await createRecord(exchange, undefined))

/** The older one lets senders of messages say their language. */
export async function postRecordV1(exchange: AppExchange): Promise<Reply> {
  const locale = [exchange.param('locale')].flat().at(-1)
  return created(exchange, await createRecord(exchange, locale === '' ? undefined : locale))
}

async function createRecord(
  exchange: AppExchange,
  locale: string | undefined,
): Promise<CreatedRecord> {
  const { request, context } = exchange
  const type = request.contentType.toLowerCase()
  if (type === 'application/json') {
    return createRecordFromJson(context, await exchange.jsonBody())
  }
  if (type !== FORM_TYPE) throw new Failure('record_invalid')
  const bytes = await request.bytes({ limitBytes: BODY_BYTES_MAX })
  const fields = parseFormEncoded(bytes, request.header('content-type') ?? '')
  return createRecordFromMessage(context, { ...requireMessage(fields), locale })
}

const created = (exchange: AppExchange, { id }: CreatedRecord): Reply =>
  exchange.json({ success: true, id })
