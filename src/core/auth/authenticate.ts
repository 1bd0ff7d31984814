/**
 * Who sends this request? Asks the configured mechanisms in order; the first that knows an answer
 * wins.
 *
 * Promises: a password is hashed on the thread pool, at most once per client and password at a
 * time, and not at all while it is known to be right; unknown names cost the same work and get the
 * same answer as wrong passwords; repeated failures lock (peer, name). Reads accounts through a
 * port and writes nothing: a renewed password hash comes back as a value for the caller to store
 * (if the document has not changed since). Leaves to others: HTTP, the session endpoint's bodies,
 * what the user may do (`authorize.ts`).
 */

import { assert, unreachable } from '../../base/assert.ts'
import { Failure } from '../../base/errors.ts'
import { getOrAdd } from '../../base/get-or-add.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import { type Account, type AccountSource, findAccount } from './account.ts'
import type { AuthSettings } from './auth-settings.ts'
import { isBasic, type NameAndPassword, readBasic } from './basic-auth.ts'
import { JwtVerifier, readBearer } from './jwt-auth.ts'
import { fingerprint, parseAdminPassword, type StoredPassword } from './password.ts'
import {
  type CheckedPassword,
  PasswordCheck,
  type PasswordCheckOptions,
  RIGHT,
} from './password-check.ts'
import { readProxyUser } from './proxy-auth.ts'
import {
  decodeSession,
  encodeSession,
  findSessionCookie,
  printEmptiedCookie,
  printSetCookie,
  type SessionClaim,
  verifySession,
} from './session-cookie.ts'
import { ADMIN_PARTY, ANONYMOUS, type AuthenticationMethod, type User } from './user.ts'

/** What a request says about who sent it. */
export interface RequestCredentials {
  readonly authorization?: string | undefined
  readonly cookie?: string | undefined
  /** Any other header; `name` is lower-case. */
  header(name: string): string | undefined
  /** Address of the client; failures are counted by it. */
  readonly peer: string
  readonly isTls: boolean
}

export interface AuthenticateOptions {
  /** The request came in on the node-local port, which has its own `require_valid_user`. */
  readonly nodeLocal?: boolean
  /** Goes through without a user all the same: POST /_session, and /_up where configured. */
  readonly anonymousAllowed?: boolean
}

export interface Authenticated {
  readonly user: User
  /** A Set-Cookie text to send with the answer. */
  readonly setCookie?: string
  readonly upgrade?: PasswordUpgrade
}

/**
 * New fields for the user document of `name`; apply with `withPasswordFields` of users-database.ts.
 */
export interface PasswordUpgrade {
  readonly name: string
  readonly fields: Readonly<Record<string, string | number>>
  /** Fingerprint of the stored password that was found right; another one must not be replaced. */
  readonly replaces: string
}

export type AuthenticatorOptions = PasswordCheckOptions & { readonly accounts: AccountSource }

export class Authenticator {
  readonly #accounts: AccountSource
  readonly #passwords: PasswordCheck
  readonly #clock: () => number
  readonly #parseAdmin = rememberingParser()
  readonly #jwtVerifiers = new WeakMap<AuthSettings, JwtVerifier>()

  constructor({ accounts, ...options }: AuthenticatorOptions) {
    this.#accounts = accounts
    this.#passwords = new PasswordCheck(options)
    this.#clock = options.clock
  }

  authenticate(
    request: RequestCredentials,
    settings: AuthSettings,
    options: AuthenticateOptions = {},
  ): MaybePromise<Authenticated> {
    return this.#askFrom(0, request, settings, options)
  }

