/**
 * What the embedded engine promises to take. LMDB's own limit for keys is 1,978 bytes with 4 KiB
 * pages; one byte is ours and the rest is room for range bounds a little longer than any key.
 */
import type { EngineLimits, Range } from '../engine.ts'

export const EMBEDDED_LIMITS: EngineLimits = {
  keyBytesMax: 1900,
  valueBytesMax: 64 * 1024 * 1024,
  transactionBytesMax: 256 * 1024 * 1024,
}

/** Open files at once; each costs about 140 KB of memory and three file handles. */
export const OPEN_STORES_DEFAULT = 256

/** Before and after every key of a user. */
export const EVERY_KEY: Range = { start: Buffer.alloc(0), end: Buffer.alloc(1950, 0xff) }
