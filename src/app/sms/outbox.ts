/**
 * Messages on their way out: which are to go, and what became of those that went. All of it is kept in the documents
 * that carry the messages; this file reads and writes those.
 *
 * Any number of states is applied with two rounds of reading and one write; a document that somebody else changed
 * meanwhile is read again. A state that a message has already changes nothing.
 */
import { isFailure } from '../../base/errors.ts'
import { getOrAdd } from '../../base/get-or-add.ts'
import type { ApplicationContext } from '../application-context.ts'
import { normalizePhone } from '../contacts/phone-number.ts'
import { type Document, isObject } from '../documents/document.ts'
import type { ViewRow } from '../documents/document-database.ts'
import { changeTasks, type MessageTask, messagesOf } from '../messages/message-task.ts'
import { setTaskState } from '../messages/task-state.ts'
import type { HandedMessage, MessageStatus, OutgoingMessage } from './gateway.ts'

const RETRIES_MAX = 3

/** The first ones that a gateway may fetch, in the order of their due times. */
export async function findFetchable(
  context: ApplicationContext,
  limit: number,
): Promise<OutgoingMessage[]> {
  const { data } = context
  const query = { ...stateRange('pending-or-forwarded'), limit }
  return messagesIn(context, await data.allRows(data.name, 'messages_by_state', query))
}

/** All that wait, in the order of their due times and in batches; what leaves the list meanwhile disturbs nothing. */
export async function* pendingMessages(
  context: ApplicationContext,
  countMax: number,
): AsyncGenerator<readonly OutgoingMessage[], void, undefined> {
  const { data } = context
  for await (const rows of data.rows(data.name, 'messages_by_state', stateRange('pending'))) {
    yield* slices(messagesIn(context, rows), countMax)
  }
}

const stateRange = (state: string) => ({ startKey: [state], endKey: [state, {}] })

function messagesIn({ settings }: ApplicationContext, rows: readonly ViewRow[]): OutgoingMessage[] {
  return rows.flatMap(({ value }) => {
    if (!isObject(value) || typeof value.id !== 'string' || typeof value.to !== 'string') return []
    const to = normalizePhone(value.to, settings) ?? value.to
    return [{ id: value.id, to, content: String(value.content ?? '') }]
  })
}

/** Messages that a service has, and of which the last word is not said. */
export async function* handedMessages(
  { data }: ApplicationContext,
  countMax: number,
): AsyncGenerator<readonly HandedMessage[], void, undefined> {
  const keys = ['received-by-gateway', 'forwarded-by-gateway']
  for await (const rows of data.rows(`${data.name}-sms`, 'gateway_messages_by_state', { keys })) {
    const messages = rows.flatMap(({ value }) =>
      isObject(value) && typeof value.id === 'string' && typeof value.gateway_ref === 'string'
        ? [{ id: value.id, gatewayRef: value.gateway_ref }]
        : [],
    )
    yield* slices(messages, countMax)
  }
}

function* slices<T>(items: readonly T[], countMax: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += countMax) yield items.slice(at, at + countMax)
}

/** The uuids of messages by the names a service has for them. */
export async function findByGatewayRefs(
  { data }: ApplicationContext,
  refs: readonly string[],
): Promise<Map<string, string | undefined>> {
  const keys = [...new Set(refs)]
  const rows = await data.allRows(`${data.name}-sms`, 'messages_by_gateway_ref', { keys })
  return new Map(
    rows.map(({ key, value }) => [String(key), typeof value === 'string' ? value : undefined]),
  )
}

/**
 * Sets the states, in order where a message has several. Messages that no document has are left out.
 *
 * @returns how many documents were written
 */
export async function applyStatuses(
  context: ApplicationContext,
  statuses: readonly MessageStatus[],
): Promise<number> {
  if (statuses.length === 0) return 0
  const byMessage = new Map<string, MessageStatus[]>()
  for (const status of statuses) getOrAdd(byMessage, status.id, () => []).push(status)
  const { data, clock } = context
  const keys = [...byMessage.keys()]
  const rows = await data.allRows(`${data.name}-sms`, 'messages_by_uuid', { keys })
  let ids = distinctIds(rows)
  let writtenCount = 0
  for (let attempt = 0; ids.length > 0; attempt++) {
    const documents = await data.getMany(ids)
    const changed = documents.flatMap(document => {
      const after = document && withStatuses(document, byMessage, clock())
      return after === undefined || after === document ? [] : [after]
    })
    const outcomes = await data.putMany(changed)
    ids = []
    for (const outcome of outcomes) {
      if (outcome.ok) writtenCount++
      else if (attempt < RETRIES_MAX && isFailure(outcome.failure, 'document_conflict')) {
        ids.push(outcome.id)
      } else throw outcome.failure
    }
  }
  return writtenCount
}

const distinctIds = (rows: readonly ViewRow[]): string[] => [...new Set(rows.map(({ id }) => id))]

const withStatuses = (
  document: Document,
  byMessage: ReadonlyMap<string, readonly MessageStatus[]>,
  nowMs: number,
): Document =>
  changeTasks(document, task =>
    messagesOf(task)
      .flatMap(({ uuid }) => byMessage.get(uuid ?? '') ?? [])
      .reduce<MessageTask>((before, status) => setTaskState(before, status, nowMs), task),
  )
