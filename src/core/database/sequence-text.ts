/**
 * Sequences as clients see them: `N-opaque`. The opaque part names the life of the database the sequence belongs to,
 * and the number once more, so that it stands on its own.
 *
 * A sequence of another life (the database was deleted and made anew) or of another database counts as the beginning:
 * the consumer sees everything again rather than miss a change. Clients that read the number in front still can; a bare
 * number other than 0 is malformed, as in CouchDB: it says nothing of the life it belongs to.
 */
import { Failure } from '../../base/errors.ts'

/** @param life the first bytes of the store's identity, as hex */
export function printSequence(seq: number, life: string): string {
  const bytes = Buffer.allocUnsafe(LIFE_BYTES + 8)
  bytes.write(life, 0, LIFE_BYTES, 'hex')
  bytes.writeBigUInt64BE(BigInt(seq), LIFE_BYTES)
  return `${seq}-${bytes.toString('base64url')}`
}

/**
 * The same texts, made fast for many sequences of one life: all but the last byte of the opaque part stays the
 * same for 256 numbers in a row.
 */
export class SequencePrinter {
  readonly #life: string
  #block = -1
  #prefix = ''

  constructor(life: string) {
    this.#life = life
  }

  print(seq: number): string {
    const block = Math.floor(seq / 256)
    if (block !== this.#block) {
      const text = printSequence(seq, this.#life)
      this.#prefix = text.slice(text.indexOf('-'), -2)
      this.#block = block
    }
    return seq + this.#prefix + (LAST_BYTES[seq % 256] as string)
  }
}

/** One byte at the end of base64url is two characters. */
const LAST_BYTES = Array.from({ length: 256 }, (_, byte) => Buffer.of(byte).toString('base64url'))

/** The number of a sequence text; 0 when it is of another life. Fails with `request_invalid`. */
export function parseSequence(text: string, life: string): number {
  const plain = text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
  if (plain === '0') return 0
  const opaque = /^(?:\d{1,15}-)?([A-Za-z0-9_-]+)$/.exec(plain)?.[1]
  const bytes = opaque === undefined ? undefined : Buffer.from(opaque, 'base64url')
  if (bytes?.length !== LIFE_BYTES + 8) {
    throw new Failure('request_invalid', {
      reason: "Malformed sequence supplied in 'since' parameter.",
    })
  }
  if (bytes.toString('hex', 0, LIFE_BYTES) !== life) return 0
  return Number(bytes.readBigUInt64BE(LIFE_BYTES))
}

const LIFE_BYTES = 8

/** The life of a store: 16 hex digits from its id. */
export const lifeOf = (storeId: string): string => storeId.slice(-2 * LIFE_BYTES)
