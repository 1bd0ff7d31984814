import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Failure } from '../../../../src/base/errors.ts'
import type { User } from '../../../../src/core/auth/user.ts'
import {
  checkReplicatorWrite,
  requestText,
  withoutSecrets,
  withState,
} from '../../../../src/core/replication/replicator-document.ts'

const JAN: User = { name: 'jan', roles: [] }
const ADMIN: User = { name: 'admin', roles: ['_admin'] }
const REPLICATOR: User = { name: null, roles: ['_admin', '_replicator'] }
const bytes = (value: object) => Buffer.from(JSON.stringify(value))
const GOOD = { source: 'http://u:secret@h/s', target: { url: 'http://h/t', headers: { a: 'key' } } }

const write = (body: object, more: { old?: object; user?: User; deleted?: boolean } = {}) => {
  const user = more.user ?? JAN
  const stored = checkReplicatorWrite({
    body: bytes(body),
    deleted: more.deleted ?? false,
    old: more.old === undefined ? undefined : bytes(more.old),
    user,
    isAdmin: user.roles.includes('_admin'),
  })
  return stored === undefined ? body : (JSON.parse(stored.toString()) as object)
}

const refusal = (work: () => unknown): unknown => {
  try {
    work()
  } catch (thrown) {
    assert.ok(thrown instanceof Failure)
    assert.equal(thrown.code, 'forbidden')
    return thrown.detail.reason
  }
  return undefined
}

const STRANGER = "Can't update replication documents from other users."

describe('a document that asks for a replication', () => {
  it('belongs to who made it', () => {
    assert.deepEqual(write(GOOD), { ...GOOD, owner: 'jan' })
    assert.deepEqual(write({ ...GOOD, owner: 'jan' }), { ...GOOD, owner: 'jan' })
    assert.deepEqual(write({ ...GOOD, owner: 'jan' }, { user: ADMIN }), { ...GOOD, owner: 'jan' })
  })

  it('is changed and deleted by its owner and admins only', () => {
    const old = { ...GOOD, owner: 'eve' }
    assert.equal(
      refusal(() => write(GOOD, { old })),
      STRANGER,
    )
    assert.equal(
      refusal(() => write({ ...GOOD, owner: 'eve' })),
      STRANGER,
    )
    assert.equal(
      refusal(() => write({}, { old, deleted: true })),
      STRANGER,
    )
    assert.equal(
      refusal(() => write(GOOD, { old, user: ADMIN })),
      undefined,
    )
    assert.equal(
      refusal(() => write({}, { old: { ...old, owner: 'jan' }, deleted: true })),
      undefined,
    )
  })

  it('is refused with the reason that a request would be refused with', () => {
    assert.equal(
      refusal(() => write({})),
      'Missing replicator database',
    )
    assert.equal(
      refusal(() => write({ ...GOOD, source: 'bare' })),
      'local_endpoints_not_supported',
    )
    assert.equal(
      refusal(() => write({ ...GOOD, continuous: 'x' })),
      'parameter `continuous` must be a boolean',
    )
    assert.match(String(refusal(() => write({ ...GOOD, user_ctx: { roles: 'x' } }))), /user_ctx/)
  })

  it('is the replicator’s to write states into', () => {
    assert.deepEqual(write({ odd: 1 }, { user: REPLICATOR, old: { owner: 'eve' } }), { odd: 1 })
  })
})

describe('what strangers see', () => {
  it('has no password, header or proxy in it', () => {
    const body = bytes({ ...GOOD, proxy: 'http://u:secret@p', owner: 'eve', n: 1.5 })
    const shown = JSON.parse(String(withoutSecrets(body, JAN, false))) as object
    const expected = {
      source: 'http://h/s/',
      target: 'http://h/t/',
      proxy: '',
      owner: 'eve',
      n: 1.5,
    }
    assert.deepEqual(shown, expected)
    assert.equal(withoutSecrets(body, { name: 'eve', roles: [] }, false), undefined)
    assert.equal(withoutSecrets(body, ADMIN, true), undefined)
  })

  it('hides what nobody can read as a URL', () => {
    const body = bytes({ source: 'http://u:secret@', target: { url: 5 }, owner: 'eve' })
    assert.equal(String(withoutSecrets(body, JAN, false)).includes('secret'), false)
  })
})

describe('states', () => {
  it('come and go without changing what is asked for', () => {
    const body = bytes({ ...GOOD, n: 1 })
    const done = withState(body, { _replication_state: 'completed', _replication_stats: { a: 1 } })
    assert.equal(requestText(done), requestText(body))
    const failed = JSON.parse(String(withState(done, { _replication_state: 'failed' }))) as object
    assert.deepEqual(failed, { ...GOOD, n: 1, _replication_state: 'failed' })
  })
})
