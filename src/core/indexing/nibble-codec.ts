/**
 * Half bytes for fifteen common bytes, whole ones for the rest. What is left of neighbouring rows when their common
 * parts are said once is mostly digits of ids, numbers and dates, which need no more than four bits. Deflate does
 * little better there and takes ten times the time, to write and to read.
 *
 * Which bytes are common is found once for many blocks alike (`commonBytes`) and told in each.
 *
 * Format: the length of the plain bytes; the fifteen bytes; a half byte for each plain byte, high half first, 15 for
 * one of the others; these others.
 */
import { KeyWriter } from '../../base/collate/key-writer.ts'
import { appendVarint, ByteReader } from './byte-codec.ts'

const COMMON_COUNT = 15
const OTHER = 15

/** The bytes that a packing has half bytes for. */
export interface CommonBytes {
  readonly bytes: Buffer
  /** By byte: its half byte, `OTHER` for those without one. */
  readonly codes: Uint8Array
}

/** The commonest bytes of these. */
export function commonBytes(plain: Buffer): CommonBytes {
  const counts = new Float64Array(256)
  for (const byte of plain) counts[byte] = (counts[byte] as number) + 1
  // Counted and numbered, the commonest last, so that one sort of numbers does it.
  const ranked = counts.map((count, byte) => count * 256 + byte).sort()
  const bytes = Buffer.alloc(COMMON_COUNT)
  const codes = new Uint8Array(256).fill(OTHER)
  for (let code = 0; code < COMMON_COUNT; code++) {
    const byte = (ranked[255 - code] as number) % 256
    bytes[code] = byte
    codes[byte] = code
  }
  return { bytes, codes }
}

/** @param head a byte that stands in front */
export function packNibbles(
  plain: Buffer,
  { bytes: common, codes }: CommonBytes,
  head: number,
): Buffer {
  const room = plain.length * 2 + 64
  // A buffer for every block would be most of the memory that a build has to free.
  const out = room > SCRATCH_BYTES ? new KeyWriter(room) : SCRATCH
  out.reset()
  out.byte(head)
  appendVarint(out, plain.length)
  out.append(common)
  const { bytes } = out
  let at = out.length
  let other = at + ((plain.length + 1) >>> 1)
  const pairs = plain.length & ~1
  for (let i = 0; i < pairs; i += 2) {
    const first = plain[i] as number
    const second = plain[i + 1] as number
    const high = codes[first] as number
    const low = codes[second] as number
    bytes[at++] = (high << 4) | low
    if (high === OTHER) bytes[other++] = first
    if (low === OTHER) bytes[other++] = second
  }
  if (pairs < plain.length) {
    const last = plain[pairs] as number
    const code = codes[last] as number
    bytes[at] = code << 4
    if (code === OTHER) bytes[other++] = last
  }
  return Buffer.from(bytes.subarray(0, other))
}

/**
 * The plain bytes of packed[at …], good until the next call: a block is taken apart at once. Undefined when they are
 * not what `packNibbles` wrote.
 */
export function unpackNibbles(packed: Buffer, at: number): Buffer | undefined {
  const reader = new ByteReader(packed, at)
  const length = reader.varint()
  const symbols = reader.at
  const start = symbols + COMMON_COUNT
  let other = start + ((length + 1) >>> 1)
  if (other > packed.length) return undefined
  const plain = length > PLAIN.length ? Buffer.allocUnsafeSlow(length) : PLAIN
  for (let code = 0; code < COMMON_COUNT; code++) SYMBOLS[code] = packed[symbols + code] as number
  const pairs = length >>> 1
  for (let i = 0, to = 0; i < pairs; i++, to += 2) {
    const pair = packed[start + i] as number
    const high = pair >>> 4
    const low = pair & 15
    plain[to] = (high === OTHER ? packed[other++] : SYMBOLS[high]) as number
    plain[to + 1] = (low === OTHER ? packed[other++] : SYMBOLS[low]) as number
  }
  if (length % 2 === 1) {
    const code = (packed[start + pairs] as number) >>> 4
    plain[length - 1] = (code === OTHER ? packed[other++] : SYMBOLS[code]) as number
  }
  return other === packed.length ? plain.subarray(0, length) : undefined
}

const SYMBOLS = new Uint8Array(16)
const PLAIN = Buffer.allocUnsafeSlow(64 * 1024)
const SCRATCH_BYTES = 64 * 1024
const SCRATCH = new KeyWriter(SCRATCH_BYTES)
