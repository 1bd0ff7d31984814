/** Looks whether the values of a record are there and of their types. Nothing is refused: problems go into the record. */
import { isObject } from '../documents/document.ts'
import type { FieldDefinition, FormDefinition } from '../forms/form-definition.ts'
import type { FieldValues } from './convert-values.ts'
import type { RecordProblem } from './record-errors.ts'

export function findProblems({ fields }: FormDefinition, values: FieldValues): RecordProblem[] {
  const problems: RecordProblem[] = []
  const missing = fields.filter(({ key, isRequired }) => isRequired && isAbsent(values.get(key)))
  if (missing.length > 0) {
    const keys = missing.map(({ key }) => key).join(',')
    problems.push({ code: 'sys.missing_fields', values: { fields: keys } })
  }
  for (const field of fields) {
    if (hasRightType(field, values.get(field.key))) continue
    const { key, type } = field
    problems.push({ code: 'sys.incorrect_type', values: { key, type } })
  }
  return problems
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null

/** Types that are not named here have no form of their own. */
function hasRightType({ type, list }: FieldDefinition, value: unknown): boolean {
  if (isAbsent(value) || list !== undefined) return true
  switch (type) {
    case 'integer':
      return Number.isInteger(value)
    case 'string':
    case 'boolean':
      return typeof value === type
    case 'complex':
      return isObject(value)
    default:
      return true
  }
}
