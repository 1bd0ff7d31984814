/**
 * Sums without loss: integers stay exact at any size (bigint once they leave the safe range),
 * anything else is a double. View values that JavaScript emitted are doubles, but their sums may
 * grow, and CouchDB adds them exactly.
 */
export type ExactNumber = number | bigint

export function addNumbers(one: ExactNumber, two: ExactNumber): ExactNumber {
  if (typeof one === 'number' && typeof two === 'number') {
    const sum = one + two
    const isExact =
      Number.isSafeInteger(sum) || !Number.isSafeInteger(one) || !Number.isSafeInteger(two)
    return isExact ? sum : BigInt(one) + BigInt(two)
  }
  if (isFraction(one) || isFraction(two)) return Number(one) + Number(two)
  return narrow(BigInt(one) + BigInt(two))
}

/** Undefined when the text is no JSON number. */
export function parseNumber(text: Buffer): ExactNumber | undefined {
  const first = text[0] as number
  if (first !== MINUS && (first < ZERO || first > NINE)) return undefined
  const isNegative = first === MINUS
  let value = 0
  for (let i = isNegative ? 1 : 0; i < text.length; i++) {
    const digit = (text[i] as number) - ZERO
    if (digit < 0 || digit > 9) return Number(text.toString('latin1'))
    value = value * 10 + digit
  }
  if (text.length > SAFE_LENGTH) return narrow(BigInt(text.toString('latin1')))
  return isNegative ? -value : value
}

export const printNumber = (value: ExactNumber): string =>
  typeof value === 'bigint' ? value.toString() : (JSON.stringify(value === 0 ? 0 : value) ?? 'null')

const narrow = (value: bigint): ExactNumber =>
  Number.isSafeInteger(Number(value)) ? Number(value) : value

const isFraction = (value: ExactNumber): boolean =>
  typeof value === 'number' && !Number.isSafeInteger(value)

const ZERO = 0x30
const NINE = 0x39
const MINUS = 0x2d
const SAFE_LENGTH = 15
