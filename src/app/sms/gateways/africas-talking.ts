/** Africa's Talking: one call a message, and the service reports what became of it by itself. */
import { isObject } from '../../documents/document.ts'
import type { Gateway, MessageStatus, OutgoingMessage } from '../gateway.ts'
import { callEach, callService } from './call-service.ts'

export interface AfricasTalkingOptions {
  readonly username: string
  /** The number or name that people see. */
  readonly from?: string | undefined
  readonly apiKey: string
  /** Where the service is; by default its own address, or that of its sandbox for the user `sandbox`. */
  readonly baseUrl?: string
}

/** Codes that are missing here mean: try again. */
const STATES: Readonly<Record<number, string>> = {
  100: 'forwarded-by-gateway',
  101: 'sent',
  102: 'received-by-gateway',
  401: 'failed',
  403: 'failed',
  404: 'failed',
  406: 'denied',
  407: 'failed',
}

export class AfricasTalkingGateway implements Gateway {
  readonly #options: AfricasTalkingOptions
  readonly #url: string

  constructor(options: AfricasTalkingOptions) {
    this.#options = options
    const host = options.username === 'sandbox' ? 'api.sandbox' : 'api'
    const base = options.baseUrl ?? `https://${host}.africastalking.com`
    this.#url = `${base}/version1/messaging`
  }

  send(messages: readonly OutgoingMessage[], signal: AbortSignal): Promise<MessageStatus[]> {
    return callEach(messages, signal, message => this.#sendOne(message, signal))
  }

  async #sendOne(
    { id, to, content }: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<MessageStatus | undefined> {
    const { username, from, apiKey } = this.#options
    const form = new URLSearchParams({ username, to, message: content })
    if (from !== undefined) form.set('from', from)
    const headers = {
      apikey: apiKey,
      Accept: 'application/json',
      'Content-Type': 'application/x-www-form-urlencoded',
    }
    const call = { url: this.#url, method: 'POST', headers, body: form.toString() } as const
    const { json } = await callService(call, signal)
    return statusOf(id, json.SMSMessageData)
  }
}

function statusOf(id: string, answer: unknown): MessageStatus | undefined {
  const recipients = isObject(answer) && Array.isArray(answer.Recipients) ? answer.Recipients : []
  const [recipient] = recipients
  if (!isObject(recipient)) return undefined
  const state = STATES[Number(recipient.statusCode)]
  if (state === undefined) return undefined
  const { messageId, status } = recipient
  const reason = typeof status === 'string' ? { details: { reason: status } } : {}
  return {
    id,
    state,
    ...(state === 'failed' || state === 'denied' ? reason : {}),
    ...(typeof messageId === 'string' && messageId !== '' ? { gatewayRef: messageId } : {}),
  }
}
