/**
 * Values of a message as what their fields are: numbers, dates, labels of lists. A value that does not fit becomes null
 * and is told later, by the check of the record. Pure but for the time zone of the server, in which days begin.
 */
import { normalizePhone } from '../contacts/phone-number.ts'
import { parseTimestamp } from '../documents/timestamp.ts'
import {
  type FieldDefinition,
  type FormDefinition,
  VIRTUAL_TYPE,
} from '../forms/form-definition.ts'
import type { Settings } from '../settings/settings.ts'
import { toGregorian } from './bikram-sambat.ts'
import { parseNumber, plainDigits } from './digits.ts'
import type { LabelReader } from './label-texts.ts'
import type { RawValue, RawValues } from './sms-formats/raw-values.ts'

export interface ConversionContext {
  readonly settings: Settings
  readonly labels: LabelReader
}

/** By the key of the field; undefined where the message says nothing. */
export type FieldValues = Map<string, unknown>

/** Ids are texts, whatever they look like. */
const ID_KEYS: ReadonlySet<string> = new Set(['patient_id', 'place_id'])

export function convertValues(
  { fields }: FormDefinition,
  { values: raw, setsAll }: RawValues,
  context: ConversionContext,
): FieldValues {
  const values: FieldValues = new Map()
  for (const field of fields) {
    if (field.type === VIRTUAL_TYPE) continue
    const value = raw.get(field.key)
    if (setsAll || (value !== undefined && value !== '')) {
      values.set(field.key, value === undefined ? undefined : convert(field, value, context))
    }
  }
  for (const { type, key } of fields) {
    if (type !== VIRTUAL_TYPE) continue
    const date = aggregateDate(fields, raw)
    if (setsAll || date !== undefined) values.set(key, date)
  }
  return values
}

function convert(field: FieldDefinition, raw: RawValue, context: ConversionContext): unknown {
  if (raw === '') return null
  switch (field.type) {
    case 'integer':
      return toInteger(field, raw, context.labels)
    case 'string':
      return toText(field, raw)
    case 'date':
      return toDate(raw)
    case 'boolean':
      return toBoolean(raw)
    case 'month':
      return numberIn(raw) ?? null
    case 'phone_number':
      return toPhone(raw, context.settings)
    case 'bsDate':
      return toDateOfNepal(raw)
    case 'bsYear':
    case 'bsMonth':
    case 'bsDay':
      return Array.isArray(raw) ? raw : plainDigits(String(raw))
    default:
      return raw
  }
}

function toInteger({ list }: FieldDefinition, raw: RawValue, labels: LabelReader): unknown {
  if (list === undefined) return numberIn(raw) ?? null
  const wanted = plainDigits(String(raw)).trim()
  const found = list.find(({ code }) => code === wanted)
  return found === undefined ? null : (labels.read(found.label) ?? null)
}

function toText({ key, list }: FieldDefinition, raw: RawValue): unknown {
  if (list !== undefined) return list.find(({ code }) => code === String(raw))?.label ?? raw
  return ID_KEYS.has(key) && !Array.isArray(raw) ? plainDigits(String(raw)) : raw
}

function toPhone(raw: RawValue, settings: Settings): unknown {
  if (Array.isArray(raw)) return raw
  const text = plainDigits(String(raw))
  return normalizePhone(text, settings) ?? text
}

export function toBoolean(value: unknown): boolean | null {
  const text = typeof value === 'string' ? plainDigits(value).trim() : value
  if (text === 1 || text === '1') return true
  return text === 0 || text === '0' ? false : null
}

/** A day begins where the server is. */
export function toDate(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'string') return null
  const text = plainDigits(value).trim()
  const day = dayIn(text)
  return (day === undefined ? parseTimestamp(text) : localMidnight(day)) ?? null
}

function toDateOfNepal(raw: RawValue): number | null {
  const day = typeof raw === 'string' ? dayIn(plainDigits(raw).trim()) : undefined
  const gregorian = day && toGregorian(day)
  return (gregorian && localMidnight(gregorian)) ?? null
}

/** Undefined when the message does not even have a year. */
function aggregateDate(
  fields: readonly FieldDefinition[],
  raw: ReadonlyMap<string, RawValue>,
): number | null | undefined {
  const part = (type: string): number | undefined => {
    const key = fields.find(field => field.type === type)?.key
    const value = key === undefined ? undefined : raw.get(key)
    return value === undefined || value === '' ? undefined : (numberIn(value) ?? Number.NaN)
  }
  const year = part('bsYear')
  if (year === undefined) return undefined
  const day = { year, month: part('bsMonth') ?? 1, day: part('bsDay') ?? 1 }
  const gregorian = toGregorian(day)
  return (gregorian && localMidnight(gregorian)) ?? null
}

interface Day {
  readonly year: number
  readonly month: number
  readonly day: number
}

function dayIn(text: string): Day | undefined {
  const parts = /^(\d{4})-(\d{1,2})-(\d{1,2})$/.exec(text)
  if (parts === null) return undefined
  return { year: Number(parts[1]), month: Number(parts[2]), day: Number(parts[3]) }
}

function localMidnight({ year, month, day }: Day): number | undefined {
  const date = new Date(year, month - 1, day)
  return date.getMonth() === month - 1 && date.getDate() === day ? date.getTime() : undefined
}

function numberIn(raw: RawValue): number | undefined {
  if (typeof raw === 'number') return raw
  return typeof raw === 'string' ? parseNumber(raw) : undefined
}
