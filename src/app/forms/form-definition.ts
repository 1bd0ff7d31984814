/**
 * Forms for messages, as the settings define them: a code, and fields in the order in which a message has them. What
 * people write wrong in the settings reads as if it were not there. Leaves to others: XForms, which are documents.
 */
import { isObject, type JsonObject } from '../documents/document.ts'
import type { Settings } from '../settings/settings.ts'

export interface FieldDefinition {
  /** Where the value goes in a record; dots make objects in objects. */
  readonly key: string
  readonly type: string
  readonly isRequired: boolean
  /** As they are written in the settings: texts, or texts by language. */
  readonly labels: { readonly tiny: unknown; readonly short: unknown }
  /** Codes that stand for labels. */
  readonly list: readonly ListItem[] | undefined
}

export interface ListItem {
  readonly code: string
  readonly label: unknown
}

export interface FormDefinition {
  readonly code: string
  readonly fields: readonly FieldDefinition[]
  /** The field that names the facility. */
  readonly facilityReference: string | undefined
  /** Some label is the key of a translation. */
  readonly isTranslated: boolean
}

/** A field of this type is computed from others: no message has it. */
export const VIRTUAL_TYPE = 'bsAggreDate'

export const formsIn = ({ all }: Settings): JsonObject => (isObject(all.forms) ? all.forms : {})

/** @param code in upper case, as the settings have it */
export function findForm(settings: Settings, code: string): FormDefinition | undefined {
  const forms = formsIn(settings)
  const form = Object.hasOwn(forms, code) ? forms[code] : undefined
  return isObject(form) ? definitionOf(code, form) : undefined
}

function definitionOf(code: string, form: JsonObject): FormDefinition {
  const given = isObject(form.fields) ? form.fields : {}
  const fields = Object.entries(given).flatMap(([key, field]) =>
    isObject(field) ? [fieldOf(key, field)] : [],
  )
  const reference = form.facility_reference
  return {
    code,
    fields,
    facilityReference: typeof reference === 'string' && reference !== '' ? reference : undefined,
    isTranslated: fields.some(({ labels: { tiny, short }, list = [] }) =>
      [tiny, short, ...list.map(({ label }) => label)].some(isKey),
    ),
  }
}

const isKey = (label: unknown): boolean =>
  isObject(label) && typeof label.translation_key === 'string'

function fieldOf(key: string, { type, required, labels, list }: JsonObject): FieldDefinition {
  const { tiny, short } = isObject(labels) ? labels : {}
  return {
    key,
    type: typeof type === 'string' ? type : '',
    isRequired: Boolean(required),
    labels: { tiny, short },
    list: Array.isArray(list) && list.length > 0 ? list.flatMap(itemOf) : undefined,
  }
}

const itemOf = (item: unknown): ListItem[] =>
  Array.isArray(item) && item.length > 0 ? [{ code: String(item[0]), label: item[1] }] : []
