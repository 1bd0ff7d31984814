/**
 * Makes messages: finds the text in the right language, fills it in from the record and the people around it, finds
 * the recipient, cuts what is too long. Pure but for new ids.
 *
 * A text that cannot be made leaves a message with an `error` instead of a text, so that people see it.
 */
import { isObject, isText, type JsonObject } from '../documents/document.ts'
import { fromGregorian } from '../records/bikram-sambat.ts'
import type { Settings } from '../settings/settings.ts'
import { isDeniedRecipient } from './denied-recipient.ts'
import { formatDate } from './format-date.ts'
import type { MessageTask, TaskMessage } from './message-task.ts'
import { chainFrom, recipientPhone } from './recipient.ts'
import type { RepeatedMessages } from './repeated-messages.ts'
import { setTaskState } from './task-state.ts'
import { renderTemplate, type TemplateFunction } from './template.ts'
import { cutToParts } from './text-parts.ts'
import type { Translations } from './translations.ts'

export interface MessageKit {
  readonly settings: Settings
  readonly translations: Translations
  readonly newUuid: () => string
  readonly clock: () => number
}

/** What settings say about a message: a key of the translations, or texts by language. */
export interface MessageSource {
  readonly translation_key?: unknown
  /** A text, `[{locale, content}]`, or `{en: …}`. */
  readonly message?: unknown
  readonly messages?: unknown
  readonly recipient?: unknown
}

export const EMPTY_MESSAGE = 'messages.errors.message.empty'
const PARTS_MAX_DEFAULT = 10

/** @param more further names for the template, before those of the record */
export function generateMessage(
  kit: MessageKit,
  record: JsonObject,
  source: MessageSource,
  more: JsonObject = {},
): TaskMessage {
  const to = recipientPhone(record, source.recipient)
  const message = { uuid: kit.newUuid(), ...(to === undefined ? {} : { to }) }
  const text = messageText(kit, record, source, more)
  if (!isText(text)) return { ...message, error: EMPTY_MESSAGE }
  const cut = cutToParts(text, partsMax(kit.settings))
  return cut === text
    ? { ...message, message: text }
    : { ...message, message: cut, original_message: text }
}

/** An immediate task with one message, in the state that the recipient and the text allow. */
export function messageTask(
  kit: MessageKit,
  repeated: RepeatedMessages,
  { record, message, more = {} }: { record: JsonObject; message: TaskMessage; more?: JsonObject },
): MessageTask {
  const { settings } = kit
  const nowMs = kit.clock()
  const { to = '', message: text = '' } = message
  const state = isDeniedRecipient(record.from, settings)
    ? 'denied'
    : repeated.isOneTooMany(to, text, settings, nowMs)
      ? 'duplicate'
      : 'pending'
  return setTaskState({ messages: [message], ...more }, { state }, nowMs)
}

/** Undefined where there is no text at all. */
export function messageText(
  kit: MessageKit,
  record: JsonObject,
  source: MessageSource,
  more: JsonObject = {},
): string | undefined {
  const locale = messageLocale(record, kit.settings)
  const template = templateOf(kit.translations, source, locale)
  if (template === undefined) return undefined
  const functions = templateFunctions(kit.settings, locale)
  return renderTemplate(template, templateContext(record, more), functions).trim()
}

export function messageLocale(record: JsonObject, { all }: Settings): string {
  const fields = isObject(record.fields) ? record.fields : {}
  const sms = isObject(record.sms_message) ? record.sms_message : {}
  const wishes = [record.locale, fields.locale, sms.locale, all.locale_outgoing, all.locale]
  return wishes.find(isText) ?? 'en'
}

function templateOf(
  translations: Translations,
  source: MessageSource,
  locale: string,
): string | undefined {
  const { translation_key: key } = source
  if (isText(key)) return translations.find(key, locale)
  for (const given of [source.message, source.messages]) {
    const text = textIn(given, locale)
    if (text !== undefined) return text
  }
  return undefined
}

