/** A message made a record's content: the form it is for, the values it has, and what is wrong with them. */
import { type FormDefinition, findForm } from '../forms/form-definition.ts'
import { type ConversionContext, convertValues, type FieldValues } from './convert-values.ts'
import type { RecordProblem } from './record-errors.ts'
import { formCodeOf, withoutZeroWidth } from './sms-formats/form-code.ts'
import { isMuvuku, parseMuvuku } from './sms-formats/muvuku.ts'
import { parseTextforms } from './sms-formats/textforms.ts'
import { findProblems } from './validate-record.ts'

export interface ParsedRecord {
  /** The code that the message has, known or not. */
  readonly code: string | undefined
  readonly form: FormDefinition | undefined
  readonly values: FieldValues
  readonly problems: readonly RecordProblem[]
}

export function parseSmsRecord(message: string, context: ConversionContext): ParsedRecord {
  const written = formCodeOf(message)
  const code = knownCode(written, context)
  const form = code === undefined ? undefined : findForm(context.settings, code)
  if (form === undefined || written === undefined) {
    const problems = problemsOfPlainText(message, written, context)
    return { code: written, form: undefined, values: new Map(), problems }
  }
  const raw = isMuvuku(message)
    ? parseMuvuku(message, form, context.labels)
    : parseTextforms(message, written, form, context.labels)
  const values = convertValues(form, raw, context)
  const extra: RecordProblem[] = raw.hasExtra ? [{ code: 'extra_fields' }] : []
  return { code, form, values, problems: [...extra, ...findProblems(form, values)] }
}

/** As it is, or else without what nobody can see. */
function knownCode(code: string | undefined, { settings }: ConversionContext): string | undefined {
  if (code === undefined || findForm(settings, code) !== undefined) return code
  return withoutZeroWidth(code)
}

function problemsOfPlainText(
  message: string,
  code: string | undefined,
  { settings }: ConversionContext,
): RecordProblem[] {
  if (message.trim() === '') return [{ code: 'sys.empty' }]
  if (!isFormsOnly(settings)) return []
  return [{ code: 'sys.form_not_found', values: { form: code ?? '' } }]
}

/** Whatever is not for a form is an error. */
export const isFormsOnly = ({ all }: ConversionContext['settings']): boolean =>
  all.forms_only_mode === true || all.forms_only_mode === 'true'
