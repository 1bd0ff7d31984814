/**
 * Messages that machines write: a header, the code of the form, values. Header `1`: values in the order of the fields
 * between `#`. Header `J1`: label, value, label, value between `#`; `\#` is a `#` in a value. Other headers have no
 * values that anybody could read.
 */
import { type FormDefinition, VIRTUAL_TYPE } from '../../forms/form-definition.ts'
import type { LabelReader } from '../label-texts.ts'
import type { RawValue, RawValues } from './raw-values.ts'

const MUVUKU = /^\s*([A-Za-z]?\d)![\s\S]+?![\s\S]/

export const isMuvuku = (message: string): boolean => MUVUKU.test(message)

export function parseMuvuku(message: string, form: FormDefinition, labels: LabelReader): RawValues {
  const header = MUVUKU.exec(message)?.[1]?.toUpperCase()
  const body = message.split('!').slice(2).join('!')
  if (header === '1') return byPosition(body, form)
  const values = header === 'J1' ? byLabel(body, form, labels) : new Map<string, RawValue>()
  return { values, hasExtra: false, setsAll: true }
}

function byPosition(body: string, { fields }: FormDefinition): RawValues {
  const given = body.split('#').map(value => value.trim())
  const written = fields.filter(({ type }) => type !== VIRTUAL_TYPE)
  const values = new Map<string, RawValue>()
  for (const [index, { key }] of written.entries()) {
    const value = given[index]
    if (value !== undefined) values.set(key, value)
  }
  return { values, hasExtra: given.length > written.length, setsAll: true }
}

function byLabel(
  body: string,
  { fields }: FormDefinition,
  labels: LabelReader,
): Map<string, RawValue> {
  const pieces = body.split(/(?<!\\)#/)
  const keys = new Map<string, string>()
  for (const { key, labels: written } of fields) {
    const label = labels.read(written.tiny)
    if (label !== undefined) keys.set(label.trim().toLowerCase(), key)
  }
  const values = new Map<string, RawValue>()
  for (let at = 0; at + 1 < pieces.length; at += 2) {
    const key = keys.get((pieces[at] as string).trim().toLowerCase())
    if (key !== undefined) values.set(key, (pieces[at + 1] as string).replaceAll('\\#', '#'))
  }
  return values
}
