import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseSecurity } from '../../../../src/core/auth/security-object.ts'
import { throwsFailure } from './expect-failure.ts'

describe('security objects', () => {
  it('know the old name of members, unless the new one is there', () => {
    const readers = { names: ['ann'] }
    assert.deepEqual(parseSecurity({ readers }).members.names, ['ann'])
    assert.deepEqual(parseSecurity({ readers, members: {} }).members.names, [])
  })

  it('keep to their form', () => {
    const names = 'names must be a JSON list of strings'
    const roles = 'roles must be a JSON list of strings'
    const bad: [unknown, string][] = [
      [[], 'Security object must be a JSON object'],
      [null, 'Security object must be a JSON object'],
      ['x', 'Security object must be a JSON object'],
      [{ admins: [] }, 'admins must be a JSON object'],
      [{ members: 5 }, 'members must be a JSON object'],
      [{ members: { names: 'ann' } }, names],
      [{ members: { names: null } }, names],
      [{ admins: { names: [5] } }, names],
      [{ admins: { roles: {} } }, roles],
      [{ readers: { roles: [null] } }, roles],
    ]
    for (const [object, reason] of bad) {
      throwsFailure(() => parseSecurity(object), 'request_invalid', reason)
    }
    parseSecurity({ custom: { a: 1 }, list: [1], members: { more: 1 } })
  })
})
