/**
 * Remembers that a password was right, so that Basic authentication does not pay for PBKDF2 on each
 * request.
 *
 * Why this does not weaken the hashes:
 * - Kept is only a SHA-256 keyed with 32 random bytes that live in this process and are never
 *   written anywhere. (The key comes first and the lengths of all parts follow, so that no input is
 *   the beginning of another; then this is as good as HMAC, at less than half its time.) Who reads
 *   the stored hashes (a backup, a replica) gains nothing; who can read the memory of this process
 *   sees the passwords pass by anyway.
 * - The stored form is part of what is hashed: after a change of password, salt, digest or
 *   iterations the old entry can never match again. Roles and conflicts are not kept here and are
 *   read anew for each request.
 * - Only right passwords are kept, so guessing costs the full price each time. Entries are bounded
 *   in number (least recently used goes first) and in age.
 */
import { hash } from 'node:crypto'

export interface VerifiedPasswordCacheOptions {
  /** 32 random bytes. */
  readonly key: Uint8Array
  readonly lifetimeMs: number
  readonly clock: () => number
}

export class VerifiedPasswordCache {
  readonly #key: string
  readonly #lifetimeMs: number
  readonly #clock: () => number
  /** Oldest use first. */
  readonly #expiryByProof = new Map<string, number>()

  constructor({ key, lifetimeMs, clock }: VerifiedPasswordCacheOptions) {
    this.#key = Buffer.from(key).toString('hex')
    this.#lifetimeMs = lifetimeMs
    this.#clock = clock
  }

  get size(): number {
    return this.#expiryByProof.size
  }

  /** What stands for this name, password and stored form. */
  proofOf(name: string, password: string, storedFingerprint: string): string {
    const lengths = `${name.length},${password.length},${storedFingerprint.length},`
    return hash('sha256', this.#key + lengths + name + password + storedFingerprint, 'base64')
  }

  has(proof: string): boolean {
    const expiry = this.#expiryByProof.get(proof)
    if (expiry === undefined) return false
    this.#expiryByProof.delete(proof)
    if (expiry <= this.#clock()) return false
    this.#expiryByProof.set(proof, expiry)
    return true
  }

  /** `countMax` comes with each call because the setting may change while we run. */
  add(proof: string, countMax: number): void {
    this.#expiryByProof.delete(proof)
    this.#expiryByProof.set(proof, this.#clock() + this.#lifetimeMs)
    for (const oldest of this.#expiryByProof.keys()) {
      if (this.#expiryByProof.size <= countMax) return
      this.#expiryByProof.delete(oldest)
    }
  }
}
