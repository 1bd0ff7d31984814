import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { buildAuthSettings } from '../../../../src/core/auth/auth-settings.ts'
import { readStoredPassword, verifyPassword } from '../../../../src/core/auth/password.ts'
import { ANONYMOUS, type User } from '../../../../src/core/auth/user.ts'
import {
  hashUserPassword,
  mayListUsers,
  twinUserId,
  type UserWrite,
  userIdsOf,
  usersWriteGate,
  validateUserWrite,
  viewUserDocument,
  withPasswordFields,
} from '../../../../src/core/auth/users-database.ts'
import { failsWith, throwsFailure } from './expect-failure.ts'

const bob: User = { name: 'bob', roles: ['r'] }
const doc = { name: 'bob', type: 'user', roles: ['r'] }
const write = (given: Partial<UserWrite>): UserWrite => ({
  id: 'org.couchdb.user:bob',
  body: doc,
  deleted: false,
  old: undefined,
  user: { name: 'root', roles: ['_admin'] },
  isAdmin: true,
  ...given,
})
const asBob = { user: bob, isAdmin: false }
const anonymously = { user: ANONYMOUS, isAdmin: false }
const body = (given: Record<string, unknown>) => ({ body: { ...doc, ...given } })

describe('validation', () => {
  const accepted: [string, Partial<UserWrite>][] = [
    ['an admin creates a user', {}],
    ['under the other prefix', { id: 'org.svc.user:bob' }],
    ['the metrics role', body({ roles: ['_metrics'] })],
    ['a design document', { id: '_design/x', body: {} }],
    ['a local document', { id: '_local/x', body: {}, ...asBob }],
    ['an admin deletes', { deleted: true, body: {}, old: doc }],
    ['an owner deletes', { deleted: true, body: {}, old: doc, ...asBob }],
    [
      'an owner edits, roles in another order',
      {
        ...asBob,
        ...body({ roles: ['a', 'b'], extra: 1 }),
        old: { ...doc, roles: ['b', 'a'] },
      },
    ],
    ['self registration', { ...anonymously, ...body({ roles: [] }) }],
    ['an admin changes roles', { ...body({ roles: ['x'] }), old: doc }],
    ['a pbkdf2 hash', body({ password_scheme: 'pbkdf2', iterations: 10, derived_key: 'a' })],
    ['a simple hash', body({ password_scheme: 'simple', password_sha: 'a', salt: 's' })],
  ]
  for (const [title, given] of accepted) {
    it(`accepts: ${title}`, () => assert.doesNotThrow(() => validateUserWrite(write(given))))
  }

  const refused: [string, Partial<UserWrite>][] = [
    [
      'Only admins may delete other user docs.',
      { deleted: true, body: {}, old: { name: 'ann' }, ...asBob },
    ],
    [
      'Only admins may delete other user docs.',
      { deleted: true, body: {}, old: {}, ...anonymously },
    ],
    ['doc.type must be user', body({ type: 'other' })],
    ['doc.type must be user', { body: {} }],
    ['doc.name is required', body({ name: undefined })],
    ['doc.roles must exist', body({ roles: undefined })],
    ['doc.roles must be an array', body({ roles: 'x' })],
    ['doc.roles can only contain strings', body({ roles: [5] })],
    ['Doc ID must be of the form org.couchdb.user:name', body({ name: 'different' })],
    ['Doc ID must be of the form org.svc.user:name', { id: 'org.svc.user:x' }],
    ['Doc ID must be of the form org.couchdb.user:name', { id: 'plain' }],
    ['Usernames can not be changed.', { old: { ...doc, name: 'ann' } }],
    [
      'Users with password_sha must have a salt.See /_utils/script/couch.js for example code.',
      body({ password_sha: 'x' }),
    ],
    ['Password scheme `q` not supported.', body({ password_scheme: 'q' })],
    ['iterations must be a number.', body({ password_scheme: 'pbkdf2', iterations: '1' })],
    ['derived_key must be a string.', body({ password_scheme: 'pbkdf2', iterations: 1 })],
    ['You may only update your own user document.', { ...anonymously, old: doc }],
    ['Only _admin may edit roles', { ...asBob, old: doc, ...body({ roles: ['r', 'more'] }) }],
    ['Only _admin may edit roles', { ...asBob, old: doc, ...body({ roles: ['s'] }) }],
    ['Only _admin may set roles', anonymously],
    ['No system roles (starting with underscore) in users db.', body({ roles: ['_admin'] })],
    [
      'Username may not start with underscore.',
      { id: 'org.couchdb.user:_x', ...body({ name: '_x' }) },
    ],
    [
      'Character `:` is not allowed in usernames.',
      { id: 'org.couchdb.user:a:b', ...body({ name: 'a:b' }) },
    ],
  ]
  for (const [reason, given] of refused) {
    it(`refuses: ${reason}`, () =>
      throwsFailure(() => validateUserWrite(write(given)), 'forbidden', reason))
  }

  it('reports the first of several problems', () => {
    const worse = { id: 'plain', body: { name: '_x', roles: ['_admin'] } }
    throwsFailure(() => validateUserWrite(write(worse)), 'forbidden', 'doc.type must be user')
  })
})

