/**
 * Messages as CSV, those that came and those that went: a line for each message of every record, each record once, in
 * the order of their ids. Texts that are made only when they are due are made here as they would be today.
 */
import type { ApplicationContext } from '../application-context.ts'
import { hydrateMany } from '../contacts/hydrate.ts'
import { type Document, isObject, isText, type JsonObject } from '../documents/document.ts'
import { generateMessage, type MessageKit } from '../messages/generate-message.ts'
import { type MessageTask, messagesOf, tasksOf } from '../messages/message-task.ts'
import { currentTranslations } from '../messages/translations.ts'
import { ContactCards, senderChain } from './contact-cards.ts'
import { type Cell, csvHeading, csvLines } from './csv.ts'
import { dateCell } from './date-cell.ts'
import {
  type DateRange,
  dateRangeIn,
  type ExportOptions,
  type ExportRequest,
} from './export-request.ts'
import { slices } from './find-reports.ts'
import { isWithin } from './report-filters.ts'

const RECORD_COLUMNS = ['id', 'patient_id', 'reported_date', 'from', 'contact.name']
const STATES = ['received', 'scheduled', 'pending', 'sent', 'cleared', 'muted'] as const
const MESSAGE_COLUMNS = ['message_id', 'sent_by', 'to_phone', 'content']

/** Fails at once for filters that make no sense. */
export function exportMessages(
  context: ApplicationContext,
  { filters, options }: ExportRequest,
  signal?: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  return messageLines(context, dateRangeIn(filters.date, context.clock()), options, signal)
}

async function* messageLines(
  context: ApplicationContext,
  date: DateRange | undefined,
  options: ExportOptions,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  const { data, settings, clock } = context
  const translations = await currentTranslations(data)
  const kit: MessageKit = { settings, translations, clock, newUuid: () => '' }
  const cards = new ContactCards(data)
  yield csvHeading([...RECORD_COLUMNS, 'type', 'state', ...STATES, ...MESSAGE_COLUMNS])
  for await (const documents of data.list({}, mayHaveMessages)) {
    if (signal?.aborted === true) return
    const records = documents.filter(record => isMessageRecord(record, date))
    for (const batch of slices(records, options.batchCount)) {
      yield csvLines(await batchRows(context, batch, { kit, cards, options }))
    }
  }
}

/** Most documents are something else: this costs less than to parse them. */
const mayHaveMessages = (bytes: Buffer): boolean =>
  bytes.includes('"data_record"') && MARKS.some(mark => bytes.includes(mark))

const MARKS = ['"messages"', '"message"', '"message_key"', '"translation_key"']

const isMessageRecord = (record: Document, date: DateRange | undefined): boolean =>
  record.type === 'data_record' && (date === undefined || isWithin(record.reported_date, date))

interface Tools {
  readonly kit: MessageKit
  readonly cards: ContactCards
  readonly options: ExportOptions
}

async function batchRows(
  context: ApplicationContext,
  records: readonly Document[],
  tools: Tools,
): Promise<Cell[][]> {
  const { cards, kit } = tools
  const senders = records.map(record => senderChain(record)[0])
  const patients = records.map(patientUuid)
  await cards.load([...senders, ...patients].filter(id => id !== undefined))
  const hydrated = await hydrateUnfinished(context, records)
  return records.flatMap((record, index) => {
    const patientId = patientIdOf(record) ?? cards.of(patients[index]).patientId
    const name = cards.of(senders[index]).name
    const lines = linesOf(record, hydrated.get(record._id) ?? record, kit)
    return lines.map(line => cellsOf(record, { ...line, patientId, name }, tools.options))
  })
}

const fieldsOf = ({ fields }: Document): JsonObject => (isObject(fields) ? fields : {})

const patientIdOf = (record: Document): unknown => record.patient_id ?? fieldsOf(record).patient_id

function patientUuid(record: Document): string | undefined {
  const { patient_uuid: uuid } = fieldsOf(record)
  return patientIdOf(record) === undefined && isText(uuid) ? uuid : undefined
}