function textIn(given: unknown, locale: string): string | undefined {
  if (typeof given === 'string') return given
  if (Array.isArray(given)) {
    const texts = given.filter(isObject).filter(each => typeof each.content === 'string')
    const chosen = texts.find(each => each.locale === locale) ?? texts[0]
    return chosen?.content as string | undefined
  }
  if (!isObject(given)) return undefined
  return [given[locale], given.en, ...Object.values(given)].find(text => typeof text === 'string')
}

function partsMax({ all }: Settings): number {
  const given = Number(all.multipart_sms_limit ?? PARTS_MAX_DEFAULT)
  return Number.isInteger(given) && given > 0 ? given : PARTS_MAX_DEFAULT
}

/** Names of a template: what was given, the record's fields, the record, whom it is about, places above. */
function templateContext(record: JsonObject, more: JsonObject): JsonObject {
  const patient = isObject(record.patient) ? record.patient : {}
  const place = isObject(record.place) ? record.place : {}
  const fields = isObject(record.fields) ? record.fields : {}
  const names = isText(patient.name) ? { patient_name: patient.name } : {}
  return {
    ...lineageNames(record),
    ...place,
    ...patient,
    ...names,
    ...record,
    ...fields,
    ...more,
  }
}

/** Places above, by their usual names. */
function lineageNames(record: JsonObject): JsonObject {
  const chains = [record.patient, record.place, record.contact].map(chainFrom)
  const chain = chains.find(each => each.length > 1) ?? []
  const ofType = (type: string) => chain.find(place => place.type === type)
  const named = {
    clinic: ofType('clinic'),
    health_center: ofType('health_center'),
    district: ofType('district_hospital'),
    parent: chain[1],
    grandparent: chain[2],
  }
  return Object.fromEntries(Object.entries(named).filter(([, place]) => place !== undefined))
}

function templateFunctions(
  { all, defaultCountryCode }: Settings,
  locale: string,
): Readonly<Record<string, TemplateFunction>> {
  const dated =
    (pattern: unknown, usual: string): TemplateFunction =>
    (text, render) => {
      const ms = momentOf(render(text))
      const chosen = isText(pattern) ? pattern : usual
      return ms === undefined ? '' : formatDate(ms, { pattern: chosen, locale })
    }
  const localPhone: TemplateFunction = (text, render) => {
    const phone = render(text).trim()
    return phone.startsWith(`+${defaultCountryCode}`)
      ? `0${phone.slice(defaultCountryCode.length + 1)}`
      : phone
  }
  return {
    date: dated(all.date_format, 'DD-MMM-YYYY'),
    datetime: dated(all.reported_date_format, 'DD-MMM-YYYY HH:mm:ss'),
    bikram_sambat_date: (text, render) => bikramSambatDate(momentOf(render(text))),
    local_phone: localPhone,
  }
}

const BIKRAM_SAMBAT_MONTHS = 'बैशाख जेठ असार साउन भदौ असोज कार्तिक मंसिर पौष माघ फाल्गुन चैत'.split(' ')

/** A day of Nepal's calendar, in Nepali; empty beyond the years that are published. */
function bikramSambatDate(ms: number | undefined): string {
  if (ms === undefined) return ''
  const date = new Date(ms)
  const found = fromGregorian({
    year: date.getFullYear(),
    month: date.getMonth() + 1,
    day: date.getDate(),
  })
  if (found === undefined) return ''
  const text = `${found.day} ${BIKRAM_SAMBAT_MONTHS[found.month - 1]} ${found.year}`
  return text.replace(/\d/g, digit => String.fromCharCode(0x966 + Number(digit)))
}

/** Milliseconds as text, or a date as people and machines write it. */
function momentOf(text: string): number | undefined {
  const given = text.trim()
  const ms = /^-?\d+$/.test(given) ? Number(given) : Date.parse(given)
  return Number.isNaN(ms) ? undefined : ms
}
