import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type AccountSource,
  findAccount,
  readUserDocument,
} from '../../../../src/core/auth/account.ts'

const body = { name: 'ann', roles: ['r', 5], password_sha: 'ab', salt: 's' }
const simple = { scheme: 'simple', salt: 's', key: 'ab' }
const source: AccountSource = {
  hasAdmins: () => true,
  admin: name => ({ root: '-hashed-cd,t', ann: 'plain text', both: '-hashed-cd,t' })[name],
  userDocument: async name =>
    name === 'ann' || name === 'both' ? readUserDocument(body, name === 'both') : undefined,
}

it('reads a user document, leaving out what is no role', () => {
  assert.deepEqual(readUserDocument(body, true), {
    roles: ['r'],
    password: simple,
    hasConflicts: true,
  })
  assert.deepEqual(readUserDocument({ roles: 'x' }, false).roles, [])
})

it('finds admins, users, and those who are both', async () => {
  const root = await findAccount(source, 'root')
  assert.deepEqual(
    [root?.roles, root?.password?.key, root?.isUserDocument],
    [['_admin'], 'cd', false],
  )
  const both = await findAccount(source, 'both')
  assert.deepEqual(
    [both?.roles, both?.password?.key, both?.hasConflicts],
    [['_admin', 'r'], 'cd', false],
  )
  assert.equal(await findAccount(source, 'nobody'), undefined)
})

it('does not make an admin of a password that was never hashed', async () => {
  const ann = await findAccount(source, 'ann')
  assert.deepEqual([ann?.roles, ann?.password, ann?.isUserDocument], [['r'], simple, true])
})
