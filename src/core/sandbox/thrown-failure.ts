/**
 * What a user function threw, as the Failure that clients of CouchDB expect.
 *
 * Input is the description written by `program/realm-errors.ts`; it comes from a process that runs
 * strangers' code, so every field is checked. The same throw means different things to a validation
 * (its reason is the answer), to a show or list (a rendering error) and to a filter.
 */
import { Failure, type FailureCode } from '../../base/errors.ts'
import { GrammarError } from './reply-text.ts'

export interface Thrown {
  readonly form: 'error' | 'fatal' | 'object' | 'exception' | 'value'
  readonly error: string
  readonly reason: unknown
  readonly value: unknown
  readonly stack: string
}

export function parseThrown(bytes: Buffer): Thrown {
  let parsed: unknown
  try {
    parsed = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new GrammarError('an error that is not JSON')
  }
  const fields = (typeof parsed === 'object' && parsed !== null ? parsed : {}) as Record<
    string,
    unknown
  >
  const { form } = fields
  if (form === 'error' || form === 'fatal') {
    const error = textOf(fields.error)
    return { form, error, reason: fields.reason, value: null, stack: '' }
  }
  if (form === 'exception') {
    const stack = textOf(fields.stack ?? '')
    const error = textOf(fields.name)
    return { form, error, reason: textOf(fields.message), value: null, stack }
  }
  if (form === 'object' || form === 'value') {
    const { value } = fields
    return { form, error: 'unnamed_error', reason: value, value, stack: '' }
  }
  throw new GrammarError('an error of unknown form')
}

/** For maps, reduces, filters and rewrites: the error as it was named. */
export function plainFailure(thrown: Thrown): Failure {
  const code = KNOWN_ERRORS[thrown.error]
  const isNamed = thrown.form === 'error' || thrown.form === 'fatal'
  if (isNamed && code !== undefined) return new Failure(code, { reason: thrown.reason })
  if (isNamed && thrown.error === 'compilation_error') return failed('compilation_failed', thrown)
  return failed('function_failed', thrown)
}

/** For shows, lists and updates: anything but a named error is a rendering error. */
export function renderFailure(thrown: Thrown): Failure {
  if (thrown.form === 'error' || thrown.form === 'fatal') {
    const code = RENDER_ERRORS[thrown.error]
    return code === undefined ? plainFailure(thrown) : failed(code, thrown)
  }
  const what =
    thrown.form === 'exception' ? `${thrown.error}: ${thrown.reason}` : JSON.stringify(thrown.value)
  const reason = `function raised error: ${what} \nstacktrace: ${thrown.stack}`
  return new Failure('function_failed', { error: 'render_error', reason })
}

/** For validate_doc_update: `{forbidden: x}` and `{unauthorized: x}`, where x is any JSON. */
export function validateFailure(thrown: Thrown): Failure {
  const { form, value } = thrown
  if (form === 'error' || form === 'fatal' || form === 'exception') return plainFailure(thrown)
  if (form === 'value' || typeof value !== 'object' || value === null) {
    return new Failure('function_failed', { error: 'unknown_error', reason: value })
  }
  const members = value as Record<string, unknown>
  if ('forbidden' in members) return new Failure('forbidden', { reason: members.forbidden })
  if ('unauthorized' in members)
    return new Failure('unauthorized', { reason: members.unauthorized })
  const names = Object.keys(members)
  const reason = names.length === 1 ? members[names[0] as string] : value
  return new Failure('function_failed', { error: 'unknown_error', reason })
}

/** Errors of our harness with a code of their own. */
const KNOWN_ERRORS: Readonly<Record<string, FailureCode>> = {
  function_missing: 'function_missing',
}

/** Errors that a rendering function may name, with the code whose status clients expect. */
const RENDER_ERRORS: Readonly<Record<string, FailureCode>> = {
  not_found: 'document_missing',
  forbidden: 'forbidden',
  unauthorized: 'unauthorized',
  not_acceptable: 'not_acceptable',
  method_not_allowed: 'method_not_allowed',
}

const failed = (code: FailureCode, thrown: Thrown): Failure =>
  new Failure(code, { error: thrown.error, reason: thrown.reason })

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new GrammarError('an error without its text')
  return value
}
