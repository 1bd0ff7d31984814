/**
 * What aggregators call: a message came from a phone, or something became of one that they took. They know a shared key
 * and have no account here.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { Failure } from '../../base/errors.ts'
import type { ApplicationContext } from '../application-context.ts'
import type { CredentialStore } from '../credentials/credential-store.ts'
import { isText } from '../documents/document.ts'
import { invalid } from '../documents/refusal.ts'
import { parseReceived, receiveMessages } from './inbox.ts'
import { applyStatuses, findByGatewayRefs } from './outbox.ts'

/** Fails with `forbidden`. */
export async function checkHookKey(
  credentials: CredentialStore,
  name: string,
  given: string | undefined,
): Promise<void> {
  const key = await credentials.get(name)
  if (key === undefined || key === '') throw refused('No incoming key configured')
  if (given === undefined || !isSameText(given, key)) throw refused('Incorrect token')
}

export const refused = (reason: string): Failure => new Failure('forbidden', { reason })

/** Takes as long whatever the difference is. */
const isSameText = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** How many were stored: one, or none when it is not whole or not new. */
export async function receiveOne(context: ApplicationContext, given: unknown): Promise<number> {
  const message = parseReceived(given)
  return message === undefined ? 0 : (await receiveMessages(context, [message])).length
}

const AFRICAS_TALKING_STATES: Readonly<Record<string, string>> = {
  Sent: 'forwarded-by-gateway',
  Submitted: 'sent',
  Buffered: 'sent',
  Success: 'delivered',
  Rejected: 'failed',
  Failed: 'failed',
}

export interface DeliveryReport {
  readonly id: string | undefined
  readonly status: string | undefined
  readonly failureReason: string | undefined
}

/** @returns how many documents changed; fails with `request_invalid` for a status nobody knows */
export async function receiveDeliveryReport(
  context: ApplicationContext,
  { id, status = '', failureReason }: DeliveryReport,
): Promise<number> {
  const state = Object.hasOwn(AFRICAS_TALKING_STATES, status)
    ? AFRICAS_TALKING_STATES[status]
    : undefined
  if (state === undefined) {
    throw invalid(`Unknown status code: "${status}", gateway message reference: "${id ?? ''}"`)
  }
  const ref = id ?? ''
  const message = ref === '' ? undefined : (await findByGatewayRefs(context, [ref])).get(ref)
  if (message === undefined) return 0
  const details = isText(failureReason) ? { details: { reason: failureReason } } : {}
  return applyStatuses(context, [{ id: message, state, gatewayRef: ref, ...details }])
}
