/**
 * Reads a selector from a request: checks every operator and its argument, and normalises.
 *
 * Bare values become `$eq`, several members an `$and`, nested objects dotted paths, and negations
 * move down to the conditions. Every error is Failure('mango_invalid') with CouchDB's word and
 * reason. What `$regex` holds is compiled here, once.
 */
import { parseFieldPath } from './field-path.ts'
import {
  isInteger,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from './json-value.ts'
import { mangoFailure } from './mango-failure.ts'
import { compilePattern } from './pattern/pattern.ts'
import { PatternError } from './pattern/pattern-tree.ts'
import { printTerm } from './print-term.ts'
import { type Condition, EVERYTHING, type Selector } from './selector.ts'

const NESTING_MAX = 500
const COMBINATIONS = new Set(['$and', '$or', '$nor', '$not'])
const UNSUPPORTED = new Set(['$where', '$geoWithin', '$geoIntersects', '$near', '$nearSphere'])

export function parseSelector(json: JsonValue): Selector {
  if (!isJsonObject(json)) {
    throw mangoFailure(
      'invalid_selector_json',
      `Selector must be a JSON object, not: ${printTerm(json)}`,
    )
  }
  if (Object.keys(json).length === 0) return EVERYTHING
  const selector = negationsDown(parsePart(json, '', 0))
  if (selector.kind === 'field' && selector.field === '') {
    throw mangoFailure('invalid_selector', 'One or more conditions is missing a field name.')
  }
  return selector
}

/** One object of the selector, below a field or at the top (field ''). */
function parsePart(json: JsonValue, field: string, depth: number): Selector {
  if (depth > NESTING_MAX) {
    throw mangoFailure('invalid_selector', 'The selector is nested too deeply.')
  }
  const names = isJsonObject(json) ? Object.keys(json) : []
  const name = names[0]
  if (!isJsonObject(json) || name === undefined) {
    return fieldTest(field, { kind: 'compare', op: '$eq', value: json })
  }
  if (names.length > 1) {
    const parts = names.map(each =>
      parsePart({ [each]: json[each] as JsonValue }, field, depth + 1),
    )
    return { kind: 'and', parts }
  }
  const argument = json[name] as JsonValue
  if (COMBINATIONS.has(name)) return parseCombination(name, argument, field, depth)
  if (name === '$text' || name === '$default') return parseText(name, argument, field)
  if (name.startsWith('$')) return fieldTest(field, parseCondition(name, argument, depth))
  return parsePart(argument, field === '' ? name : `${field}.${name}`, depth + 1)
}

function fieldTest(field: string, condition: Condition): Selector {
  return { kind: 'field', field, path: field === '' ? [] : parseFieldPath(field), condition }
}

const badArgument = (op: string, argument: JsonValue, facts: JsonObject = {}) =>
  mangoFailure('bad_arg', `Bad argument for operator ${op}: ${printTerm(argument)}`, facts)

function parseCombination(op: string, argument: JsonValue, field: string, depth: number): Selector {
  if (op === '$not') {
    if (!isJsonObject(argument)) throw badArgument(op, argument)
    return { kind: 'not', selector: parsePart(argument, field, depth + 1) }
  }
  if (!isJsonArray(argument)) throw badArgument(op, argument)
  const parts = argument.map(part => parsePart(part, field, depth + 1))
  return { kind: op.slice(1) as 'and' | 'or' | 'nor', parts }
}

/**
 * `$default` is how `$text` looks after normalisation; it is accepted so that our own output can
 * come back in.
 */
function parseText(name: string, argument: JsonValue, field: string): Selector {
  const inner = name === '$default' && isJsonObject(argument) ? argument.$text : argument
  if (typeof inner !== 'string' && typeof inner !== 'number' && typeof inner !== 'boolean') {
    throw badArgument('$text', argument)
  }
  if (field !== '') {
    const shown = printTerm({ $default: { $text: inner } })
    throw mangoFailure('bad_field', `Invalid field normalization on selector: ${shown}`)
  }
  return { kind: 'text', query: inner }
}

function parseCondition(op: string, argument: JsonValue, depth: number): Condition {
  switch (op) {
    case '$lt':
    case '$lte':
    case '$eq':
    case '$ne':
    case '$gte':
    case '$gt':
      return { kind: 'compare', op, value: argument }
    case '$in':
    case '$nin':
    case '$all':
      if (!isJsonArray(argument)) throw badArgument(op, argument)
      return { kind: 'list', op, values: argument }
    case '$exists':
      if (typeof argument !== 'boolean') throw badArgument(op, argument)
      return { kind: 'exists', wanted: argument }
    case '$type':
      if (typeof argument !== 'string') throw badArgument(op, argument)
      return { kind: 'type', name: argument }
    case '$size':
      if (!isInteger(argument) || argument < 0) throw badArgument(op, argument)
      return { kind: 'size', length: argument }
    case '$mod':
      return parseMod(argument)
    case '$elemMatch':
    case '$allMatch':
    case '$keyMapMatch':
      if (!isJsonObject(argument)) throw badArgument(op, argument)
      return { kind: 'inside', op, selector: parseInner(argument, depth) }
    default:
      return parseTextCondition(op, argument)
  }
}

/** An empty inner selector asks for an empty object, as an empty condition does. */
const parseInner = (argument: JsonObject, depth: number) => parsePart(argument, '', depth + 1)

/**
 * `notIntegers` is what the specification's dialect answers differently. A divisor of zero
 * divides nothing.
 */
function parseMod(argument: JsonValue): Condition {
  if (!isJsonArray(argument) || argument.length !== 2) throw badArgument('$mod', argument)
  const [divisor, remainder] = argument
  if (!isInteger(divisor) || !isInteger(remainder)) {
    throw badArgument('$mod', argument, { notIntegers: true })
  }
  if (divisor === 0) throw badArgument('$mod', argument)
  return { kind: 'mod', divisor, remainder }
}

function parseTextCondition(op: string, argument: JsonValue): Condition {
  if (UNSUPPORTED.has(op)) throw mangoFailure('not_supported', `Unsupported operator: ${op}`)
  if (typeof argument === 'string' && op === '$beginsWith')
    return { kind: 'begins', prefix: argument }
  if (typeof argument === 'string' && op === '$regex') return parseRegex(argument)
  throw mangoFailure('invalid_operator', `Invalid operator: ${op}`)
}

function parseRegex(source: string): Condition {
  try {
    return { kind: 'regex', pattern: compilePattern(source) }
  } catch (thrown) {
    if (!(thrown instanceof PatternError)) throw thrown
    throw badArgument('$regex', source, { pattern: thrown.message })
  }
}

function negationsDown(selector: Selector): Selector {
  switch (selector.kind) {
    case 'not':
      return negate(selector.selector)
    case 'nor':
      return { kind: 'and', parts: selector.parts.map(negate) }
    case 'and':
    case 'or':
      return { kind: selector.kind, parts: selector.parts.map(negationsDown) }
    default:
      return selector
  }
}

function negate(selector: Selector): Selector {
  switch (selector.kind) {
    case 'not':
      return negationsDown(selector.selector)
    case 'nor':
      return { kind: 'or', parts: selector.parts.map(negationsDown) }
    case 'and':
      return { kind: 'or', parts: selector.parts.map(negate) }
    case 'or':
      return { kind: 'and', parts: selector.parts.map(negate) }
    case 'field':
      return { ...selector, condition: negateCondition(selector.condition) }
    case 'text':
      throw badArgument('$not', { $default: { $text: selector.query } })
    case 'everything':
      return { kind: 'not', selector }
  }
}

const OPPOSITES = {
  $lt: '$gte',
  $lte: '$gt',
  $eq: '$ne',
  $ne: '$eq',
  $gte: '$lt',
  $gt: '$lte',
} as const

function negateCondition(condition: Condition): Condition {
  switch (condition.kind) {
    case 'compare':
      return { ...condition, op: OPPOSITES[condition.op] }
    case 'exists':
      return { kind: 'exists', wanted: !condition.wanted }
    case 'not':
      return condition.condition
    case 'list':
      if (condition.op === '$all') return { kind: 'not', condition }
      return { ...condition, op: condition.op === '$in' ? '$nin' : '$in' }
    default:
      return { kind: 'not', condition }
  }
}
