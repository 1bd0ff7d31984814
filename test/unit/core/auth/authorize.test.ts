import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import {
  adminCheck,
  authenticatedCheck,
  maintenanceCheck,
  memberCheck,
  metricsCheck,
  serverAdminCheck,
  usersSecurityCheck,
} from '../../../../src/core/auth/authorize.ts'
import { DEFAULT_SECURITY_TEXT, parseSecurity } from '../../../../src/core/auth/security-object.ts'
import { ADMIN_PARTY, ANONYMOUS, type User } from '../../../../src/core/auth/user.ts'
import { throwsFailure } from './expect-failure.ts'

const user = (name: string, ...roles: string[]): User => ({ name, roles })
const people = {
  anonymous: ANONYMOUS,
  stranger: user('eve', 'x'),
  memberByName: user('ann'),
  memberByRole: user('rob', 'reader'),
  adminByName: user('joe'),
  adminByRole: user('sue', 'boss'),
  server: user('root', '_admin'),
  party: ADMIN_PARTY,
  metrics: user('prom', '_metrics'),
}
type Person = keyof typeof people

const listed = parseSecurity({
  admins: { names: ['joe'], roles: ['boss'] },
  members: { names: ['ann'], roles: ['reader'] },
})
const ok = 'ok'
const noLogin = '401 You are not authorized to access this db.'
const noAccess = '403 You are not allowed to access this db.'
const notAdmin = 'You are not a db or server admin.'

function outcome(check: () => void): string {
  try {
    check()
    return ok
  } catch (thrown) {
    assert.ok(isFailure(thrown))
    return `${thrown.code === 'unauthorized' ? 401 : 403} ${thrown.detail.reason}`
  }
}

function expectTable(check: (user: User) => void, expected: Record<Person, string>): void {
  const names = Object.keys(people) as Person[]
  const found = Object.fromEntries(names.map(name => [name, outcome(() => check(people[name]))]))
  assert.deepEqual(found, expected)
}

const everybody = (text: string): Record<Person, string> =>
  Object.fromEntries(Object.keys(people).map(name => [name, text])) as Record<Person, string>

const insiders = {
  memberByName: ok,
  memberByRole: ok,
  adminByName: ok,
  adminByRole: ok,
  server: ok,
  party: ok,
}
const admins = { adminByName: ok, adminByRole: ok, server: ok, party: ok }

describe('members', () => {
  it('of a database that lists some', () => {
    expectTable(each => memberCheck(each, listed), {
      ...everybody(noAccess),
      ...insiders,
      anonymous: noLogin,
    })
  })

  it('of a database that lists none: everybody', () => {
    const open = [
      {},
      { members: {} },
      { members: { names: [], roles: [] }, admins: { names: ['x'] } },
    ]
    for (const object of open) {
      const security = parseSecurity(object)
      expectTable(each => memberCheck(each, security), everybody(ok))
    }
  })

  it('of a database of CouchDB 3: server admins', () => {
    const security = parseSecurity(JSON.parse(DEFAULT_SECURITY_TEXT.admin_only))
    expectTable(each => memberCheck(each, security), {
      ...everybody(noAccess),
      anonymous: noLogin,
      server: ok,
      party: ok,
    })
  })

  it('admins alone do not close a database', () => {
    const security = parseSecurity({ admins: { names: ['joe'] } })
    memberCheck(ANONYMOUS, security)
  })
})

describe('administrators', () => {
  it('of a database', () => {
    expectTable(each => adminCheck(each, listed), {
      ...everybody(`403 ${notAdmin}`),
      ...admins,
      anonymous: `401 ${notAdmin}`,
    })
  })

  it('of a database that lists none: server admins only', () => {
    expectTable(each => adminCheck(each, parseSecurity({})), {
      ...everybody(`403 ${notAdmin}`),
      anonymous: `401 ${notAdmin}`,
      server: ok,
      party: ok,
    })
  })

  it('for maintenance', () => {
    expectTable(each => maintenanceCheck(each, listed), {
      ...everybody('401 You are not a server or db admin.'),
      ...admins,
    })
  })

  it('of the server', () => {
    expectTable(serverAdminCheck, {
      ...everybody('401 You are not a server admin.'),
      server: ok,
      party: ok,
    })
  })

  it('metrics', () => {
    expectTable(metricsCheck, {
      ...everybody('401 You are not a server admin or read-only metrics user'),
      server: ok,
      party: ok,
      metrics: ok,
    })
  })

  it('anybody logged in', () => {
    expectTable(authenticatedCheck, {
      ...everybody(ok),
      anonymous: '401 You are not an authenticated user',
    })
  })

  it('security object of the users database', () => {
    usersSecurityCheck(true)
    throwsFailure(
      () => usersSecurityCheck(false),
      'forbidden',
      "You can't edit the security object of the user database.",
    )
  })
})