  /** Most handlers have nothing to say about a request, and say so at once. */
  #askFrom(
    first: number,
    request: RequestCredentials,
    settings: AuthSettings,
    options: AuthenticateOptions,
  ): MaybePromise<Authenticated> {
    for (let at = first; at < settings.handlers.length; at++) {
      const handler = settings.handlers[at] as AuthenticationMethod
      const asked = this.#ask(handler, request, settings)
      if (asked instanceof Promise) {
        return asked.then(found => found ?? this.#askFrom(at + 1, request, settings, options))
      }
      if (asked) return asked
    }
    return this.#stranger(settings, options)
  }

  #stranger(settings: AuthSettings, options: AuthenticateOptions): Authenticated {
    const { nodeLocal = false, anonymousAllowed = false } = options
    const required = nodeLocal ? settings.nodeRequireValidUser : settings.requireValidUser
    if (required && !anonymousAllowed) unauthorized('Authentication required.')
    return { user: this.#accounts.hasAdmins() ? ANONYMOUS : ADMIN_PARTY }
  }

  /** POST /_session: checks name and password and opens a session. `settings.secret` must exist. */
  async logIn(
    given: NameAndPassword,
    request: RequestCredentials,
    settings: AuthSettings,
  ): Promise<Authenticated & { readonly setCookie: string }> {
    const { proof } = this.#passwords.recall(credentialsText(given))
    const { account, upgrade } = await this.#checkPassword(given, proof, request, settings)
    const user: User = { name: account.name, roles: account.roles, authenticated: 'cookie' }
    const setCookie = this.#cookieFor(account, request, settings)
    return { user, setCookie, ...(upgrade && { upgrade }) }
  }

  /** How many passwords were really hashed to be checked. For metrics. */
  get passwordCheckCount(): number {
    return this.#passwords.checkCount
  }

  /** Somebody gave a wrong password to another process. */
  noteFailure(peer: string, name: string, settings: AuthSettings): void {
    this.#passwords.noteFailure(peer, name, settings)
  }

  /** For DELETE /_session and failed logins. */
  emptiedCookie(request: RequestCredentials, settings: AuthSettings): string {
    return printEmptiedCookie(settings.cookie, request.isTls)
  }

  #ask(
    handler: AuthenticationMethod,
    request: RequestCredentials,
    settings: AuthSettings,
  ): MaybePromise<Authenticated | undefined> {
    switch (handler) {
      case 'cookie':
        return this.#byCookie(request, settings)
      case 'default':
        return this.#byBasic(request, settings)
      case 'proxy':
        return this.#byProxy(request, settings)
      case 'jwt':
        return this.#byJwt(request, settings)
      default:
        return unreachable(handler)
    }
  }

  /** A cookie that is expired, forged or of a user who is gone is as good as none. */
  #byCookie(
    request: RequestCredentials,
    settings: AuthSettings,
  ): MaybePromise<Authenticated | undefined> {
    const value = findSessionCookie(request.cookie)
    return value === undefined ? undefined : this.#bySession(value, request, settings)
  }

  #bySession(
    value: string,
    request: RequestCredentials,
    settings: AuthSettings,
  ): MaybePromise<Authenticated | undefined> {
    const claim = decodeSession(value)
    return after(this.#findAccount(claim.name), account =>
      this.#verifyClaim(claim, account, request, settings),
    )
  }

  #verifyClaim(
    claim: SessionClaim,
    account: Account | undefined,
    request: RequestCredentials,
    settings: AuthSettings,
  ): Authenticated | undefined {
    const { secret, hashAlgorithms: algorithms, cookie } = settings
    if (secret === undefined || !account?.password) return undefined
    const key = { secret, salt: account.password.salt }
    const options = { algorithms, timeoutS: cookie.timeoutS, nowS: this.#nowS() }
    const { valid, renew } = verifySession(claim, key, options)
    if (!valid) return undefined
    refuseConflicts(account)
    const user: User = { name: account.name, roles: account.roles, authenticated: 'cookie' }
    return renew ? { user, setCookie: this.#cookieFor(account, request, settings) } : { user }
  }

  #byBasic(
    request: RequestCredentials,
    settings: AuthSettings,
  ): MaybePromise<Authenticated | undefined> {
    const { authorization } = request
    if (authorization === undefined || !isBasic(authorization)) return undefined
    const { proof, known } = this.#passwords.recall(authorization)
    if (known === undefined) return this.#readBasic(authorization, proof, request, settings)
    const { peer } = request
    // Most headers came before: they need not even be read.
    return after(this.#findAccount(known.name), account =>
      this.#passwords.isStillRight(known, account, { peer, settings })
        ? basicUser(knownAccount(account, RIGHT))
        : this.#readBasic(authorization, proof, request, settings),
    )
  }

  #readBasic(
    authorization: string,
    proof: string,
    request: RequestCredentials,
    settings: AuthSettings,
  ): MaybePromise<Authenticated | undefined> {
    const given = readBasic(authorization)
    return given && after(this.#checkPassword(given, proof, request, settings), basicUser)
  }

  #byProxy(request: RequestCredentials, settings: AuthSettings): Authenticated | undefined {
    const { secret, hashAlgorithms: algorithms, proxy } = settings
    const user = readProxyUser(name => request.header(name), proxy, { secret, algorithms })
    return user && { user }
  }

  #byJwt(request: RequestCredentials, settings: AuthSettings): Authenticated | undefined {
    const token = readBearer(request.authorization)
    if (token === undefined) return undefined
    let verifier = this.#jwtVerifiers.get(settings)
    if (!verifier) {
      verifier = new JwtVerifier(settings.jwt)
      this.#jwtVerifiers.set(settings, verifier)
    }
    return { user: verifier.verify(token, this.#nowS()) }
  }

  /**
   * Conflicts are reported only to those who know the password; others learn nothing about the
   * name.
   */
  #checkPassword(
    given: NameAndPassword,
    proof: string,
    request: RequestCredentials,
    settings: AuthSettings,
  ): MaybePromise<KnownAccount> {
    const { peer } = request
    return after(this.#findAccount(given.name), account =>
      after(this.#passwords.check(given, account, { peer, settings, proof }), checked =>
        knownAccount(account, checked),
      ),
    )
  }

  #findAccount(name: string): MaybePromise<Account | undefined> {
    return findAccount(this.#accounts, name, this.#parseAdmin)
  }

  #cookieFor(account: Account, request: RequestCredentials, settings: AuthSettings): string {
    const { secret, hashAlgorithms, cookie } = settings
    const [algorithm] = hashAlgorithms
    assert(secret !== undefined && algorithm !== undefined, 'sessions need a secret and a digest')
    assert(account.password, 'only accounts with a password have sessions')
    const nowS = this.#nowS()
    const key = { secret, salt: account.password.salt }
    const token = encodeSession(account.name, nowS, key, algorithm)
    return printSetCookie(token, cookie, { nowS, isTls: request.isTls })
  }

  #nowS(): number {
    return Math.floor(this.#clock() / 1000)
  }
}

