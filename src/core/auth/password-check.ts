/**
 * Checks a password against an account: lockout, cache of verified passwords, queue, PBKDF2,
 * renewal of old hashes.
 *
 * An account that does not exist, or has no password, is checked against a dummy with the current
 * settings, so that neither the time nor the answer tells whether the name exists. (Accounts whose
 * hashes have other settings differ in time until they log in and are renewed.) Requests that
 * arrive with the same password while it is being checked share the one check and count as one
 * attempt.
 */

import { hash } from 'node:crypto'
import { isFailure } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Account } from './account.ts'
import type { AuthSettings } from './auth-settings.ts'
import type { NameAndPassword } from './basic-auth.ts'
import { HashQueue, type HashQueueOptions } from './hash-queue.ts'
import { Lockout } from './lockout.ts'
import {
  fingerprint,
  hashPassword,
  isWeaker,
  passwordFields,
  printSalt,
  type StoredPassword,
  verifyPassword,
} from './password.ts'
import { type VerifiedPassword, VerifiedPasswordCache } from './verified-password-cache.ts'

export interface PasswordCheckOptions {
  /** Milliseconds since 1970. */
  readonly clock: () => number
  readonly random: (bytes: number) => Uint8Array
  readonly wait: (ms: number) => Promise<void>
  /** Told when a peer reaches the threshold of failures for a name. */
  readonly onThreshold?: (peer: string, name: string) => void
  /** Told of every failure, for other processes to count it too. */
  readonly onFailure?: (peer: string, name: string) => void
  readonly queue?: Pick<HashQueueOptions, 'concurrencyMax' | 'waitingMax' | 'waitingPerPeerMax'>
}

export interface CheckedPassword {
  readonly right: boolean
  /**
   * Password fields of the current settings, where the stored ones are weaker. Given to one caller
   * only.
   */
  readonly renewed?: Readonly<Record<string, string | number>>
}

interface Asked {
  readonly peer: string
  readonly settings: AuthSettings
}

interface CheckContext extends Asked {
  /** Stands for what was sent: see `recall`. */
  readonly proof: string
}

/** What is known of credentials before they are read. */
export interface Recalled {
  readonly proof: string
  /** They were right a while ago. */
  readonly known: VerifiedPassword | undefined
}

const NEVER = (): boolean => false
export const RIGHT: CheckedPassword = { right: true }

/** How long a right password needs no new hashing. */
const VERIFIED_LIFETIME_MS = 15 * 60_000

/** The dummy's iterations are our own, no user's. */
const UNBOUNDED = { minIterations: 1, maxIterations: Number.POSITIVE_INFINITY }

export class PasswordCheck {
  readonly #verified: VerifiedPasswordCache
  readonly #lockout: Lockout
  readonly #queue: HashQueue
  readonly #random: (bytes: number) => Uint8Array
  readonly #dummySalt: string
  /** Bounded by the places in the queue. */
  readonly #underWay = new Map<string, Promise<CheckedPassword>>()
  readonly #tags = new WeakMap<StoredPassword, string>()
  #checkCount = 0

  /** How many passwords were really hashed to be checked. For metrics. */
  get checkCount(): number {
    return this.#checkCount
  }

