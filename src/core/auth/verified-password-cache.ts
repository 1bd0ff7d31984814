/**
 * Remembers that credentials were right, so that Basic authentication does not pay for PBKDF2 on each request, nor for
 * reading the header.
 *
 * Why this does not weaken the hashes:
 * - Kept is only a SHA-256 keyed with 32 random bytes that live in this process and are never
 *   written anywhere. (The key comes first and has always the same length, so that no input is the
 *   beginning of another; then this is as good as HMAC, at less than half its time.) Who reads
 *   the stored hashes (a backup, a replica) gains nothing; who can read the memory of this process
 *   sees the passwords pass by anyway.
 * - With it goes a digest of the stored form that was found right: after a change of password, salt, digest or
 *   iterations the entry counts for nothing. Roles and conflicts are not kept here and are read anew for each request.
 * - Only right passwords are kept, so guessing costs the full price each time. Entries are bounded
 *   in number (what was not used goes first) and in age.
 */
import { hash } from 'node:crypto'

export interface VerifiedPasswordCacheOptions {
  /** 32 random bytes. */
  readonly key: Uint8Array
  readonly lifetimeMs: number
  readonly clock: () => number
}

/** Whose credentials these are, and for which stored password. */
export interface VerifiedPassword {
  readonly name: string
  /** A digest of the stored form. */
  readonly tag: string
}

interface Entry extends VerifiedPassword {
  readonly expiryMs: number
  isUsed: boolean
}

export class VerifiedPasswordCache {
  readonly #key: string
  readonly #lifetimeMs: number
  readonly #clock: () => number
  /** Oldest first; one that was used is spared once. */
  readonly #entries = new Map<string, Entry>()

  constructor({ key, lifetimeMs, clock }: VerifiedPasswordCacheOptions) {
    this.#key = Buffer.from(key).toString('hex')
    this.#lifetimeMs = lifetimeMs
    this.#clock = clock
  }

  get size(): number {
    return this.#entries.size
  }

  /** What stands for these credentials. */
  proofOf(credentials: string): string {
    return hash('sha256', this.#key + credentials, 'base64')
  }

  find(proof: string): VerifiedPassword | undefined {
    const entry = this.#entries.get(proof)
    if (entry === undefined) return undefined
    if (entry.expiryMs <= this.#clock()) {
      this.#entries.delete(proof)
      return undefined
    }
    entry.isUsed = true
    return entry
  }

  /** `countMax` comes with each call because the setting may change while we run. */
  add(proof: string, { name, tag }: VerifiedPassword, countMax: number): void {
    this.#entries.delete(proof)
    const expiryMs = this.#clock() + this.#lifetimeMs
    this.#entries.set(proof, { name, tag, expiryMs, isUsed: false })
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= countMax) return
      this.#entries.delete(oldest)
      const isSpared = entry.isUsed || (oldest === proof && countMax > 0)
      entry.isUsed = false
      if (isSpared) this.#entries.set(oldest, entry)
    }
  }
}