/** The texts of admins' passwords are few, and the same for every request. */
function rememberingParser(): typeof parseAdminPassword {
  const parsed = new Map<string, StoredPassword | undefined>()
  return text => {
    if (parsed.size > ADMINS_MAX) parsed.clear()
    return getOrAdd(parsed, text, () => parseAdminPassword(text))
  }
}
const ADMINS_MAX = 1000

/** A header never looks like this, and no two pairs of name and password give the same. */
const credentialsText = ({ name, password }: NameAndPassword): string =>
  `session ${name.length} ${name}${password}`

function basicUser({ account, upgrade }: KnownAccount): Authenticated {
  const user: User = { name: account.name, roles: account.roles, authenticated: 'default' }
  return upgrade === undefined ? { user } : { user, upgrade }
}

interface KnownAccount {
  readonly account: Account
  readonly upgrade: PasswordUpgrade | undefined
}

function knownAccount(
  account: Account | undefined,
  { right, renewed }: CheckedPassword,
): KnownAccount {
  if (!account || !right) unauthorized('Name or password is incorrect.')
  refuseConflicts(account)
  if (!renewed || !account.password) return { account, upgrade: undefined }
  const replaces = fingerprint(account.password)
  return { account, upgrade: { name: account.name, fields: renewed, replaces } }
}

function refuseConflicts(account: Account): void {
  if (!account.hasConflicts) return
  unauthorized(
    'User document conflicts must be resolved before' +
      ' the document is used for authentication purposes.',
  )
}

function unauthorized(reason: string): never {
  throw new Failure('unauthorized', { reason })
}