  constructor(options: PasswordCheckOptions) {
    const { clock, random, wait, onThreshold, onFailure, queue } = options
    const lifetimeMs = VERIFIED_LIFETIME_MS
    this.#verified = new VerifiedPasswordCache({ key: random(32), lifetimeMs, clock })
    this.#lockout = new Lockout({
      clock,
      ...(onThreshold && { onThreshold }),
      ...(onFailure && { onFailure }),
    })
    this.#queue = new HashQueue({ clock, wait, ...queue })
    this.#random = random
    this.#dummySalt = printSalt(random(16))
  }

  /** A failure that another process saw. */
  noteFailure(peer: string, name: string, { lockout }: AuthSettings): void {
    this.#lockout.note(peer, name, lockout)
  }

  /** @param credentials as they were sent, in whatever form: the same text stands for the same name and password */
  recall(credentials: string): Recalled {
    const proof = this.#verified.proofOf(credentials)
    return { proof, known: this.#verified.find(proof) }
  }

  /** Credentials that were right, and the account has the same password still. */
  isStillRight(
    { name, tag }: VerifiedPassword,
    account: Account | undefined,
    { peer, settings }: Asked,
  ): account is Account {
    this.#lockout.refuseIfLocked(peer, name, settings.lockout)
    return account?.password !== undefined && this.#tagOf(account.password) === tag
  }

  /** Hashes what was sent, unless that was done a moment ago or is being done. */
  check(
    { name, password }: NameAndPassword,
    account: Account | undefined,
    context: CheckContext,
  ): MaybePromise<CheckedPassword> {
    const { peer, settings, proof } = context
    const known = this.#verified.find(proof)
    if (known !== undefined && this.isStillRight(known, account, context)) return RIGHT
    this.#lockout.refuseIfLocked(peer, name, settings.lockout)
    const stored = account?.password ?? this.#dummy(settings)
    const key = `${peer} ${this.#tagOf(stored)} ${proof}`
    const shared = this.#underWay.get(key)
    if (shared) return shared.then(({ right }) => ({ right }))
    const work = this.#attempt({ name, password }, stored, context)
      .then(right => this.#conclude({ name, password }, right, { account, context }))
      .finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, work)
    return work
  }

  async #attempt(
    { name, password }: NameAndPassword,
    stored: StoredPassword,
    { peer, settings }: CheckContext,
  ): Promise<boolean> {
    const attempt = this.#lockout.begin(peer, name, settings.lockout)
    let right = true
    try {
      right = await this.#queue.run(
        peer,
        () => this.#lockout.isSuspect(peer, settings.lockout),
        () => this.#verify(password, stored, settings),
      )
    } finally {
      if (right) attempt.release()
      else attempt.fail()
    }
    return right
  }

  /** Old hashes that cost nothing are made to cost what an unknown name costs. */
  async #verify(
    password: string,
    stored: StoredPassword,
    settings: AuthSettings,
  ): Promise<boolean> {
    this.#checkCount++
    const dummy = this.#dummy(settings)
    const isDummy = fingerprint(stored) === fingerprint(dummy)
    if (isDummy || (stored.scheme === 'simple' && dummy.scheme !== 'simple')) {
      await verifyPassword(password, dummy, UNBOUNDED)
    }
    return !isDummy && verifyPassword(password, stored, settings.iterationBounds)
  }

  async #conclude(
    { name, password }: NameAndPassword,
    matches: boolean,
    about: { account: Account | undefined; context: CheckContext },
  ): Promise<CheckedPassword> {
    const { account, context } = about
    const { settings, proof } = context
    const stored = account?.password
    if (!matches || !stored) return { right: false }
    this.#verified.add(proof, { name, tag: this.#tagOf(stored) }, settings.verifiedPasswordsMax)
    const renew = account.isUserDocument && !account.hasConflicts && settings.upgradeHash
    if (!renew || !isWeaker(stored, settings.newPasswords)) return { right: true }
    const renewed = await this.#renew(password, stored.salt, context)
    return { right: true, ...(renewed && { renewed }) }
  }

  /** The salt stays, so that sessions opened before go on. A full queue puts the renewal off. */
  async #renew(
    password: string,
    oldSalt: string,
    { peer, settings }: CheckContext,
  ): Promise<CheckedPassword['renewed']> {
    const salt = oldSalt === '' ? printSalt(this.#random(16)) : oldSalt
    try {
      const stored = await this.#queue.run(peer, NEVER, () =>
        hashPassword(password, settings.newPasswords, salt),
      )
      return passwordFields(stored)
    } catch (problem) {
      if (isFailure(problem, 'service_unavailable')) return undefined
      throw problem
    }
  }

  /** Stands for the stored form: a digest, because it is shorter and goes into one for every request. */
  #tagOf(stored: StoredPassword): string {
    const known = this.#tags.get(stored)
    if (known !== undefined) return known
    const tag = hash('sha256', fingerprint(stored), 'base64')
    this.#tags.set(stored, tag)
    return tag
  }

  #dummy({ newPasswords }: AuthSettings): StoredPassword {
    const salt = this.#dummySalt
    // No hex digest looks like this, so nothing matches it.
    if (newPasswords.scheme === 'simple') return { scheme: 'simple', salt, key: 'none' }
    const { prf, iterations } = newPasswords
    return { scheme: 'pbkdf2', prf, salt, iterations, key: 'none' }
  }
}
