/** The short message service of Nepal's Department of Information Technology: one call a message, no reports. */
import type { Gateway, MessageStatus, OutgoingMessage } from '../gateway.ts'
import { callEach, callService } from './call-service.ts'

export interface NepalDoitOptions {
  readonly url: string
  readonly token: string
}

export class NepalDoitGateway implements Gateway {
  readonly #options: NepalDoitOptions

  constructor(options: NepalDoitOptions) {
    this.#options = options
  }

  send(messages: readonly OutgoingMessage[], signal: AbortSignal): Promise<MessageStatus[]> {
    return callEach(messages, signal, message => this.#sendOne(message, signal))
  }

  async #sendOne(
    { id, to, content }: OutgoingMessage,
    signal: AbortSignal,
  ): Promise<MessageStatus | undefined> {
    const { url, token } = this.#options
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const body = JSON.stringify({ mobile: to, message: content })
    const { status } = await callService({ url, method: 'POST', headers, body }, signal)
    if (status >= 200 && status < 300) return { id, state: 'sent' }
    return status === 400 ? { id, state: 'failed', details: { reason: 'refused' } } : undefined
  }
}
