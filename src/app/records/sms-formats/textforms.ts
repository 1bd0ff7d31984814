/**
 * Messages that people write, after the code of the form: labelled (`nur Sam#wk 23`), or compact (`Sam 23`), which is
 * one piece without a label in front whose values follow the order of the fields.
 */

import { getOrAdd } from '../../../base/get-or-add.ts'
import {
  type FieldDefinition,
  type FormDefinition,
  VIRTUAL_TYPE,
} from '../../forms/form-definition.ts'
import type { LabelReader } from '../label-texts.ts'
import { withoutFormCode } from './form-code.ts'
import type { RawValue, RawValues } from './raw-values.ts'

/** @param code as the message has it */
export function parseTextforms(
  message: string,
  code: string,
  form: FormDefinition,
  labels: LabelReader,
): RawValues {
  const text = withoutFormCode(message, code)
  const pieces = text.split('#').map(piece => piece.trim())
  const isCompact = pieces.length === 1 && !beginsWithLabel(text, form, labels)
  const values = isCompact ? compactValues(text, form) : labelledValues(pieces, form, labels)
  return { values, hasExtra: false, setsAll: false }
}

function beginsWithLabel(text: string, { fields }: FormDefinition, labels: LabelReader): boolean {
  const lower = text.toLowerCase()
  return fields.some(({ labels: { tiny, short } }) =>
    [tiny, short].some(written => {
      const label = labels.read(written)?.trim().toLowerCase()
      if (label === undefined || label === '' || !lower.startsWith(label)) return false
      return /^(?:$|[\s\d])/.test(lower.slice(label.length))
    }),
  )
}

/** A value is a word or a text in double quotes; a text that comes last takes what is left. */
function compactValues(text: string, { fields }: FormDefinition): Map<string, RawValue> {
  const written = fields.filter(({ type }) => type !== VIRTUAL_TYPE)
  const values = new Map<string, RawValue>()
  let rest = text
  for (const [index, field] of written.entries()) {
    if (rest === '') break
    const isLast = index === written.length - 1
    const [value, behind] = isLast && field.type === 'string' ? [rest, ''] : cutValue(rest)
    values.set(field.key, unquoted(value))
    rest = behind
  }
  return values
}

function cutValue(text: string): [value: string, rest: string] {
  const value = /^(?:"[^"]*"|\S+)/.exec(text)?.[0] ?? ''
  return [value, text.slice(value.length).trimStart()]
}

const unquoted = (value: string): string => /^"([^"]*)"$/.exec(value)?.[1] ?? value

function labelledValues(
  pieces: readonly string[],
  { fields }: FormDefinition,
  labels: LabelReader,
): Map<string, RawValue> {
  const keys = keysByName(fields, labels)
  const found = new Map<string, (string | number)[]>()
  for (const piece of pieces) {
    const [, name, text] = /^([\p{L}\p{M}_.*]+)[\s\-!]*([\s\S]*)$/u.exec(piece) ?? []
    const key = name === undefined ? undefined : keys.get(name.toLowerCase())
    if (key !== undefined) getOrAdd(found, key, () => []).push(labelledValue(text as string))
  }
  return new Map([...found].map(([key, values]) => [key, onlyOrAll(values)]))
}

const onlyOrAll = (values: readonly (string | number)[]): RawValue =>
  values.length === 1 ? (values[0] as string | number) : values

/** Names of fields themselves, and their labels before them. */
function keysByName(fields: readonly FieldDefinition[], labels: LabelReader): Map<string, string> {
  const keys = new Map<string, string>()
  for (const { key } of fields) keys.set(key.toLowerCase(), key)
  for (const { key, labels: written } of fields) {
    const label = labels.read(written.tiny)?.trim().toLowerCase()
    if (label !== undefined && label !== '') keys.set(label, key)
  }
  return keys
}

function labelledValue(text: string): string | number {
  const date = /^(\d{4})[-/](\d{1,2})[-/](\d{1,2})$/.exec(text)
  if (date !== null) return utcDay(Number(date[1]), Number(date[2]), Number(date[3])) ?? text
  const number = /^([1-9]\d*)\s*([\s\S]*)$/.exec(text)
  if (number === null) return text
  const [, digits, rest] = number as unknown as [string, string, string]
  // Numbers too long for a number stay what they are: ids, mostly.
  return rest === '' && Number.isSafeInteger(Number(digits)) ? Number(digits) : digits + rest
}

function utcDay(year: number, month: number, day: number): number | undefined {
  const ms = Date.UTC(year, month - 1, day)
  return new Date(ms).getUTCDate() === day && month <= 12 ? ms : undefined
}
