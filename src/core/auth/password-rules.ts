/**
 * The option `password_regexp`: what a new password must match, as a list of Erlang terms:
 * `["[a-z]+", {".{10,}", "Use at least ten characters."}]`. Only the operator writes these
 * expressions.
 */
import { Failure } from '../../base/errors.ts'
import { isTuple, parseTermList, type Term } from './erlang-term.ts'

export interface PasswordRule {
  readonly pattern: RegExp
  /** Shown when the password does not match. */
  readonly text: string
}

export const parsePasswordRules = (text: string): readonly PasswordRule[] =>
  parseTermList(text).map(readRule)

export function checkPasswordRules(password: string, rules: readonly PasswordRule[]): void {
  const broken = rules.find(rule => !rule.pattern.test(password))
  if (!broken) return
  const text = broken.text === '' ? '' : ` ${broken.text}`
  throw new Failure('request_invalid', {
    reason: `Password does not conform to requirements.${text}`,
  })
}

function readRule(term: Term): PasswordRule {
  const [source, text = '', ...more] = isTuple(term) ? term.tuple : [term]
  if (typeof source !== 'string' || typeof text !== 'string' || more.length > 0) {
    throw new Failure('config_invalid', {
      reason: 'password_regexp must list expressions, or tuples of expression and text',
    })
  }
  try {
    return { pattern: new RegExp(source, 'u'), text }
  } catch (problem) {
    throw new Failure('config_invalid', { reason: 'password_regexp does not compile' }, problem)
  }
}
