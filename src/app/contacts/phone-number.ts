/**
 * Phone numbers in one form: E.164 for whole numbers, plain digits for short codes.
 *
 * The seam for a library that knows the numbering plans of all countries. Without one, what is checked is what holds
 * everywhere: digits and the usual separators only, a length that E.164 allows; one leading zero before a national number
 * is the trunk prefix. So `phone_validation` `full` checks no more than `partial` here, and `none` takes any digits.
 */
import type { Settings } from '../settings/settings.ts'

const ALLOWED = /^\s*(?:\+|00)?[\d\s().\-/]+$/
/** E.164 counts 15 digits at the most; no country's numbers with its code have fewer than 7. */
const DIGITS_MAX = 15
const DIGITS_MIN = 7
const SHORT_CODE_MAX = 6

/** Undefined for what is no phone number. */
export function normalizePhone(
  text: string,
  { defaultCountryCode, phoneValidation }: Settings,
): string | undefined {
  if (!ALLOWED.test(text)) return undefined
  const digits = text.replace(/\D/g, '')
  if (digits === '') return undefined
  const hasPlus = /^\s*\+/.test(text)
  const isInternational = hasPlus || digits.startsWith('00')
  if (!isInternational && digits.length <= SHORT_CODE_MAX) return digits
  const whole = hasPlus
    ? digits
    : isInternational
      ? digits.slice(2)
      : withCountryCode(digits, defaultCountryCode)
  if (phoneValidation === 'none') return `+${whole}`
  const isLengthRight = whole.length >= DIGITS_MIN && whole.length <= DIGITS_MAX
  return isLengthRight && !whole.startsWith('0') ? `+${whole}` : undefined
}

/** National numbers with so many digits are whole; more in front of them is the country's code. */
const NATIONAL_DIGITS_MIN = 9

const withCountryCode = (digits: string, code: string): string =>
  digits.startsWith(code) && digits.length >= code.length + NATIONAL_DIGITS_MIN
    ? digits
    : `${code}${digits.replace(/^0/, '')}`
