/**
 * An object made a record's content: its members are the fields of the form that `_meta` names. Members that the form
 * does not have are left out. Fails when there is no such form: machines can be told, people who write messages cannot.
 */
import { Failure } from '../../base/errors.ts'
import { isObject, type JsonObject, without } from '../documents/document.ts'
import { type FieldDefinition, findForm } from '../forms/form-definition.ts'
import type { Settings } from '../settings/settings.ts'
import { type FieldValues, toBoolean, toDate } from './convert-values.ts'
import type { ParsedRecord } from './parse-sms-record.ts'
import { findProblems } from './validate-record.ts'

export interface ParsedJsonRecord extends ParsedRecord {
  /** Who sent it and when, with the form's code in upper case. */
  readonly meta: JsonObject
}

export const recordRefused = (details: string): Failure =>
  new Failure('record_invalid', { details })

export function parseJsonRecord(given: unknown, settings: Settings): ParsedJsonRecord {
  if (!isObject(given) || !isObject(given._meta)) throw recordRefused('Missing _meta property.')
  const { form: named } = given._meta
  if (typeof named !== 'string' || named === '') {
    throw recordRefused('Missing required field: form')
  }
  const code = named.toUpperCase()
  const form = findForm(settings, code)
  if (form === undefined) throw recordRefused(`Form not found: ${code}`)
  const values = valuesIn(without(given, '_meta'), form.fields)
  const problems = findProblems(form, values)
  return { code, form, values, problems, meta: { ...given._meta, form: code } }
}

function valuesIn(given: JsonObject, fields: readonly FieldDefinition[]): FieldValues {
  const byName = new Map(fields.map(field => [field.key.toLowerCase(), field]))
  const values: FieldValues = new Map()
  for (const [name, value] of Object.entries(given)) {
    const field = byName.get(name.toLowerCase())
    if (field !== undefined) values.set(field.key, converted(field, value))
  }
  return values
}

function converted({ type }: FieldDefinition, value: unknown): unknown {
  if (type === 'date') return toDate(value)
  if (type === 'boolean' && typeof value !== 'boolean') return toBoolean(value)
  return value
}
