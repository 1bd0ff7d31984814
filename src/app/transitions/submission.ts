/** Which reports take part, and what is said where one cannot be accepted. */
import { isObject, isText, type JsonObject } from '../documents/document.ts'
import type { MessageSource } from '../messages/generate-message.ts'
import type { Settings } from '../settings/settings.ts'
import type { Work } from './work.ts'

/** Part of the settings that says what to do with reports of a form. */
export interface FormRules extends JsonObject {
  readonly form?: unknown
  readonly messages?: unknown
  readonly validations?: unknown
}

export function formDefinition({ all }: Settings, form: string | undefined) {
  if (form === undefined || !isObject(all.forms) || !Object.hasOwn(all.forms, form)) {
    return undefined
  }
  const definition = all.forms[form]
  return isObject(definition) ? definition : undefined
}

export const isXmlReport = ({ stored, form }: Work): boolean =>
  form !== undefined && stored.content_type === 'xml'

/** From a device, of a form that is open to all, or from somebody who is known by his phone. */
export function isValidSubmission(work: Work): boolean {
  if (isXmlReport(work)) return true
  const definition = formDefinition(work.desk.settings, work.form)
  if (definition === undefined) return false
  return definition.public_form === true || hasKnownSender(work)
}

function hasKnownSender({ contact }: Work): boolean {
  if (contact === undefined) return false
  if (isText(contact.phone)) return true
  const { parent } = contact
  const primary = isObject(parent) ? parent.contact : undefined
  return isObject(primary) && isText(primary.phone)
}

/** The rules of a list that are about the work's form. */
export function rulesFor(list: unknown, form: string | undefined): FormRules | undefined {
  if (form === undefined || !Array.isArray(list)) return undefined
  return list.find(each => isObject(each) && isSameForm(each.form, form)) as FormRules | undefined
}

/** Codes are told in any case. */
export const isSameForm = (a: unknown, b: string): boolean =>
  typeof a === 'string' && a.toLowerCase() === b.toLowerCase()

export const formsIn = (list: unknown): string[] =>
  Array.isArray(list) ? list.filter(form => typeof form === 'string') : []

export interface ConfiguredMessage extends JsonObject, MessageSource {
  readonly event_type?: unknown
  readonly bool_expr?: unknown
}

export const messagesIn = (messages: unknown): ConfiguredMessage[] =>
  Array.isArray(messages) ? (messages.filter(isObject) as ConfiguredMessage[]) : []

/** Sends the configured messages of an event whose conditions hold. */
export async function sendMessages(
  work: Work,
  messages: unknown,
  { events, why, names = {} }: { events: readonly unknown[]; why: string; names?: JsonObject },
): Promise<void> {
  for (const [index, message] of messagesIn(messages).entries()) {
    if (!events.includes(message.event_type)) continue
    if (!(await holds(work, message.bool_expr))) continue
    work.addMessage(message, `${why}:${index}`, { names })
  }
}

/** An empty condition holds. */
export async function holds(work: Work, condition: unknown): Promise<boolean> {
  if (!isText(condition)) return true
  return work.desk.expressions.isTrue({ source: condition, names: { doc: work.whole } })
}

/** Leaves an error in the report and tells whoever sent it. */
export function reject(work: Work, messages: unknown, code: string, why: string): void {
  const configured = messagesIn(messages).find(({ event_type: event }) => event === code)
  const names = subjectNames(work)
  const source = configured ?? work.textOf(`messages.generic.${code}`)
  work.addError({ code, message: work.render(source, names) })
  const recipient = configured?.recipient ?? 'reporting_unit'
  work.addMessage({ ...source, recipient }, `${why}:${code}`, { names })
}

/** Texts about a subject nobody knows name it all the same. */
const subjectNames = ({ fields, stored }: Work): JsonObject =>
  Object.fromEntries(
    ['patient_id', 'place_id', 'case_id'].flatMap(name => {
      const value = fields[name] ?? stored[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
