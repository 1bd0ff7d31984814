import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Failure, isFailure } from '../../../src/base/errors.ts'
import { Log, type LogOptions, parseLogLevel } from '../../../src/base/log.ts'

function logTo(lines: string[], options: Partial<LogOptions> = {}): Log {
  const sink = { write: (line: string) => void lines.push(line) }
  return new Log({ level: 'debug', format: 'json', sink, clock: () => 0, ...options })
}

describe('Log', () => {
  it('writes JSON lines with time, level, message and fields', () => {
    const lines: string[] = []
    logTo(lines, { fields: { worker: 1 } })
      .with({ part: 'x' })
      .notice('hello', { requestId: 'r' })
    const time = '1970-01-01T00:00:00.000Z'
    assert.deepEqual(JSON.parse(lines[0] ?? ''), {
      time,
      level: 'notice',
      message: 'hello',
      worker: 1,
      part: 'x',
      requestId: 'r',
    })
  })

  it('writes text lines, one an event', () => {
    const lines: string[] = []
    const log = logTo(lines, { format: 'text' })
    log.error('bad\nthing', { requestId: 'r1', file: 'a b', count: 3 })
    log.info('plain')
    assert.deepEqual(lines, [
      '[error] 1970-01-01T00:00:00.000Z r1 bad\\nthing file="a b" count=3',
      '[info] 1970-01-01T00:00:00.000Z - plain',
    ])
  })

  it('says nothing below its level', () => {
    const lines: string[] = []
    const log = logTo(lines, { level: 'warning' })
    log.notice('no')
    log.warning('yes')
    log.write('emergency', 'yes')
    assert.equal(lines.length, 2)
    assert.equal(log.enabled('notice'), false)
    logTo(lines, { level: 'none' }).write('emergency', 'no')
    assert.equal(lines.length, 2)
  })

  it('blacks out secrets wherever they are', () => {
    for (const format of ['json', 'text'] as const) {
      const lines: string[] = []
      logTo(lines, { format }).info('GET /_session?name=a&password=hush&x=1', {
        target: '/x?new_password=hush',
        source: 'http://ann:hush@host/db',
        headers: { Authorization: 'Basic hush', cookie: 'AuthSession=hush', accept: 'yes' },
        password: 'hush',
        deep: [{ derived_key: 'hush', token: 'hush' }],
        error: new Error('could not reach https://ann:hush@host'),
      })
      assert.doesNotMatch(lines[0] ?? '', /hush/)
      assert.match(lines[0] ?? '', /name=a&password=\[redacted\]&x=1/)
      assert.match(lines[0] ?? '', /accept/)
    }
  })

  it('tells errors with stack, code and cause, and survives cycles', () => {
    const lines: string[] = []
    const log = logTo(lines)
    const cause = new TypeError('below')
    log.error('failed', { error: new Failure('storage_full', { subject: 'x' }, cause), big: 2n })
    const line = JSON.parse(lines[0] ?? '')
    assert.equal(line.error.code, 'storage_full')
    assert.match(line.error.stack, /Failure: The disk is full\n/)
    assert.equal(line.error.cause.message, 'below')
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    log.error('failed', { cycle })
    assert.equal(lines.length, 2)
  })
})

it('reads levels with their short forms', () => {
  assert.equal(parseLogLevel('warn'), 'warning')
  assert.equal(parseLogLevel('emerg'), 'emergency')
  assert.equal(parseLogLevel('debug'), 'debug')
  assert.equal(parseLogLevel('none'), 'none')
  assert.throws(
    () => parseLogLevel('loud'),
    thrown => isFailure(thrown, 'config_invalid'),
  )
})
