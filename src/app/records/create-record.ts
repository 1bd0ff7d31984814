/**
 * Records from messages and from objects: parsed, completed, stored in one write. Whatever is wrong with the values is
 * part of the record; a request fails only when it cannot become a record at all.
 *
 * Leaves to others: who may send records, and what follows from them at once (`storeRecords` of the context).
 */
import { assert } from '../../base/assert.ts'
import type { ApplicationContext } from '../application-context.ts'
import { normalizePhone } from '../contacts/phone-number.ts'
import { type Document, isObject, type JsonObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { currentTranslations, Translations } from '../messages/translations.ts'
import type { Settings } from '../settings/settings.ts'
import type { FieldValues } from './convert-values.ts'
import { Labels } from './label-texts.ts'
import { parseJsonRecord, recordRefused } from './parse-json-record.ts'
import { isFormsOnly, type ParsedRecord, parseSmsRecord } from './parse-sms-record.ts'
import { describeProblem } from './record-errors.ts'
import { reportedDateOf } from './reported-date.ts'

export interface IncomingMessage {
  readonly from: string
  readonly message: string
  /** When it was sent, in whatever way the sender tells; stored as it came. */
  readonly sentTimestamp?: string | number | undefined
  readonly locale?: string | undefined
  /** The gateway's own id of it. */
  readonly gatewayRef?: string | undefined
}

export interface CreatedRecord {
  readonly id: string
  readonly rev: string
}

export async function createRecordFromMessage(
  context: ApplicationContext,
  message: IncomingMessage,
): Promise<CreatedRecord> {
  return storeRecord(context, await recordFromMessage(context, message))
}

/** Fails with `record_invalid`. */
export async function createRecordFromJson(
  context: ApplicationContext,
  given: unknown,
): Promise<CreatedRecord> {
  return storeRecord(context, await recordFromJson(context, given))
}

/** The record as it would be stored, for those who store several at once. */
export async function recordFromMessage(
  context: ApplicationContext,
  { from, message, sentTimestamp, locale, gatewayRef }: IncomingMessage,
): Promise<Document> {
  const { settings, clock, data } = context
  const language = localeOf(settings, locale)
  const parse = (translations: Translations): ParsedRecord =>
    parseSmsRecord(message, { settings, labels: new Labels(translations, language) })
  const first = parse(UNTRANSLATED)
  const isTranslated = first.form?.isTranslated === true
  // Most records need no translation, and translations are large.
  const translations = await translationsFor(first, data)
  const parsed = isTranslated ? parse(translations) : first
  const keepsCode = parsed.form !== undefined || isFormsOnly(settings)
  return {
    _id: data.newId(),
    type: 'data_record',
    from: normalizePhone(from, settings) ?? from,
    ...(keepsCode && parsed.code !== undefined ? { form: parsed.code } : {}),
    ...contentOf(parsed, translations, language),
    reported_date: reportedDateOf(sentTimestamp, clock()),
    sms_message: {
      type: 'sms_message',
      message,
      ...(parsed.code === undefined ? {} : { form: parsed.code }),
      ...(sentTimestamp === undefined ? {} : { reported_date: sentTimestamp }),
      ...(locale === undefined ? {} : { locale }),
      from,
      ...(gatewayRef === undefined ? {} : { gateway_ref: gatewayRef }),
    },
  }
}

export async function recordFromJson(
  context: ApplicationContext,
  given: unknown,
): Promise<Document> {
  const { settings, clock, data } = context
  const parsed = parseJsonRecord(given, settings)
  const { from, reported_date: date, locale } = parsed.meta
  const language = localeOf(settings, typeof locale === 'string' ? locale : undefined)
  const translations = await translationsFor(parsed, data)
  return {
    _id: data.newId(),
    type: 'data_record',
    ...(from === undefined || from === null ? {} : { from: phoneOf(from, settings) }),
    form: parsed.code,
    ...contentOf(parsed, translations, language),
    reported_date: reportedDateOf(date, clock()),
    sms_message: parsed.meta,
  }
}

/** Refuses what a form sends without the two values that make a message. */
export function requireMessage(fields: ReadonlyMap<string, string>): IncomingMessage {
  const from = fields.get('from')
  const message = fields.get('message')
  if (from === undefined) throw recordRefused('Missing required value: from')
  if (message === undefined) throw recordRefused('Missing required field: message')
  return { from, message, sentTimestamp: fields.get('sent_timestamp') }
}

async function storeRecord(
  { data, storeRecords }: ApplicationContext,
  record: Document,
): Promise<CreatedRecord> {
  if (storeRecords === undefined) return data.put(record)
  const [outcome] = await storeRecords([record])
  assert(outcome !== undefined, 'a record that is stored has an outcome')
  if (!outcome.ok) throw outcome.failure
  return { id: outcome.id, rev: outcome.rev }
}

function contentOf(parsed: ParsedRecord, translations: Translations, locale: string): JsonObject {
  const fields = nested(parsed.values)
  const reference = parsed.form?.facilityReference
  const facility = reference === undefined ? undefined : parsed.values.get(reference)
  return {
    errors: parsed.problems.map(problem => describeProblem(problem, translations, locale)),
    tasks: [],
    fields,
    ...(facility === undefined || facility === null
      ? {}
      : { refid: String(facility).toUpperCase() }),
  }
}

/** Dots in the names of fields make objects in objects. */
function nested(values: FieldValues): JsonObject {
  const fields: Record<string, unknown> = {}
  for (const [key, value] of values) {
    if (value === undefined) continue
    const names = key.split('.')
    const last = names.pop() as string
    let place = fields
    for (const name of names) place = placeIn(place, name)
    define(place, last, value)
  }
  return fields
}

function placeIn(object: Record<string, unknown>, name: string): Record<string, unknown> {
  const known = Object.hasOwn(object, name) ? object[name] : undefined
  if (isObject(known)) return known as Record<string, unknown>
  const made: Record<string, unknown> = {}
  define(object, name, made)
  return made
}

/** Also for names that plain assignment would take for something else. */
const define = (object: object, name: string, value: unknown): void => {
  Object.defineProperty(object, name, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
}

const phoneOf = (from: unknown, settings: Settings): string =>
  normalizePhone(String(from), settings) ?? String(from)

const localeOf = ({ all }: Settings, locale: string | undefined): string =>
  locale ?? (typeof all.locale === 'string' && all.locale !== '' ? all.locale : 'en')

const UNTRANSLATED = new Translations()

const translationsFor = (
  { problems, form }: ParsedRecord,
  data: DocumentDatabase,
): Translations | Promise<Translations> =>
  problems.length > 0 || form?.isTranslated === true ? currentTranslations(data) : UNTRANSLATED
