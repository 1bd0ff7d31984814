/**
 * Passwords as they are kept, and how one is checked or hashed.
 *
 * Kept forms: `simple` (SHA-1 of password and salt), `pbkdf2` with five digests, and
 * `simple+pbkdf2` (PBKDF2 over the hex of the simple hash: old hashes strengthened without knowing
 * the password). User documents hold them in fields, the admins section in one text (`-hashed-…`,
 * `-pbkdf2-…`, `-pbkdf2:sha256-…`). PBKDF2 runs on the thread pool, never on the event loop; how
 * many run at once is up to `hash-queue.ts`. Comparisons take the same time whatever differs. Salts
 * are texts: their characters are hashed, not decoded.
 */
import { createHash, pbkdf2, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { Failure } from '../../base/errors.ts'

export type StoredPassword = SimplePassword | DerivedPassword

export interface SimplePassword {
  readonly scheme: 'simple'
  readonly salt: string
  /** Hex. */
  readonly key: string
}

export interface DerivedPassword {
  readonly scheme: 'pbkdf2' | 'simple+pbkdf2'
  /** As stored; only the names in `Prf` can be verified. */
  readonly prf: string
  readonly salt: string
  readonly iterations: number
  /** Hex. */
  readonly key: string
}

export type Prf = 'sha' | 'sha224' | 'sha256' | 'sha384' | 'sha512'

const DIGESTS: Readonly<Record<Prf, { readonly name: string; readonly bytes: number }>> = {
  sha: { name: 'sha1', bytes: 20 },
  sha224: { name: 'sha224', bytes: 28 },
  sha256: { name: 'sha256', bytes: 32 },
  sha384: { name: 'sha384', bytes: 48 },
  sha512: { name: 'sha512', bytes: 64 },
}

export const isPrf = (text: string): text is Prf => Object.hasOwn(DIGESTS, text)

export interface IterationBounds {
  readonly minIterations: number
  readonly maxIterations: number
}

export type NewPasswordSettings =
  | { readonly scheme: 'simple' }
  | { readonly scheme: 'pbkdf2'; readonly prf: Prf; readonly iterations: number }

/** What node:crypto takes; also what PBKDF2 counts with in 32 bits. */
const ITERATIONS_LIMIT = 2 ** 31 - 1
const ITERATIONS_WHEN_ABSENT = 10_000

const derive = promisify(pbkdf2)

/**
 * Is this the password? Hashes with too few iterations are computed all the same, and refused only
 * when the password is right: a guesser learns nothing from them. Too many iterations are refused
 * before the work.
 */
export async function verifyPassword(
  password: string,
  stored: StoredPassword,
  bounds: IterationBounds,
): Promise<boolean> {
  if (stored.scheme === 'simple') return sameText(simpleHash(password, stored.salt), stored.key)
  const { prf, iterations, salt } = stored
  if (!isPrf(prf)) throw new Failure('forbidden', { reason: 'PRF is invalid' })
  if (iterations > Math.min(bounds.maxIterations, ITERATIONS_LIMIT)) {
    throw new Failure('forbidden', { reason: 'Iteration count is too high for this server' })
  }
  const countable = Number.isInteger(iterations) && iterations >= 1
  const input = stored.scheme === 'pbkdf2' ? password : simpleHash(password, salt)
  const key = await derivedKey(input, { prf, salt, iterations: countable ? iterations : 1 })
  const right = sameText(key, stored.key)
  if (right && (!countable || iterations < bounds.minIterations)) {
    throw new Failure('forbidden', { reason: 'Iteration count is too low for this server' })
  }
  return right
}

/** `salt` is 32 hex digits for a new password, or the old salt when a hash is renewed. */
export async function hashPassword(
  password: string,
  settings: NewPasswordSettings,
  salt: string,
): Promise<StoredPassword> {
  if (settings.scheme === 'simple') {
    return { scheme: 'simple', salt, key: simpleHash(password, salt) }
  }
  const { prf, iterations } = settings
  const key = await derivedKey(password, { prf, salt, iterations })
  return { scheme: 'pbkdf2', prf, salt, iterations, key }
}

/** 16 random bytes as a salt. */
export const printSalt = (random: Uint8Array): string => Buffer.from(random).toString('hex')

/**
 * Is the stored form weaker than what a new password would get? Only strengthens: a hash with a
 * longer digest or more iterations than configured stays as it is.
 */
export function isWeaker(stored: StoredPassword, settings: NewPasswordSettings): boolean {
  if (settings.scheme === 'simple') return false
  if (stored.scheme !== 'pbkdf2' || !isPrf(stored.prf)) return true
  const bytes = DIGESTS[stored.prf].bytes - DIGESTS[settings.prf].bytes
  return bytes < 0 || (bytes === 0 && stored.iterations < settings.iterations)
}

/** The fields of a user document, or undefined when they hold no password that could be checked. */
export function readStoredPassword(
  fields: Readonly<Record<string, unknown>>,
): StoredPassword | undefined {
  const scheme = fields.password_scheme ?? 'simple'
  const salt = typeof fields.salt === 'string' ? fields.salt : ''
  if (scheme === 'simple') {
    const key = fields.password_sha
    return typeof key === 'string' && key !== '' ? { scheme, salt, key } : undefined
  }
  const key = fields.derived_key
  if (scheme !== 'pbkdf2' && scheme !== 'simple+pbkdf2') return undefined
  if (typeof key !== 'string' || key === '') return undefined
  const iterations = fields.iterations ?? ITERATIONS_WHEN_ABSENT
  const prf = fields.pbkdf2_prf ?? 'sha'
  if (typeof iterations !== 'number' || typeof prf !== 'string') return undefined
  return { scheme, prf, salt, iterations, key }
}

/** The fields for a user document, in CouchDB's order. */
export function passwordFields(stored: StoredPassword): Readonly<Record<string, string | number>> {
  const { scheme, salt, key } = stored
  if (stored.scheme === 'simple') return { password_scheme: scheme, salt, password_sha: key }
  return {
    password_scheme: scheme,
    pbkdf2_prf: stored.prf,
    salt,
    iterations: stored.iterations,
    derived_key: key,
  }
}

const HASHED_ADMIN = /^-hashed-([^,]*),(.*)$/s
const DERIVED_ADMIN = /^-pbkdf2(?::([^-]*))?-([^,]*),([^,]*),(\d{1,15})$/s

/**
 * A value of the admins section; undefined: plain text, which nobody can log in with until it is
 * hashed.
 */
export function parseAdminPassword(text: string): StoredPassword | undefined {
  const [, simpleKey, simpleSalt] = HASHED_ADMIN.exec(text) ?? []
  if (simpleKey !== undefined && simpleSalt !== undefined) {
    return { scheme: 'simple', salt: simpleSalt, key: simpleKey }
  }
  const [, prf = 'sha', key, salt, iterations] = DERIVED_ADMIN.exec(text) ?? []
  if (key === undefined || salt === undefined || iterations === undefined) return undefined
  return { scheme: 'pbkdf2', prf, salt, iterations: Number(iterations), key }
}

/**
 * Which text an admin's new password becomes: the specification's (SHA-1) or CouchDB 3.4's (digest
 * named).
 */
export type AdminPasswordForm = 'pbkdf2' | `pbkdf2:${Prf}`

export async function hashAdminPassword(
  password: string,
  settings: { readonly form: AdminPasswordForm; readonly iterations: number },
  salt: string,
): Promise<string> {
  const { form, iterations } = settings
  const prf = form === 'pbkdf2' ? 'sha' : form.slice('pbkdf2:'.length)
  if (!isPrf(prf)) throw new Failure('config_invalid', { reason: 'PRF is invalid' })
  const key = await derivedKey(password, { prf, salt, iterations })
  return `-${form}-${key},${salt},${iterations}`
}

/**
 * Everything that decides about a match, as one text; used to notice that a stored password
 * changed.
 */
export function fingerprint(stored: StoredPassword): string {
  if (stored.scheme === 'simple') return `simple,${stored.key},${stored.salt}`
  return `${stored.scheme},${stored.prf},${stored.iterations},${stored.key},${stored.salt}`
}

async function derivedKey(
  password: string,
  { prf, salt, iterations }: { prf: Prf; salt: string; iterations: number },
): Promise<string> {
  const { name, bytes } = DIGESTS[prf]
  return (await derive(password, salt, iterations, bytes, name)).toString('hex')
}

const simpleHash = (password: string, salt: string): string =>
  createHash('sha1')
    .update(password + salt)
    .digest('hex')

/** Only the length of the texts shows in the time taken, and lengths are no secret here. */
function sameText(ours: string, theirs: string): boolean {
  const expected = Buffer.from(ours)
  const given = Buffer.from(theirs.toLowerCase())
  return expected.length === given.length && timingSafeEqual(expected, given)
}
