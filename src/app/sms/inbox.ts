/**
 * Messages from phones: each becomes a record, once, however often a gateway hands it in. Messages that lack something
 * are passed over: a gateway would send them again for ever.
 *
 * The id of a record follows from the gateway's id of the message, so that of two requests that bring the same message
 * at the same time only one can store it.
 */
import { isFailure } from '../../base/errors.ts'
import type { ApplicationContext } from '../application-context.ts'
import { type Document, isObject, isText } from '../documents/document.ts'
import { recordFromMessage } from '../records/create-record.ts'
import { stableUuid } from '../transitions/stable-id.ts'
import { findByGatewayRefs } from './outbox.ts'

export interface ReceivedMessage {
  /** The gateway's own. */
  readonly id: string
  readonly from: string
  readonly content: string
}

const BATCH_COUNT = 100
/** Beyond anything a phone can send. */
const CONTENT_LENGTH_MAX = 100_000

/** Undefined for what is not a whole message. */
export function parseReceived(given: unknown): ReceivedMessage | undefined {
  if (!isObject(given)) return undefined
  const id = typeof given.id === 'number' ? String(given.id) : given.id
  const from = typeof given.from === 'number' ? String(given.from) : given.from
  const { content } = given
  if (!isText(id) || !isText(from) || typeof content !== 'string' || content === '') {
    return undefined
  }
  if (content.length > CONTENT_LENGTH_MAX) return undefined
  return { id: wellFormed(id), from: wellFormed(from), content: wellFormed(content) }
}

/** Halves of characters, which phones do send, cannot be stored. */
const wellFormed = (text: string): string => Buffer.from(text).toString()

/**
 * Fails when one of them cannot be stored; those before it are.
 *
 * @returns ids of the new records
 */
export async function receiveMessages(
  context: ApplicationContext,
  messages: readonly ReceivedMessage[],
): Promise<string[]> {
  const stored: string[] = []
  for (let at = 0; at < messages.length; at += BATCH_COUNT) {
    stored.push(...(await receiveBatch(context, messages.slice(at, at + BATCH_COUNT))))
  }
  return stored
}

async function receiveBatch(
  context: ApplicationContext,
  messages: readonly ReceivedMessage[],
): Promise<string[]> {
  const known = await findByGatewayRefs(
    context,
    messages.map(({ id }) => id),
  )
  const fresh = messages.filter(({ id }) => !known.has(id))
  const seen = new Set<string>()
  const records: Document[] = []
  for (const { id, from, content } of fresh) {
    const record = await recordFromMessage(context, { from, message: content, gatewayRef: id })
    // A gateway that gives two messages of one request the same id means two messages.
    records.push(seen.has(id) ? record : { ...record, _id: stableUuid('incoming message', id) })
    seen.add(id)
  }
  const store = context.storeRecords ?? (documents => context.data.putMany(documents))
  const outcomes = await store(records)
  return outcomes.flatMap(outcome => {
    if (outcome.ok) return [outcome.id]
    // Another request has just stored the same message.
    if (isFailure(outcome.failure, 'document_conflict')) return []
    throw outcome.failure
  })
}
