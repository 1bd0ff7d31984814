/**
 * Secrets of other services, kept encrypted in a database of their own; they can be set, but nobody can read them back.
 * The key is the server's own secret: whoever has the files alone has nothing.
 *
 * Format of a stored secret: `<iv>:<cipher text>`, both in hex; AES-256-CBC, the key being the secret itself when it has
 * 32 bytes, as installations of the original product have it, else its SHA-256.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { Failure, isFailure } from '../../base/errors.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'

const ALGORITHM = 'aes-256-cbc'
const KEY_BYTES = 32
const IV_BYTES = 16
const ATTEMPTS_MAX = 10

export class CredentialStore {
  readonly #vault: DocumentDatabase
  readonly #secret: () => string | undefined

  constructor(vault: DocumentDatabase, secret: () => string | undefined) {
    this.#vault = vault
    this.#secret = secret
  }

  async set(name: string, secret: string): Promise<void> {
    const _id = idOf(name)
    for (let attempt = 1; ; attempt++) {
      const stored = await this.#vault.get(_id)
      try {
        await this.#vault.put({ ...stored, _id, type: 'credential', password: this.#seal(secret) })
        return
      } catch (thrown) {
        if (!isFailure(thrown, 'document_conflict') || attempt === ATTEMPTS_MAX) throw thrown
      }
    }
  }

  /** Undefined when nobody has set it. */
  async get(name: string): Promise<string | undefined> {
    const stored = await this.#vault.get(idOf(name))
    return typeof stored?.password === 'string' ? this.#open(stored.password) : undefined
  }

  #seal(text: string): string {
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv(ALGORITHM, this.#key(), iv)
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return `${iv.toString('hex')}:${sealed.toString('hex')}`
  }

  #open(stored: string): string {
    const [iv = '', sealed = ''] = stored.split(':')
    try {
      const cipher = createDecipheriv(ALGORITHM, this.#key(), Buffer.from(iv, 'hex'))
      const bytes = Buffer.concat([cipher.update(Buffer.from(sealed, 'hex')), cipher.final()])
      return bytes.toString('utf8')
    } catch (thrown) {
      // The server has another secret now: the credentials have to be set again.
      throw new Failure('unexpected', { reason: 'a credential cannot be decrypted' }, thrown)
    }
  }

  #key(): Buffer {
    const secret = this.#secret()
    if (secret === undefined || secret === '') {
      throw new Failure('service_unavailable', { reason: 'the server has no secret' })
    }
    const bytes = Buffer.from(secret)
    return bytes.length === KEY_BYTES ? bytes : createHash('sha256').update(bytes).digest()
  }
}

const idOf = (name: string): string => `credential:${encodeURIComponent(name)}`
