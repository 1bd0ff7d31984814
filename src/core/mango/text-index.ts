/**
 * Definitions of text indexes: their checks, how a design document stores them, and which fields a
 * selector would ask of one.
 *
 * Tokenising, storing and searching are not here.
 */
import type { TextFieldType, TextIndex } from './index-definition.ts'
import { parsePartial } from './index-definition.ts'
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, member } from './json-value.ts'
import { indexFailure } from './mango-failure.ts'
import { parseBoolean, refuseUnknown } from './options.ts'
import { printTerm, printTermReadably } from './print-term.ts'
import { type Condition, type Selector, selectorJson } from './selector.ts'
import { parseAnalyzer } from './text/analyzer.ts'
import { plainField } from './text/field-name.ts'

const KNOWN = new Set([
  'default_analyzer',
  'default_field',
  'partial_filter_selector',
  'selector',
  'fields',
  'index_array_lengths',
])
const FIELD_TYPES: readonly string[] = ['string', 'number', 'boolean']

interface Named {
  readonly ddoc: string
  readonly name: string
  readonly partitioned: boolean
}

/** The `index` member of `POST _index` for type text, or what a design document stores of it. */
export function parseTextIndex(given: JsonValue, named: Named): TextIndex {
  if (!isJsonObject(given)) {
    throw indexFailure(
      'invalid_index',
      `The definition of a text index is an object, not: ${printTerm(given)}`,
    )
  }
  const defaultAnalyzer = member(given, 'default_analyzer') ?? 'keyword'
  const defaultField = parseDefaultField(member(given, 'default_field') ?? {})
  const filter = member(given, 'partial_filter_selector') ?? member(given, 'selector')
  const partial = parsePartial(filter)
  const fields = parseTextFields(member(given, 'fields') ?? 'all_fields')
  const arrayLengths = parseBoolean(member(given, 'index_array_lengths') ?? true)
  refuseUnknown(given, KNOWN)
  for (const analyzer of [defaultAnalyzer, defaultField.analyzer]) parseAnalyzer(analyzer)
  const def = {
    default_analyzer: defaultAnalyzer,
    default_field: member(given, 'default_field') ?? {},
    partial_filter_selector: partial ? selectorJson(partial) : {},
    fields: fields === 'all' ? 'all_fields' : fields.map(({ name, type }) => ({ name, type })),
    index_array_lengths: arrayLengths,
  }
  return {
    type: 'text',
    ...named,
    fields,
    defaultAnalyzer,
    defaultField,
    arrayLengths,
    partial,
    def,
  }
}

function parseTextFields(json: JsonValue): TextIndex['fields'] {
  if (json === 'all_fields' || (isJsonArray(json) && json.length === 0)) return 'all'
  const fields = isJsonArray(json) ? json.map(parseTextField) : [undefined]
  return fields.map(field => {
    if (field) return field
    throw indexFailure(
      'invalid_index_fields_definition',
      'Each field of a text index needs a name and a type (string, number or boolean), not: ' +
        printTermReadably(json),
    )
  })
}

function parseTextField(json: JsonValue) {
  if (!isJsonObject(json) || Object.keys(json).length !== 2) return undefined
  const { name, type } = json
  if (typeof name !== 'string' || name === '') return undefined
  if (typeof type !== 'string' || !FIELD_TYPES.includes(type)) return undefined
  return { name, type: type as TextFieldType }
}

function parseDefaultField(json: JsonValue): TextIndex['defaultField'] {
  if (typeof json === 'boolean') return { enabled: json, analyzer: 'standard' }
  if (!isJsonObject(json)) {
    throw indexFailure(
      'invalid_object',
      `default_field is an object or a boolean, not: ${printTerm(json)}`,
    )
  }
  return {
    enabled: parseBoolean(member(json, 'enabled') ?? true),
    analyzer: member(json, 'analyzer') ?? 'standard',
  }
}

/** The member of `indexes` for a text index. */
export function textIndexMember(index: TextIndex): JsonObject {
  const { enabled, analyzer } = index.defaultField
  const perField = {
    name: 'perfield',
    default: index.defaultAnalyzer,
    fields: { $default: analyzer },
  }
  return { index: index.def, analyzer: enabled ? perField : 'keyword' }
}

export function readTextIndex(json: JsonValue, named: Named): TextIndex | undefined {
  const given = isJsonObject(json) ? member(json, 'index') : undefined
  if (!isJsonObject(given)) return undefined
  try {
    return parseTextIndex(given, named)
  } catch {
    return undefined
  }
}

/**
 * Whether the index knows all fields that the selector asks of it, as `name:type`. Conditions whose
 * type is open (`$exists`, `$size`, null) ask for none. Elements of arrays are indexed under the
 * name of the array.
 */
export function textIndexKnows(index: TextIndex, selector: Selector): boolean {
  if (index.fields === 'all') return true
  const known = new Set(index.fields.map(({ name, type }) => `${plainField(name)}:${type}`))
  if (index.defaultField.enabled) known.add('$default')
  return textFields(selector).every(name => known.has(name))
}

export function textFields(selector: Selector): readonly string[] {
  switch (selector.kind) {
    case 'everything':
      return []
    case 'text':
      return ['$default']
    case 'not':
      return textFields(selector.selector)
    case 'field':
      return conditionFields(selector.field, selector.condition)
    default:
      return [...new Set(selector.parts.flatMap(textFields))]
  }
}

function conditionFields(field: string, condition: Condition): readonly string[] {
  switch (condition.kind) {
    case 'compare':
      return valueFields(field, condition.value)
    case 'list':
      return condition.values.flatMap(value => valueFields(field, value))
    case 'regex':
    case 'begins':
      return [`${field}:string`]
    case 'mod':
      return [`${field}:number`]
    case 'not':
      return conditionFields(field, condition.condition)
    case 'inside':
      return textFields(condition.selector).map(inner => joinField(field, inner))
    default:
      return []
  }
}

const joinField = (field: string, inner: string) =>
  inner.startsWith(':') ? `${field}${inner}` : `${field}.${inner}`

function valueFields(field: string, value: JsonValue): readonly string[] {
  if (isJsonArray(value)) return value.flatMap(item => valueFields(field, item))
  if (isJsonObject(value)) {
    return Object.entries(value).flatMap(([name, item]) => valueFields(`${field}.${name}`, item))
  }
  return value === null ? [] : [`${field}:${typeof value}`]
}
