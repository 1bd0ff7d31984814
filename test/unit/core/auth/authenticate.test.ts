import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { type AccountSource, readUserDocument } from '../../../../src/core/auth/account.ts'
import { type AuthOptions, buildAuthSettings } from '../../../../src/core/auth/auth-settings.ts'
import {
  type Authenticated,
  Authenticator,
  type RequestCredentials,
} from '../../../../src/core/auth/authenticate.ts'
import {
  hashAdminPassword,
  hashPassword,
  passwordFields,
} from '../../../../src/core/auth/password.ts'
import { withPasswordFields } from '../../../../src/core/auth/users-database.ts'
import { failsWith } from './expect-failure.ts'

const incorrect = 'Name or password is incorrect.'
const locked = 'Account is temporarily locked due to multiple authentication failures'
const conflict =
  'User document conflicts must be resolved before the document is used for authentication purposes.'

type Body = Readonly<Record<string, unknown>>

/** An authenticator over accounts kept in memory, at a time that tests move. */
async function setUp(given: Partial<AuthOptions> = {}) {
  const settings = buildAuthSettings({ iterations: 20, authSecret: 'geheim', ...given })
  const admins = new Map<string, string>()
  const users = new Map<string, { body: Body; hasConflicts: boolean }>()
  const accounts: AccountSource = {
    hasAdmins: () => admins.size > 0,
    admin: name => admins.get(name),
    userDocument: async name => {
      const user = users.get(name)
      return user && readUserDocument(user.body, user.hasConflicts)
    },
  }
  const time = { nowMs: 1_800_000_000_000 }
  let made = 0
  const random = (bytes: number) => Buffer.alloc(bytes, ++made)
  const authenticator = new AskedAuthenticator({
    accounts,
    clock: () => time.nowMs,
    random,
    wait: async () => {},
  })
  const addUser = async (name: string, password: string, more: Body = {}, iterations = 20) => {
    const form = { scheme: 'pbkdf2', prf: 'sha256', iterations } as const
    const salt = Buffer.from(name + password).toString('hex')
    const fields = passwordFields(await hashPassword(password, form, salt))
    const body = { ...fields, name, roles: ['r'], type: 'user', ...more }
    users.set(name, { body, hasConflicts: false })
  }
  const admin = await hashAdminPassword('pass', { form: 'pbkdf2', iterations: 10 }, 'salz')
  admins.set('root', admin)
  await addUser('bob', 'secret')
  return { settings, admins, users, time, authenticator, addUser }
}

/** What is refused at once rejects as well. */
class AskedAuthenticator extends Authenticator {
  override async authenticate(
    ...given: Parameters<Authenticator['authenticate']>
  ): Promise<Authenticated> {
    return super.authenticate(...given)
  }
}

