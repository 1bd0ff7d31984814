import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GrammarError } from '../../../../src/core/sandbox/reply-text.ts'
import {
  parseThrown,
  plainFailure,
  renderFailure,
  type Thrown,
  validateFailure,
} from '../../../../src/core/sandbox/thrown-failure.ts'

const thrown = (value: unknown): Thrown => parseThrown(Buffer.from(JSON.stringify(value)))
const told = ({ code, detail }: ReturnType<typeof plainFailure>): unknown[] => [
  code,
  detail.error,
  detail.reason,
]

describe('thrown values as failures', () => {
  const named = thrown({ form: 'error', error: 'not_found', reason: 'why' })
  const exception = thrown({ form: 'exception', name: 'TypeError', message: 'm', stack: 's' })
  const text = thrown({ form: 'value', value: 'text' })

  it('keeps the name where there is one', () => {
    assert.deepEqual(told(plainFailure(named)), ['function_failed', 'not_found', 'why'])
    assert.deepEqual(told(plainFailure(exception)), ['function_failed', 'TypeError', 'm'])
    assert.deepEqual(told(plainFailure(text)), ['function_failed', 'unnamed_error', 'text'])
    const missing = thrown({ form: 'error', error: 'function_missing', reason: 'r' })
    assert.equal(plainFailure(missing).code, 'function_missing')
    const compilation = thrown({ form: 'error', error: 'compilation_error', reason: 'r' })
    assert.equal(plainFailure(compilation).code, 'compilation_failed')
  })

  it('renders what has no name', () => {
    assert.deepEqual(told(renderFailure(named)), ['document_missing', 'not_found', 'why'])
    const reason = 'function raised error: TypeError: m \nstacktrace: s'
    assert.deepEqual(told(renderFailure(exception)), ['function_failed', 'render_error', reason])
  })

  it('refuses documents with any JSON', () => {
    const forbidden = thrown({ form: 'object', value: { forbidden: [1] } })
    assert.deepEqual(told(validateFailure(forbidden)), ['forbidden', undefined, [1]])
    const none = thrown({ form: 'object', value: null })
    assert.equal(validateFailure(none).detail.error, 'unknown_error')
    assert.equal(validateFailure(text).detail.reason, 'text')
    assert.equal(validateFailure(exception).detail.error, 'TypeError')
  })

  it('does not believe a description of the wrong form', () => {
    for (const value of [
      null,
      1,
      [],
      {},
      { form: 'x' },
      { form: 'error' },
      { form: 'exception' },
    ]) {
      assert.throws(() => thrown(value), GrammarError, JSON.stringify(value))
    }
    assert.throws(() => parseThrown(Buffer.from('{')), GrammarError)
  })
})
