import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  userDatabaseName,
  userOfDatabase,
  withoutUser,
  withUser,
} from '../../../../src/core/auth/peruser.ts'

describe('databases of users', () => {
  it('are named by the hex of the name', () => {
    assert.equal(userDatabaseName('bob'), 'userdb-626f62')
    assert.equal(userDatabaseName('Ü', 'u-'), 'u-c39c')
    for (const name of ['bob', 'Ü', '名'])
      assert.equal(userOfDatabase(userDatabaseName(name)), name)
    for (const other of ['bob', 'userdb-', 'userdb-6', 'userdb-6F', 'userdb-ff', 'userdb-xx']) {
      assert.equal(userOfDatabase(other), undefined)
    }
  })

  it('list the user as admin and member, and keep the rest', () => {
    const added = withUser({ admins: { names: ['x'], roles: ['r'] }, more: 1 }, 'bob')
    assert.deepEqual(added, {
      admins: { names: ['x', 'bob'], roles: ['r'] },
      members: { names: ['bob'] },
      more: 1,
    })
    assert.equal(withUser(added ?? {}, 'bob'), undefined)
    assert.deepEqual(withoutUser(added ?? {}, 'bob'), {
      admins: { names: ['x'], roles: ['r'] },
      members: { names: [] },
      more: 1,
    })
    assert.equal(withoutUser({ members: { names: ['x'] } }, 'bob'), undefined)
  })
})