const request = (
  given: Partial<RequestCredentials> & { headers?: Record<string, string> } = {},
) => ({
  header: (name: string) => given.headers?.[name],
  peer: '10.0.0.1',
  isTls: false,
  ...given,
})
const basic = (name: string, password: string, peer = '10.0.0.1') =>
  request({ peer, authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` })
const tokenOf = (setCookie: string | undefined) =>
  /^AuthSession=([\w-]+)/.exec(setCookie ?? '')?.[1]
const withCookie = (setCookie: string | undefined) =>
  request({ cookie: `AuthSession=${tokenOf(setCookie)}` })

describe('nobody', () => {
  it('is anonymous, or everybody is admin while no admin exists', async () => {
    const { authenticator, settings, admins } = await setUp()
    assert.deepEqual((await authenticator.authenticate(request(), settings)).user, {
      name: null,
      roles: [],
    })
    admins.clear()
    assert.deepEqual((await authenticator.authenticate(request(), settings)).user, {
      name: null,
      roles: ['_admin'],
    })
  })

  it('is refused where a valid user is required, per port', async () => {
    const clustered = await setUp({ requireValidUser: true })
    const text = 'Authentication required.'
    const ask = (options = {}) =>
      clustered.authenticator.authenticate(request(), clustered.settings, options)
    await failsWith(ask(), 'unauthorized', text)
    assert.equal((await ask({ anonymousAllowed: true })).user.name, null)
    assert.equal((await ask({ nodeLocal: true })).user.name, null)
    const local = await setUp({ nodeRequireValidUser: true })
    await failsWith(
      local.authenticator.authenticate(request(), local.settings, { nodeLocal: true }),
      'unauthorized',
      text,
    )
    local.admins.clear()
    await failsWith(
      local.authenticator.authenticate(request(), local.settings, { nodeLocal: true }),
      'unauthorized',
      text,
    )
  })
})

describe('Basic', () => {
  it('knows users and admins', async () => {
    const { authenticator, settings } = await setUp()
    const bob = await authenticator.authenticate(basic('bob', 'secret'), settings)
    assert.deepEqual(bob, { user: { name: 'bob', roles: ['r'], authenticated: 'default' } })
    const root = await authenticator.authenticate(basic('root', 'pass'), settings)
    assert.deepEqual(root.user, { name: 'root', roles: ['_admin'], authenticated: 'default' })
  })

  it('answers unknown names, wrong passwords and accounts without password alike', async () => {
    const { authenticator, settings, users, admins } = await setUp()
    users.set('ghost', { body: { name: 'ghost', roles: [] }, hasConflicts: false })
    admins.set('plain', 'plain')
    const tries: [string, string][] = [
      ['bob', 'wrong'],
      ['bob', ''],
      ['nobody', 'x'],
      ['ghost', ''],
      ['root', 'secret'],
      ['plain', 'plain'],
      ['', ''],
      ['nobody', 'none'],
    ]
    for (const [name, password] of tries) {
      await failsWith(
        authenticator.authenticate(basic(name, password), settings),
        'unauthorized',
        incorrect,
      )
    }
  })

  it('hashes for unknown names as for known ones', async () => {
    const { authenticator, settings, users } = await setUp()
    const stored = await hashPassword('secret', { scheme: 'simple' }, 'salz')
    users.set('sim', { body: { ...passwordFields(stored), roles: [] }, hasConflicts: false })
    for (const name of ['bob', 'nobody', 'root', 'sim']) {
      const before = authenticator.passwordCheckCount
      const ask = authenticator.authenticate(basic(name, 'wrong'), settings)
      await failsWith(ask, 'unauthorized', incorrect)
      assert.equal(authenticator.passwordCheckCount, before + 1, name)
    }
  })

  it("merges roles when a name is both, and takes the admin's password", async () => {
    const { authenticator, settings, addUser } = await setUp()
    await addUser('root', 'other', { roles: ['x'] })
    const { user } = await authenticator.authenticate(basic('root', 'pass'), settings)
    assert.deepEqual(user.roles, ['_admin', 'x'])
    await failsWith(
      authenticator.authenticate(basic('root', 'other'), settings),
      'unauthorized',
      incorrect,
    )
  })

  it('shows conflicts only to those who know the password', async () => {
    const { authenticator, settings, users } = await setUp()
    const bob = users.get('bob')
    assert.ok(bob)
    users.set('bob', { ...bob, hasConflicts: true })
    const ask = (password: string) => authenticator.authenticate(basic('bob', password), settings)
    await failsWith(ask('secret'), 'unauthorized', conflict)
    await failsWith(ask('wrong'), 'unauthorized', incorrect)
  })

  it('sees changed roles, passwords and removed users at once, in spite of the cache', async () => {
    const { authenticator, settings, addUser, users } = await setUp()
    const ask = (password: string) => authenticator.authenticate(basic('bob', password), settings)
    await ask('secret')
    await addUser('bob', 'secret', { roles: ['new'] })
    assert.deepEqual((await ask('secret')).user.roles, ['new'])
    await addUser('bob', 'changed')
    await failsWith(ask('secret'), 'unauthorized', incorrect)
    await ask('changed')
    users.delete('bob')
    await failsWith(ask('changed'), 'unauthorized', incorrect)
  })

  it('hashes a password once, however many requests bring it', async () => {
    const { authenticator, settings, time } = await setUp()
    const ask = (peer: string) => authenticator.authenticate(basic('bob', 'secret', peer), settings)
    await Promise.all(Array.from({ length: 100 }, () => ask('10.0.0.1')))
    assert.equal(authenticator.passwordCheckCount, 1)
    for (let n = 0; n < 100; n++) await ask(`10.0.1.${n}`)
    assert.equal(authenticator.passwordCheckCount, 1)
    time.nowMs += 16 * 60_000
    await ask('10.0.0.1')
    assert.equal(authenticator.passwordCheckCount, 2)
  })
})

describe('lockout', () => {
  const wrong = async (
    { authenticator, settings }: Awaited<ReturnType<typeof setUp>>,
    name: string,
    times: number,
  ) => {
    for (let n = 0; n < times; n++) {
      await failsWith(
        authenticator.authenticate(basic(name, `wrong${n}`), settings),
        'unauthorized',
        incorrect,
      )
    }
  }

  for (const name of ['bob', 'nobody']) {
    it(`after five failures for ${name}, also with the right password`, async () => {
      const all = await setUp()
      const { authenticator, settings, time } = all
      await wrong(all, name, 5)
      await failsWith(
        authenticator.authenticate(basic(name, 'secret'), settings),
        'forbidden',
        locked,
      )
      await authenticator.authenticate(basic('root', 'pass'), settings)
      await authenticator.authenticate(basic('bob', 'secret', '10.0.0.2'), settings)
      time.nowMs += 300_000
      await wrong(all, name, 1)
    })
  }

  it('of guesses sent at once', async () => {
    const { authenticator, settings } = await setUp()
    const guesses = Array.from({ length: 20 }, (_, n) =>
      authenticator.authenticate(basic('bob', `guess${n}`), settings).catch(thrown => thrown.code),
    )
    const codes = await Promise.all(guesses)
    assert.deepEqual(
      [
        codes.filter(code => code === 'unauthorized').length,
        codes.filter(code => code === 'forbidden').length,
      ],
      [5, 15],
    )
  })

  it('holds for the session endpoint, and can be switched off', async () => {
    const { authenticator, settings } = await setUp()
    const logIn = (password: string, using = settings) =>
      authenticator.logIn({ name: 'bob', password }, request(), using)
    for (let n = 0; n < 5; n++) await failsWith(logIn(`${n}`), 'unauthorized', incorrect)
    await failsWith(logIn('secret'), 'forbidden', locked)
    const off = buildAuthSettings({ iterations: 20, authSecret: 'x', lockoutMode: 'off' })
    await logIn('secret', off)
  })
})

describe('sessions', () => {
  it('open with a login and are recognised', async () => {
    const { authenticator, settings } = await setUp()
    const login = await authenticator.logIn(
      { name: 'bob', password: 'secret' },
      request(),
      settings,
    )
    assert.match(login.setCookie, /^AuthSession=[\w-]+; Version=1; Path=\/; HttpOnly$/)
    const seen = await authenticator.authenticate(withCookie(login.setCookie), settings)
    assert.deepEqual(seen, { user: { name: 'bob', roles: ['r'], authenticated: 'cookie' } })
  })

  it('are renewed after a tenth of their life and end after all of it', async () => {
    const { authenticator, settings, time } = await setUp()
    const login = await authenticator.logIn(
      { name: 'bob', password: 'secret' },
      request(),
      settings,
    )
    time.nowMs += 61_000
    const renewed = await authenticator.authenticate(withCookie(login.setCookie), settings)
    assert.ok(renewed.setCookie)
    time.nowMs += 540_000
    const old = await authenticator.authenticate(withCookie(login.setCookie), settings)
    assert.equal(old.user.name, null)
    const fresh = await authenticator.authenticate(withCookie(renewed.setCookie), settings)
    assert.equal(fresh.user.name, 'bob')
  })

  it('end with a new password, a removed user, a changed secret or no secret', async () => {
    const all = await setUp()
    const { authenticator, settings, addUser, users } = all
    const { setCookie } = await authenticator.logIn(
      { name: 'bob', password: 'secret' },
      request(),
      settings,
    )
    const who = async (using = settings) =>
      (await authenticator.authenticate(withCookie(setCookie), using)).user.name
    assert.equal(await who(), 'bob')
    assert.equal(await who(buildAuthSettings({ authSecret: 'other' })), null)
    assert.equal(await who(buildAuthSettings()), null)
    await addUser('bob', 'changed')
    assert.equal(await who(), null)
    users.delete('bob')
    assert.equal(await who(), null)
  })

  it('work for admins', async () => {
    const { authenticator, settings } = await setUp()
    const { setCookie, user } = await authenticator.logIn(
      { name: 'root', password: 'pass' },
      request({ isTls: true }),
      settings,
    )
    assert.deepEqual(user.roles, ['_admin'])
    assert.match(setCookie, /; Secure; Path/)
    const seen = await authenticator.authenticate(withCookie(setCookie), settings)
    assert.deepEqual(seen.user.roles, ['_admin'])
  })

  it('go before Basic; a malformed one is an error, an empty one is none', async () => {
    const { authenticator, settings } = await setUp()
    const both = (cookie: string) => ({ ...basic('bob', 'secret'), cookie })
    const { setCookie } = await authenticator.logIn(
      { name: 'root', password: 'pass' },
      request(),
      settings,
    )
    const first = await authenticator.authenticate(
      both(`AuthSession=${tokenOf(setCookie)}`),
      settings,
    )
    assert.equal(first.user.name, 'root')
    const second = await authenticator.authenticate(both('AuthSession='), settings)
    assert.equal(second.user.name, 'bob')
    await failsWith(
      authenticator.authenticate(both('AuthSession=zzz'), settings),
      'request_invalid',
      'Malformed AuthSession cookie. Please clear your cookies.',
    )
  })

  it('are refused for conflicting documents, once the cookie is proved', async () => {
    const { authenticator, settings, users } = await setUp()
    const given = { name: 'bob', password: 'secret' }
    const { setCookie } = await authenticator.logIn(given, request(), settings)
    const bob = users.get('bob')
    assert.ok(bob)
    users.set('bob', { ...bob, hasConflicts: true })
    await failsWith(
      authenticator.authenticate(withCookie(setCookie), settings),
      'unauthorized',
      conflict,
    )
  })
})

describe('old hashes', () => {
  it('are renewed at login, salt and sessions stay', async () => {
    const { authenticator, settings, users, addUser } = await setUp()
    await addUser('bob', 'secret', { phone: 5 }, 7)
    const given = { name: 'bob', password: 'secret' }
    const { setCookie, upgrade } = await authenticator.logIn(given, request(), settings)
    const old = users.get('bob')?.body ?? {}
    assert.deepEqual([upgrade?.name, upgrade?.fields.iterations], ['bob', 20])
    assert.equal(upgrade?.fields.salt, old.salt)
    assert.notEqual(upgrade?.fields.derived_key, old.derived_key)
    users.set('bob', { body: withPasswordFields(old, upgrade?.fields ?? {}), hasConflicts: false })
    const again = await authenticator.logIn(given, request(), settings)
    assert.equal(again.upgrade, undefined)
    const seen = await authenticator.authenticate(withCookie(setCookie), settings)
    assert.equal(seen.user.name, 'bob')
  })

  it('of the simple scheme too, and Basic brings the upgrade once', async () => {
    const { authenticator, settings, users } = await setUp()
    const stored = await hashPassword('secret', { scheme: 'simple' }, 'salz')
    users.set('sim', { body: { ...passwordFields(stored), roles: [] }, hasConflicts: false })
    const ask = () => authenticator.authenticate(basic('sim', 'secret'), settings)
    const answers = await Promise.all([ask(), ask(), ask()])
    assert.equal(answers.filter(each => each.upgrade !== undefined).length, 1)
  })

  it('stay when switched off, and for admins', async () => {
    const { authenticator, settings, addUser } = await setUp({ upgradeHash: false })
    await addUser('bob', 'secret', {}, 7)
    const given = { name: 'bob', password: 'secret' }
    assert.equal((await authenticator.logIn(given, request(), settings)).upgrade, undefined)
    const on = buildAuthSettings({ iterations: 20, authSecret: 'x' })
    const root = await authenticator.logIn({ name: 'root', password: 'pass' }, request(), on)
    assert.equal(root.upgrade, undefined)
  })

  it('outside the bounds are forbidden', async () => {
    const { authenticator, addUser } = await setUp()
    await addUser('few', 'secret', {}, 7)
    await addUser('many', 'secret', {}, 70)
    const tight = buildAuthSettings({ minIterations: 10, maxIterations: 50 })
    const ask = (name: string, password: string) =>
      authenticator.authenticate(basic(name, password), tight)
    await failsWith(ask('few', 'secret'), 'forbidden', 'Iteration count is too low for this server')
    await failsWith(ask('few', 'wrong'), 'unauthorized', incorrect)
    await failsWith(
      ask('many', 'secret'),
      'forbidden',
      'Iteration count is too high for this server',
    )
  })
})

describe('other mechanisms', () => {
  it('are asked only when listed', async () => {
    const headers = { 'x-auth-svc-username': 'joe', 'x-auth-svc-roles': 'a' }
    const without = await setUp()
    const nobody = await without.authenticator.authenticate(request({ headers }), without.settings)
    assert.equal(nobody.user.name, null)
    const handlers = '{chttpd_auth, proxy_authentication_handler}'
    const listed = await setUp({ authenticationHandlers: handlers })
    const joe = await listed.authenticator.authenticate(request({ headers }), listed.settings)
    assert.deepEqual(joe.user, { name: 'joe', roles: ['a'], authenticated: 'proxy' })
    const bob = await listed.authenticator.authenticate(basic('bob', 'secret'), listed.settings)
    assert.equal(bob.user.name, null)
  })

  it('tokens', async () => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const text = `${part({ alg: 'HS256' })}.${part({ sub: 'tom', '_couchdb.roles': ['x'] })}`
    const mac = createHmac('sha256', 'k3y').update(text).digest('base64url')
    const { authenticator, settings } = await setUp({
      authenticationHandlers:
        '{chttpd_auth, jwt_authentication_handler}, {chttpd_auth, default_authentication_handler}',
      jwtKeys: { 'hmac:_default': Buffer.from('k3y').toString('base64') },
    })
    const ask = (authorization: string) =>
      authenticator.authenticate(request({ authorization }), settings)
    const tom = await ask(`Bearer ${text}.${mac}`)
    assert.deepEqual(tom.user, { name: 'tom', roles: ['x'], authenticated: 'jwt' })
    await failsWith(ask(`Bearer ${text}.x`), 'request_invalid', 'Bad HMAC')
    const bob = await authenticator.authenticate(basic('bob', 'secret'), settings)
    assert.equal(bob.user.name, 'bob')
  })
})
