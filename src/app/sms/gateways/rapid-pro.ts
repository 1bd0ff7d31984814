/** RapidPro: a broadcast for each message; what became of it has to be asked for. */
import { isObject } from '../../documents/document.ts'
import type { Asked, Gateway, HandedMessage, MessageStatus, OutgoingMessage } from '../gateway.ts'
import { callEach, callService } from './call-service.ts'

export interface RapidProOptions {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string
}

const STATES: Readonly<Record<string, string>> = {
  queued: 'received-by-gateway',
  errored: 'received-by-gateway',
  wired: 'forwarded-by-gateway',
  sent: 'sent',
  resent: 'sent',
  delivered: 'delivered',
  failed: 'failed',
}

const TOO_MANY = 429
const REFUSED = 400

export class RapidProGateway implements Gateway {
  readonly #options: RapidProOptions

  constructor(options: RapidProOptions) {
    this.#options = options
  }

  send(messages: readonly OutgoingMessage[], signal: AbortSignal): Promise<MessageStatus[]> {
    return callEach(messages, signal, message => this.#sendOne(message, signal))
  }

  async ask(messages: readonly HandedMessage[], signal: AbortSignal): Promise<Asked> {
    let isEnough = false
    const statuses = await callEach(messages, signal, async message => {
      if (isEnough) return undefined
      const answer = await this.#askOne(message, signal)
      if (answer === 'enough') isEnough = true
      return answer === 'enough' ? undefined : answer
    })
    return { statuses, isEnough }
  }

  async #sendOne(
    { id, to, content }: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<MessageStatus | undefined> {
    const body = JSON.stringify({ urns: [`tel:${to}`], text: content })
    const url = `${this.#options.url}/api/v2/broadcasts.json`
    const headers = { ...this.#headers(), 'Content-Type': 'application/json' }
    const { status, json } = await callService({ url, method: 'POST', headers, body }, signal)
    if (status === REFUSED) return { id, state: 'failed', details: { reason: 'refused' } }
    const ref = json.id
    const isNamed = typeof ref === 'number' || (typeof ref === 'string' && ref !== '')
    if (status < 200 || status >= 300 || !isNamed) return undefined
    return {
      id,
      state: STATES[String(json.status)] ?? 'received-by-gateway',
      gatewayRef: String(ref),
    }
  }

  async #askOne(
    { id, gatewayRef }: HandedMessage,
    signal: AbortSignal,
  ): Promise<MessageStatus | 'enough' | undefined> {
    const query = `broadcast=${encodeURIComponent(gatewayRef)}`
    const url = `${this.#options.url}/api/v2/messages.json?${query}`
    const { status, json } = await callService(
      { url, method: 'GET', headers: this.#headers() },
      signal,
    )
    if (status === TOO_MANY) return 'enough'
    const [found] = Array.isArray(json.results) ? json.results : []
    const state = isObject(found) ? STATES[String(found.status)] : undefined
    return state === undefined ? undefined : { id, state, gatewayRef }
  }

  #headers(): Record<string, string> {
    return { Authorization: `Token ${this.#options.token}`, Accept: 'application/json' }
  }
}