/** Only records with a text that is still to be made need all the people around them. */
async function hydrateUnfinished(
  context: ApplicationContext,
  records: readonly Document[],
): Promise<ReadonlyMap<string, JsonObject>> {
  const unfinished = records.filter(record => tasksOf(record).some(isUnfinished))
  if (unfinished.length === 0) return new Map()
  const hydrated = await hydrateMany(context, unfinished)
  return new Map(hydrated.map(record => [String(record._id), record]))
}

const isUnfinished = (task: MessageTask): boolean =>
  messagesOf(task).length === 0 &&
  (isText(task.message_key) || isText(task.translation_key) || task.message !== undefined)

interface Line {
  readonly type: unknown
  readonly state: unknown
  readonly times: Readonly<Partial<Record<(typeof STATES)[number], unknown>>>
  readonly messageId?: unknown
  readonly sentBy?: unknown
  readonly to?: unknown
  readonly text: unknown
}

function linesOf(record: Document, hydrated: JsonObject, kit: MessageKit): Line[] {
  return [
    ...responseLines(record),
    ...tasksOf(record).flatMap(task => taskLines(task, hydrated, kit)),
    ...incomingLines(record),
  ]
}

/** Of very old records. */
const responseLines = ({ responses, reported_date: date }: Document): Line[] =>
  (Array.isArray(responses) ? responses.filter(isObject) : []).map(response => ({
    type: 'Automated Reply',
    state: 'sent',
    times: { sent: response.timestamp ?? date },
    messageId: response.uuid,
    to: response.to,
    text: response.message,
  }))

function taskLines(task: MessageTask, hydrated: JsonObject, kit: MessageKit): Line[] {
  const messages = isUnfinished(task) ? [generated(task, hydrated, kit)] : messagesOf(task)
  const times = Object.fromEntries(STATES.map(state => [state, timeOf(task, state)]))
  const shared = { type: typeOf(task, kit), state: task.state, times }
  return messages.map(({ uuid, to, message }) => ({
    ...shared,
    messageId: uuid,
    to,
    text: message,
  }))
}

function generated(task: MessageTask, hydrated: JsonObject, kit: MessageKit): JsonObject {
  const { message_key, translation_key, message, recipient } = task
  const source = { translation_key: message_key ?? translation_key, message, recipient }
  return { ...generateMessage(kit, hydrated, source), uuid: undefined }
}

/** What the schedule is called, in the language of the settings. */
function typeOf({ translation_key: key, group, type }: MessageTask, kit: MessageKit): string {
  const locale = isText(kit.settings.all.locale) ? kit.settings.all.locale : 'en'
  if (isText(key)) return kit.translations.translate(key, locale, { group })
  return isText(type) ? type : 'Task Message'
}

/** When it last came to the state. */
function timeOf(task: MessageTask, state: string): unknown {
  if (state === 'scheduled' && isText(task.due)) return task.due
  const history = Array.isArray(task.state_history) ? task.state_history.filter(isObject) : []
  const entry = history.findLast(each => each.state === state)
  return entry?.timestamp ?? (task.state === state ? task.timestamp : undefined)
}

function incomingLines({ sms_message: sms, reported_date: date, from }: Document): Line[] {
  if (!isObject(sms) || sms.message === undefined) return []
  const { message: text, uuid } = sms
  return [
    {
      type: 'Message',
      state: 'received',
      times: { received: date },
      messageId: uuid,
      sentBy: from,
      text,
    },
  ]
}

function cellsOf(
  record: Document,
  line: Line & { readonly patientId: unknown; readonly name: unknown },
  options: ExportOptions,
): Cell[] {
  const cells: unknown[] = [
    record._id,
    line.patientId,
    dateCell(record.reported_date, options),
    record.from,
    line.name,
    line.type,
    line.state,
    ...STATES.map(state => dateCell(line.times[state], options)),
    line.messageId,
    line.sentBy,
    line.to,
    line.text,
  ]
  return cells as Cell[]
}
