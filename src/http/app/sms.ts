/** `/api/sms` of the gateway application, and the paths that aggregators call. */
import { isObject } from '../../app/documents/document.ts'
import {
  checkHookKey,
  receiveDeliveryReport,
  receiveOne,
  refused,
} from '../../app/sms/aggregator-hooks.ts'
import { serveGateway } from '../../app/sms/gateway-exchange.ts'
import { Failure } from '../../base/errors.ts'
import type { Reply } from '../kit/reply.ts'
import { type AppExchange, BODY_BYTES_MAX } from './app-exchange.ts'
import { FORM_TYPE, parseFormEncoded } from './form-encoded.ts'

/** The application asks for this before it works with a server; by either name. */
export const getSms = (exchange: AppExchange): Reply =>
  exchange.json({ 'medic-gateway': true, 'svc-gateway': true })

export async function postSms(exchange: AppExchange): Promise<Reply> {
  const given = await exchange.jsonBody()
  const { application, context } = exchange
  const messages = await serveGateway(context, isObject(given) ? given : {}, count =>
    application.logWarning('a gateway brought messages that lack something', { count }),
  )
  return exchange.json({ messages: messages.map(({ content, to, id }) => ({ content, to, id })) })
}

export async function postAfricasTalkingMessage(exchange: AppExchange): Promise<Reply> {
  const form = await africasTalkingForm(exchange)
  const message = { id: form.get('id'), from: form.get('from'), content: form.get('text') }
  return exchange.json({ saved: await receiveOne(exchange.context, message) })
}

export async function postAfricasTalkingReport(exchange: AppExchange): Promise<Reply> {
  const form = await africasTalkingForm(exchange)
  const saved = await receiveDeliveryReport(exchange.context, {
    id: form.get('id'),
    status: form.get('status'),
    failureReason: form.get('failureReason'),
  })
  return exchange.json({ saved })
}

/** The form behind the key. */
async function africasTalkingForm(exchange: AppExchange): Promise<ReadonlyMap<string, string>> {
  const key = [exchange.param('key')].flat().at(-1)
  await checkHookKey(exchange.application.credentials, 'africastalking.com:incoming', key)
  const { request } = exchange
  const isForm = request.contentType.toLowerCase() === FORM_TYPE
  const bytes = isForm ? await request.bytes({ limitBytes: BODY_BYTES_MAX }) : Buffer.alloc(0)
  if (bytes.length === 0) throw bodyRequired()
  return parseFormEncoded(bytes, request.header('content-type') ?? '')
}

export async function postRapidProMessage(exchange: AppExchange): Promise<Reply> {
  const header = exchange.request.header('authorization')
  if (header === undefined || header === '') throw refused('Missing authorization token')
  const token = /^Token\s+(.*)$/i.exec(header.trim())?.[1]
  await checkHookKey(exchange.application.credentials, 'rapidpro:incoming', token)
  const given = await exchange.jsonBodyIfAny()
  if (!isObject(given) || Object.keys(given).length === 0) throw bodyRequired()
  const saved = await receiveOne(exchange.context, given)
  if (saved === 0) throw new Failure('request_invalid', { reason: 'Message was not saved' })
  return exchange.json({ saved })
}

const bodyRequired = (): Failure =>
  new Failure('request_invalid', { reason: 'Request body is required' })
