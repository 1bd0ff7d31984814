/** The kinds of settings: how each is read from an ini file, and what it takes for wrong. */
import { isIP } from 'node:net'

export interface Setting<T> {
  readonly section: string
  readonly key: string
  readonly default: T
  readonly about: string
  /** The value of a text, or undefined when the text breaks the setting's rules. */
  readonly parse: (text: string) => T | undefined
  /** The default as ini text. */
  readonly defaultText: string
}

function setting<T>(rest: Setting<T>): Setting<T> {
  return Object.freeze(rest)
}

export function text(section: string, key: string, value: string, about: string): Setting<string> {
  return setting({ section, key, default: value, about, parse: given => given, defaultText: value })
}

export function flag(
  section: string,
  key: string,
  value: boolean,
  about: string,
): Setting<boolean> {
  const parse = (given: string) => (given === 'true' ? true : given === 'false' ? false : undefined)
  return setting({ section, key, default: value, about, parse, defaultText: String(value) })
}

export function choice<const T extends string>(
  section: string,
  key: string,
  values: readonly T[],
  value: NoInfer<T>,
  about: string,
): Setting<T> {
  const parse = (given: string) => values.find(candidate => candidate === given)
  return setting({ section, key, default: value, about, parse, defaultText: value })
}

export function integer(
  section: string,
  key: string,
  value: number,
  least: number,
  about: string,
): Setting<number> {
  const parse = (given: string) => {
    const number = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN
    return number >= least ? number : undefined
  }
  return setting({ section, key, default: value, about, parse, defaultText: String(value) })
}

/** Addresses and subnets (`10.0.0.0/8`), with commas between them. */
export function addresses(section: string, key: string, about: string): Setting<readonly string[]> {
  const parse = (given: string) => {
    const list = given.split(',').flatMap(each => each.trim() || [])
    return list.every(isAddress) ? list : undefined
  }
  return setting({ section, key, default: [], about, parse, defaultText: '' })
}

function isAddress(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32))
}

export function integerOrInfinity(
  section: string,
  key: string,
  value: number,
  about: string,
): Setting<number> {
  const finite = integer(section, key, value, 0, about)
  const parse = (given: string) =>
    given === 'infinity' ? Number.POSITIVE_INFINITY : finite.parse(given)
  const defaultText = Number.isFinite(value) ? String(value) : 'infinity'
  return setting({ ...finite, parse, defaultText })
}
