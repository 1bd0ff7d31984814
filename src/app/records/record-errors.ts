/**
 * What is wrong with a record, as the record itself tells: a code and a text in the sender's language. The texts can be
 * translated like all others; these are what they are when nobody did.
 */
import type { JsonObject } from '../documents/document.ts'
import { renderTemplate } from '../messages/template.ts'
import type { Translations } from '../messages/translations.ts'

export interface RecordError {
  readonly code: string
  readonly message: string
}

const TEXTS = {
  extra_fields: 'Extra fields.',
  'sys.empty': 'Message appears empty.',
  'sys.form_not_found': "Form '{{form}}' not found.",
  'sys.missing_fields': 'Missing or invalid fields: {{fields}}.',
  'sys.incorrect_type': 'Incorrect type of field {{key}}, expected {{type}}.',
} as const

export interface RecordProblem {
  readonly code: keyof typeof TEXTS
  readonly values?: JsonObject
}

export function describeProblem(
  { code, values = {} }: RecordProblem,
  translations: Translations,
  locale: string,
): RecordError {
  const text = translations.find(code, locale) ?? TEXTS[code]
  return { code, message: renderTemplate(text, values) }
}
