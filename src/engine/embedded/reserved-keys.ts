/**
 * Keys inside a store's file. The first byte says whose a key is: 0x01 goes before every key of the
 * store's user, 0x00 before ours. The byte is added and taken off while LMDB copies the key anyway,
 * so it costs no allocation, and a user's range can never reach a reserved key.
 *
 *   00 's'                  state of the file (store-state.ts)
 *   00 'j' <8 bytes number> journal of a compaction under way (journal.ts)
 *   01 <key>                the user's
 */
import type { Key } from '../engine.ts'

/** A key of ours; made of the bytes behind the 0x00. */
export class ReservedKey {
  readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

export type StoredKey = Key | ReservedKey

const OURS = 0x00
const USERS = 0x01

/**
 * What LMDB's binding calls to write a key into its scratch buffer; returns the position behind it.
 */
export function writeStoredKey(key: StoredKey, target: Uint8Array, start: number): number {
  if (key instanceof ReservedKey) {
    target[start] = OURS
    target.set(key.bytes, start + 1)
    return start + 1 + key.bytes.length
  }
  target[start] = USERS
  target.set(key, start + 1)
  return start + 1 + key.length
}

/**
 * The other way; the first byte is dropped, whoever asked for a range knows whose keys it holds.
 */
export function readStoredKey(source: Uint8Array, start: number, end: number): Buffer {
  const key = Buffer.allocUnsafe(end - start - 1)
  key.set(source.subarray(start + 1, end))
  return key
}
