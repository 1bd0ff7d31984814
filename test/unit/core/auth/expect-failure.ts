/** Asserts that something fails with a code and exactly this reason. */
import assert from 'node:assert/strict'
import { Failure, type FailureCode } from '../../../../src/base/errors.ts'

const matches = (code: FailureCode, reason: unknown) => (thrown: unknown) => {
  assert.ok(thrown instanceof Failure, String(thrown))
  assert.deepEqual([thrown.code, thrown.detail.reason], [code, reason])
  return true
}

export const failsWith = (work: Promise<unknown>, code: FailureCode, reason: unknown) =>
  assert.rejects(work, matches(code, reason))

export const throwsFailure = (work: () => unknown, code: FailureCode, reason: unknown) =>
  assert.throws(work, matches(code, reason))
