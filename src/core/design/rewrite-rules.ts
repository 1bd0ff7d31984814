/**
 * The rules of a design document's `rewrites` array: which path and query a request inside the server becomes.
 *
 * Pure. Rules are tried in order, the first that fits counts; what it binds (`:name`, `*`) fills its target. Targets
 * are relative to the design document. Leaves to others: sending the request on, and rewrites that are functions.
 */
import { Failure } from '../../base/errors.ts'
import type { Fields } from '../document/design-document.ts'

export interface RewriteRequest {
  readonly method: string
  /** What follows `_rewrite`, decoded. */
  readonly path: readonly string[]
  readonly query: readonly (readonly [name: string, value: string])[]
}

export interface RewriteTarget {
  /** Relative to the design document; CLIMB goes one up. */
  readonly path: readonly PathStep[]
  readonly query: readonly (readonly [name: string, value: string])[]
}

/** One level up. Only rules climb: a client that sends `..` names a thing called so. */
export const CLIMB: unique symbol = Symbol('climb')
export type PathStep = string | typeof CLIMB

/** Undefined when no rule fits. Fails with `function_failed` when a rule has no target. */
export function applyRewriteRules(
  rules: readonly unknown[],
  request: RewriteRequest,
): RewriteTarget | undefined {
  // All of them first: a rule without a target is a mistake wherever it stands.
  const parsed = rules.map(parseRule)
  for (const rule of parsed) {
    const target = applyRule(rule, request)
    if (target !== undefined) return target
  }
  return undefined
}

type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bind'; readonly name: string }
  | { readonly kind: 'rest' }

interface Rule {
  readonly method: string
  readonly from: readonly Part[]
  readonly to: readonly Part[]
  readonly query: Fields
  readonly formats: Fields
}

function parseRule(given: unknown): Rule {
  const rule = isObject(given) ? given : {}
  if (typeof rule.to !== 'string') {
    const reason = 'A rewrite rule needs `to`.'
    throw new Failure('function_failed', { error: 'invalid_rewrite_target', reason })
  }
  return {
    method: typeof rule.method === 'string' ? rule.method : '*',
    from: typeof rule.from === 'string' ? parsePath(rule.from) : [{ kind: 'rest' }],
    to: parsePath(rule.to),
    query: isObject(rule.query) ? rule.query : {},
    formats: isObject(rule.formats) ? rule.formats : {},
  }
}

function parsePath(path: string): Part[] {
  const parts: Part[] = []
  for (const text of path.split('/')) {
    if (text === '') continue
    if (text === '*') parts.push({ kind: 'rest' })
    else if (text.startsWith(':')) parts.push({ kind: 'bind', name: text.slice(1) })
    else parts.push({ kind: 'text', text })
  }
  return parts
}

function applyRule(rule: Rule, request: RewriteRequest): RewriteTarget | undefined {
  if (rule.method !== '*' && rule.method !== request.method) return undefined
  const bound = bindPath(rule.from, request.path)
  if (bound === undefined) return undefined
  const values = new Map<string, unknown>()
  for (const [name, text] of request.query) values.set(name, queryValue(name, text))
  for (const [name, text] of bound.names) values.set(name, text)
  const star = bound.rest[0]
  for (const [name, value] of Object.entries(rule.query)) {
    values.set(name, substitute(value, { values, star, formats: rule.formats }))
  }
  const path = targetPath(rule.to, values, bound.rest)
  return { path, query: [...values].map(([name, value]) => [name, queryText(name, value)]) }
}

interface Bound {
  readonly names: ReadonlyMap<string, string>
  readonly rest: readonly string[]
}

/** `*` takes all that is left, and needs at least one segment. */
function bindPath(from: readonly Part[], path: readonly string[]): Bound | undefined {
  const names = new Map<string, string>()
  for (const [at, part] of from.entries()) {
    const segment = path[at]
    if (segment === undefined) return undefined
    if (part.kind === 'rest') return { names, rest: path.slice(at) }
    if (part.kind === 'bind') names.set(part.name, segment)
    else if (part.text !== segment) return undefined
  }
  return path.length === from.length ? { names, rest: [] } : undefined
}

function targetPath(
  to: readonly Part[],
  values: ReadonlyMap<string, unknown>,
  rest: readonly string[],
): PathStep[] {
  const path: PathStep[] = []
  for (const part of to) {
    if (part.kind === 'rest') {
      path.push(...rest)
      break
    }
    if (part.kind === 'bind') path.push(textOf(values.get(part.name)))
    else path.push(part.text === '..' ? CLIMB : part.text)
  }
  return path
}

interface Substitution {
  readonly values: ReadonlyMap<string, unknown>
  readonly star: string | undefined
  readonly formats: Fields
}

function substitute(value: unknown, given: Substitution): unknown {
  if (Array.isArray(value)) return value.map(item => substituteText(item, given))
  return substituteText(value, given)
}

function substituteText(value: unknown, { values, star, formats }: Substitution): unknown {
  if (typeof value !== 'string') return value
  if (value === '*') return star ?? value
  if (!value.startsWith(':')) return value
  const name = value.slice(1)
  const bound = values.has(name) ? values.get(name) : value
  return formatted(bound, Object.hasOwn(formats, name) ? formats[name] : undefined)
}

function formatted(value: unknown, format: unknown): unknown {
  if (typeof value !== 'string') return value
  if (format === 'int' && /^[+-]?\d{1,15}$/.test(value)) return Number(value)
  if (format === 'bool' && (value === 'true' || value === 'false')) return value === 'true'
  return value
}

/** Parameters whose values are JSON on the wire. */
const JSON_PARAMETERS = new Set(['key', 'keys', 'startkey', 'start_key', 'endkey', 'end_key'])

function queryValue(name: string, text: string): unknown {
  if (!JSON_PARAMETERS.has(name)) return text
  try {
    return JSON.parse(text) as unknown
  } catch (thrown) {
    throw new Failure('json_invalid', {}, thrown)
  }
}

const queryText = (name: string, value: unknown): string =>
  JSON_PARAMETERS.has(name) ? JSON.stringify(value) : textOf(value)

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined ? 'undefined' : JSON.stringify(value)
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The path on the server: what a path relative to a design document leads to.
 *
 * @param secure nothing outside the database can be reached; fails with `function_failed`
 */
export function resolveRewritePath(
  design: readonly [database: string, namespace: string, name: string],
  path: readonly PathStep[],
  secure: boolean,
): string[] {
  const segments: string[] = [...design]
  for (const step of path) {
    if (step !== CLIMB) segments.push(step)
    else if (segments.length > 1 || !secure) segments.pop()
    else throw insecure()
  }
  return segments
}

const insecure = (): Failure =>
  new Failure('function_failed', {
    error: 'insecure_rewrite_rule',
    reason: 'too many ../.. segments',
  })
