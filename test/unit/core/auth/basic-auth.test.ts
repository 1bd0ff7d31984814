import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readBasic } from '../../../../src/core/auth/basic-auth.ts'
import { throwsFailure } from './expect-failure.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('Basic', () => {
  it('splits at the first colon', () => {
    assert.deepEqual(readBasic(`Basic ${base64('bob:se:cret')}`), {
      name: 'bob',
      password: 'se:cret',
    })
    assert.deepEqual(readBasic(`basic ${base64('ünï:ß')}`), { name: 'ünï', password: 'ß' })
    assert.deepEqual(readBasic(`Basic ${base64(':')}`), { name: '', password: '' })
  })

  it('is no credentials without a colon, as _:_, or for another mechanism', () => {
    for (const header of [
      undefined,
      '',
      `Basic ${base64('bob')}`,
      `Basic ${base64('_:_')}`,
      'Bearer x',
    ]) {
      assert.equal(readBasic(header), undefined)
    }
  })

  it('refuses what is no base64', () => {
    for (const bad of ['Basic %%%', 'Basic abc', 'Basic a===', 'Basic YTpi=']) {
      throwsFailure(
        () => readBasic(bad),
        'request_invalid',
        'Authorization header has invalid base64 value',
      )
    }
  })

  it('reads Latin-1 where it is no UTF-8', () => {
    const header = `Basic ${Buffer.from('bob:\xfc', 'latin1').toString('base64')}`
    assert.deepEqual(readBasic(header), { name: 'bob', password: 'ü' })
  })
})
