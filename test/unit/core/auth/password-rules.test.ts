import assert from 'node:assert/strict'
import { it } from 'node:test'
import { checkPasswordRules, parsePasswordRules } from '../../../../src/core/auth/password-rules.ts'
import { throwsFailure } from './expect-failure.ts'

it('password rules', () => {
  const rules = parsePasswordRules('["[a-z]", {".{4,}", "At least four."}, {"\\\\d"}]')
  checkPasswordRules('abc1', rules)
  const text = 'Password does not conform to requirements.'
  throwsFailure(() => checkPasswordRules('1234', rules), 'request_invalid', text)
  throwsFailure(() => checkPasswordRules('ab1', rules), 'request_invalid', `${text} At least four.`)
  throwsFailure(() => checkPasswordRules('abcd', rules), 'request_invalid', text)
  for (const empty of ['', '[]']) assert.deepEqual(parsePasswordRules(empty), [])
  for (const bad of ['["("]', '[5]', '{a, b}', '["a", {"b", 5}]']) {
    assert.throws(() => parsePasswordRules(bad), { code: 'config_invalid' }, bad)
  }
})
