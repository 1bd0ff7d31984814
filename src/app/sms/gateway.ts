/**
 * PORT: a service that takes messages to phones. An implementation knows one service and nothing of documents.
 *
 * `send` and `ask` do not fail for what the service answers or does not answer: a message without a usable answer has no
 * status in the result, and is tried again later. They stop when the signal fires.
 */
export interface OutgoingMessage {
  /** The message's uuid. */
  readonly id: string
  /** As it should be dialled. */
  readonly to: string
  readonly content: string
}

export interface MessageStatus {
  /** The message's uuid. */
  readonly id: string
  readonly state: string
  readonly details?: unknown
  /** The service's own name for the message. */
  readonly gatewayRef?: string
}

export interface HandedMessage {
  readonly id: string
  readonly gatewayRef: string
}

export interface Asked {
  readonly statuses: readonly MessageStatus[]
  /** The service wants to be asked no more for now. */
  readonly isEnough: boolean
}

export interface Gateway {
  send(messages: readonly OutgoingMessage[], signal: AbortSignal): Promise<readonly MessageStatus[]>
  /** What became of messages that were handed over. Absent where the service tells by itself. */
  ask?(messages: readonly HandedMessage[], signal: AbortSignal): Promise<Asked>
}
