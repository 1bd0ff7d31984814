/**
 * Phone numbers in one form: E.164 for whole numbers, plain digits for short codes. What the numbering plans of all
 * countries say is known by libphonenumber; `phone_validation` tells how strictly it is asked: `full` wants a number that
 * is really given out, `partial` one of a possible length, `none` takes any digits.
 */
import { parsePhoneNumberFromString } from 'libphonenumber-js'
import type { Settings } from '../settings/settings.ts'

const ALLOWED = /^\s*(?:\+|00)?[\d\s().\-/]+$/
const SHORT_CODE_MAX = 6

/** Undefined for what is no phone number. */
export function normalizePhone(
  text: string,
  { defaultCountryCode, phoneValidation }: Settings,
): string | undefined {
  if (!ALLOWED.test(text)) return undefined
  const digits = text.replace(/\D/g, '')
  if (digits === '') return undefined
  const international = internationalDigits(text, digits)
  if (international === undefined && digits.length <= SHORT_CODE_MAX) return digits
  const parsed =
    international === undefined
      ? nationalNumber(digits, defaultCountryCode)
      : parsePhoneNumberFromString(`+${international}`)
  if (phoneValidation === 'none') {
    return parsed?.number ?? `+${international ?? defaultCountryCode + digits}`
  }
  const isRight = phoneValidation === 'full' ? parsed?.isValid() : parsed?.isPossible()
  return isRight === true ? parsed?.number : undefined
}

/** The digits behind `+` or `00`. */
function internationalDigits(text: string, digits: string): string | undefined {
  if (/^\s*\+/.test(text)) return digits
  return digits.startsWith('00') ? digits.slice(2) : undefined
}

/** A number as people write it at home, perhaps with the country's code in front all the same. */
function nationalNumber(digits: string, countryCode: string) {
  const national = parsePhoneNumberFromString(digits, { defaultCallingCode: countryCode })
  if (national?.isValid() === true || !digits.startsWith(countryCode)) return national
  const whole = parsePhoneNumberFromString(`+${digits}`)
  return whole?.isValid() === true ? whole : national
}