describe('who may write', () => {
  it("others' documents do not exist for a named user", () => {
    for (const id of ['org.couchdb.user:ann', '_design/mine', '_local/x', 'org.svc.user:']) {
      throwsFailure(() => usersWriteGate(id, bob, false), 'document_missing', 'missing')
    }
  })

  it('own documents, admins and self registration pass', () => {
    for (const id of ['org.couchdb.user:bob', 'org.svc.user:bob']) {
      usersWriteGate(id, bob, false)
    }
    usersWriteGate('org.couchdb.user:ann', bob, true)
    usersWriteGate('org.couchdb.user:ann', ANONYMOUS, false)
    usersWriteGate('_local/x', bob, true)
  })

  it('local documents are for admins', () => {
    throwsFailure(() => usersWriteGate('_local/x', ANONYMOUS, false), 'document_missing', 'missing')
  })

  it('an account has one twin', () => {
    assert.equal(twinUserId('org.svc.user:bob'), 'org.couchdb.user:bob')
    assert.equal(twinUserId('org.couchdb.user:bob'), 'org.svc.user:bob')
    assert.equal(twinUserId('_design/x'), undefined)
    assert.deepEqual(userIdsOf('a'), ['org.svc.user:a', 'org.couchdb.user:a'])
  })
})

describe('passwords', () => {
  const settings = buildAuthSettings({ iterations: 3, passwordRegexp: '[{".{3,}", "Too short."}]' })
  const random = (bytes: number) => Buffer.alloc(bytes, 0x5a)
  const hash = (password: unknown) => hashUserPassword({ ...doc, password }, settings, random)

  it('become a hash in front, and old password fields go', async () => {
    const fields = await hash('secret')
    assert.ok(fields)
    const old = { name: 'bob', salt: 'chosen', password: 'secret', password_sha: 'x', roles: [] }
    const stored = withPasswordFields(old, fields)
    assert.deepEqual(Object.keys(stored), [
      'password_scheme',
      'pbkdf2_prf',
      'salt',
      'iterations',
      'derived_key',
      'name',
      'roles',
    ])
    assert.equal(stored.salt, '5a'.repeat(16))
    const password = readStoredPassword(stored)
    assert.ok(password)
    assert.equal(await verifyPassword('secret', password, settings.iterationBounds), true)
  })

  it('follow the configured scheme', async () => {
    const simple = buildAuthSettings({ passwordScheme: 'simple' })
    const fields = await hashUserPassword({ password: 'secret' }, simple, random)
    assert.deepEqual(Object.keys(fields ?? {}), ['password_scheme', 'salt', 'password_sha'])
  })

  it('absent or null change nothing', async () => {
    assert.equal(await hash(undefined), undefined)
    assert.equal(await hash(null), undefined)
  })

  it('must be texts that keep the rules', async () => {
    await failsWith(hash(5), 'forbidden', "Password value of '5' is invalid.")
    await failsWith(
      hash('ab'),
      'request_invalid',
      'Password does not conform to requirements. Too short.',
    )
  })
})

describe('who sees what', () => {
  const full = { ...doc, salt: 's', derived_key: 'k', iterations: 1, phone: 5 }
  const view = (user: User, given = {}, id = 'org.couchdb.user:bob') =>
    viewUserDocument({ id, body: full, user, isAdmin: false }, buildAuthSettings(given))
  const ann: User = { name: 'ann', roles: [] }

  it('owners and admins see all', () => {
    assert.equal(view(bob).kind, 'full')
    assert.equal(view(bob, {}, 'org.svc.user:bob').kind, 'full')
    const asAdmin = { id: '_design/x', body: {}, user: ann, isAdmin: true }
    assert.equal(viewUserDocument(asAdmin, buildAuthSettings()).kind, 'full')
  })

  it('others see nothing by default, public_fields alone change nothing', () => {
    for (const user of [ann, ANONYMOUS]) {
      assert.equal(view(user).kind, 'hidden')
      assert.equal(view(user, { publicFields: 'name' }).kind, 'hidden')
    }
    assert.equal(view(ANONYMOUS, {}, 'plain').kind, 'hidden')
  })

  it('others see public fields, never what belongs to the password', () => {
    const part = (fields: string) => view(ann, { usersDbPublic: true, publicFields: fields })
    assert.deepEqual(part('phone, name'), { kind: 'part', body: { name: 'bob', phone: 5 } })
    assert.deepEqual(part(''), { kind: 'part', body: { ...doc, phone: 5 } })
    assert.equal(part('salt, derived_key, iterations').kind, 'hidden')
    assert.equal(part('none').kind, 'hidden')
  })

  it('design documents are for admins', () => {
    throwsFailure(
      () => view(bob, {}, '_design/_auth'),
      'forbidden',
      'Only administrators can view design docs in the users database.',
    )
  })

  it('lists are for admins, or for all of a public one', () => {
    assert.equal(mayListUsers(true, { usersDbPublic: false }), true)
    assert.equal(mayListUsers(false, { usersDbPublic: false }), false)
    assert.equal(mayListUsers(false, { usersDbPublic: true }), true)
  })
})
