/**
 * Numbers as bytes that sort by value, exactly: integers of any length among doubles.
 *
 * Format, for values >= 0: the eight bytes of the greatest double that is not above the value, sign
 * bit turned; then the rest (value minus double) as a length byte and that many bytes, 00 for none.
 * Lengths from 255 on are FF and four bytes. For values below 0: the bytes of the absolute value,
 * all turned. No encoding is the beginning of another, so they can stand in the middle of a key.
 * `-0` is `0`.
 */
import type { KeyWriter } from './key-writer.ts'

/** Appends the number written in text[start, end) as JSON writes it. */
export function appendNumberText(
  out: KeyWriter,
  text: Uint8Array,
  start: number,
  end: number,
): void {
  const first = text[start] === MINUS ? start + 1 : start
  let value = 0
  let i = first
  for (; i < end; i++) {
    const digit = (text[i] as number) - ZERO
    if (digit < 0 || digit > 9) break
    value = value * 10 + digit
  }
  if (i === end && end - first <= SAFE_DIGITS) {
    appendDouble(out, first === start ? value : -value)
  } else if (i === end) {
    appendInteger(out, BigInt(latin1(text, start, end)))
  } else {
    appendDouble(out, Number(latin1(text, start, end)))
  }
}

export function appendDouble(out: KeyWriter, value: number): void {
  // `0` for -0: they are one key.
  WORDS.setFloat64(0, value === 0 ? 0 : value)
  appendWords(out, value < 0)
  out.byte(value < 0 ? 0xff : 0)
}

export function appendInteger(out: KeyWriter, value: bigint): void {
  const isNegative = value < 0n
  const size = isNegative ? -value : value
  const double = doubleNotAbove(size)
  WORDS.setFloat64(0, isNegative ? -double : double)
  appendWords(out, isNegative)
  appendRest(out, size - BigInt(double), isNegative)
}

function appendWords(out: KeyWriter, isNegative: boolean): void {
  const high = WORDS.getUint32(0)
  const low = WORDS.getUint32(4)
  out.reserve(9)
  out.bytes.writeUInt32BE((isNegative ? ~high : high | 0x80000000) >>> 0, out.length)
  out.bytes.writeUInt32BE((isNegative ? ~low : low) >>> 0, out.length + 4)
  out.length += 8
}

function appendRest(out: KeyWriter, rest: bigint, isNegative: boolean): void {
  const turn = isNegative ? 0xff : 0
  if (rest === 0n) {
    out.byte(turn)
    return
  }
  const hex = rest.toString(16)
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  if (bytes.length < 0xff) {
    out.byte(bytes.length ^ turn)
  } else {
    out.byte(0xff ^ turn)
    for (const shift of [24, 16, 8, 0]) out.byte(((bytes.length >>> shift) & 0xff) ^ turn)
  }
  for (const byte of bytes) out.byte(byte ^ turn)
}

function doubleNotAbove(size: bigint): number {
  const nearest = Number(size)
  if (nearest === Number.POSITIVE_INFINITY) return Number.MAX_VALUE
  if (BigInt(nearest) <= size) return nearest
  WORDS.setFloat64(0, nearest)
  WORDS.setBigUint64(0, WORDS.getBigUint64(0) - 1n)
  return WORDS.getFloat64(0)
}

const latin1 = (text: Uint8Array, start: number, end: number) =>
  Buffer.from(text.buffer, text.byteOffset + start, end - start).toString('latin1')

const WORDS = new DataView(new ArrayBuffer(8))
const ZERO = 0x30
const MINUS = 0x2d
/** Integers of so many digits are exact in a double. */
const SAFE_DIGITS = 15
