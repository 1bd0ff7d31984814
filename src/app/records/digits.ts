/** Numbers in texts, also in the digits of Devanagari and with characters without width between them. Pure. */
import { withoutZeroWidth } from './sms-formats/form-code.ts'

const DEVANAGARI_ZERO = 0x0966

export const plainDigits = (text: string): string =>
  withoutZeroWidth(text).replace(/[\u0966-\u096F]/g, digit =>
    String(digit.charCodeAt(0) - DEVANAGARI_ZERO),
  )

/** Undefined for what is no decimal number. */
export function parseNumber(text: string): number | undefined {
  const plain = plainDigits(text).trim()
  return /^[+-]?\d+(?:\.\d+)?$/.test(plain) ? Number(plain) : undefined
}
