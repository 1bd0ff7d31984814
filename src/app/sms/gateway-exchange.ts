/**
 * One visit of the gateway application: it brings messages from phones and news of those it took, and fetches more. A
 * message is handed out at every visit until the gateway says something about it, so none is lost with a visit.
 */
import type { ApplicationContext } from '../application-context.ts'
import { isObject, isText } from '../documents/document.ts'
import { invalid } from '../documents/refusal.ts'
import { isFetchedByGateway } from './choose-gateway.ts'
import type { MessageStatus, OutgoingMessage } from './gateway.ts'
import { parseReceived, receiveMessages } from './inbox.ts'
import { applyStatuses, findFetchable } from './outbox.ts'

const FETCHED_COUNT_MAX = 25

const STATES: Readonly<Record<string, string>> = {
  UNSENT: 'received-by-gateway',
  PENDING: 'forwarded-by-gateway',
  SENT: 'sent',
  DELIVERED: 'delivered',
  FAILED: 'failed',
}

export interface GatewayVisit {
  readonly messages?: unknown
  readonly updates?: unknown
}

/** @returns the messages it is to send; fails with `request_invalid` for lists that are none */
export async function serveGateway(
  context: ApplicationContext,
  { messages, updates }: GatewayVisit,
  onSkipped: (count: number) => void,
): Promise<readonly OutgoingMessage[]> {
  const brought = listOf(messages, 'messages')
  const news = listOf(updates, 'updates').flatMap(statusOf)
  const received = brought.map(parseReceived).filter(message => message !== undefined)
  if (received.length < brought.length) onSkipped(brought.length - received.length)
  await receiveMessages(context, received)
  await applyStatuses(context, news)
  return fetchMessages(context)
}

function listOf(value: unknown, name: string): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw invalid(`\`${name}\` must be an array`)
}

function statusOf(given: unknown): MessageStatus[] {
  if (!isObject(given) || !isText(given.id)) return []
  const { id, status, reason } = given
  const state =
    typeof status === 'string' && Object.hasOwn(STATES, status) ? STATES[status] : undefined
  if (state === undefined) {
    return [{ id, state: 'unrecognised', details: { gateway_status: status } }]
  }
  const isExplained = state === 'failed' && reason !== undefined && reason !== null
  return [isExplained ? { id, state, details: { reason } } : { id, state }]
}

async function fetchMessages(context: ApplicationContext): Promise<readonly OutgoingMessage[]> {
  if (!isFetchedByGateway(context.settings)) return []
  const messages = await findFetchable(context, FETCHED_COUNT_MAX)
  await applyStatuses(
    context,
    messages.map(({ id }) => ({ id, state: 'forwarded-to-gateway' })),
  )
  return messages
}
