/**
 * Hands pending messages to the configured service, and asks what became of those it has. One process of a server does
 * this, every minute and when a record has come: two of them would send messages twice.
 *
 * A message whose answer was lost, or whose state could not be written, is sent again: at least once, not exactly once,
 * is what such services allow.
 */
import type { ApplicationContext } from '../application-context.ts'
import type { CredentialStore } from '../credentials/credential-store.ts'
import { chooseGateway } from './choose-gateway.ts'
import type { Gateway } from './gateway.ts'
import { applyStatuses, handedMessages, pendingMessages } from './outbox.ts'

const BATCH_COUNT = 25

export interface MessagePusherParts {
  readonly context: () => Promise<ApplicationContext>
  readonly credentials: CredentialStore
  /** Told when messages cannot be pushed though they should. */
  readonly onLack: (what: string) => void
}

export class MessagePusher {
  readonly #parts: MessagePusherParts
  #running: Promise<void> | undefined
  #isWanted = false

  constructor(parts: MessagePusherParts) {
    this.#parts = parts
  }

  /** Called while it runs, it runs once more afterwards: what came meanwhile is not left lying. */
  run(signal: AbortSignal): Promise<void> {
    this.#isWanted = true
    this.#running ??= this.#runAll(signal).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #runAll(signal: AbortSignal): Promise<void> {
    while (this.#isWanted && !signal.aborted) {
      this.#isWanted = false
      const context = await this.#parts.context()
      const choice = await chooseGateway(context.settings, this.#parts.credentials)
      if (choice.gateway === undefined) {
        if (choice.lacks !== null) this.#parts.onLack(choice.lacks)
        return
      }
      await this.#push(context, choice.gateway, signal)
      await this.#ask(context, choice.gateway, signal)
    }
  }

  /** Those that stay pending wait for the next run. */
  async #push(context: ApplicationContext, gateway: Gateway, signal: AbortSignal): Promise<void> {
    for await (const messages of pendingMessages(context, BATCH_COUNT)) {
      if (signal.aborted) return
      await applyStatuses(context, await gateway.send(messages, signal))
    }
  }

  async #ask(context: ApplicationContext, gateway: Gateway, signal: AbortSignal): Promise<void> {
    if (gateway.ask === undefined) return
    for await (const messages of handedMessages(context, BATCH_COUNT)) {
      if (signal.aborted) return
      const { statuses, isEnough } = await gateway.ask(messages, signal)
      await applyStatuses(context, statuses)
      if (isEnough) return
    }
  }
}
