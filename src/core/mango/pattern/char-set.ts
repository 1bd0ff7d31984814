/**
 * A set of characters (code points) of a pattern, written as a native class with the `v` flag.
 *
 * Tests on ASCII are one table look-up; others ask the native engine about one character, which
 * takes constant time. Classes and shorthands are Unicode aware (`\w`, `[[:upper:]]` know É): our
 * reading of PCRE for UTF-8 text.
 */
export interface CharSet {
  /** The native class, usable inside another class. */
  readonly source: string
  readonly ignoreCase: boolean
  has(codePoint: number): boolean
}

export function makeCharSet(source: string, ignoreCase: boolean): CharSet {
  const native = new RegExp(`^${source}$`, ignoreCase ? 'vi' : 'v')
  const ascii = new Uint8Array(128)
  for (let code = 0; code < 128; code++)
    ascii[code] = native.test(String.fromCharCode(code)) ? 1 : 0
  const has = (codePoint: number) =>
    codePoint < 128 ? ascii[codePoint] === 1 : native.test(String.fromCodePoint(codePoint))
  return { source, ignoreCase, has }
}

/** One character as a member of a native class. */
export const charSource = (codePoint: number): string => `\\u{${codePoint.toString(16)}}`

/** `\d` and friends, by letter. Upper case letters are complements. */
export const SHORTHANDS: Readonly<Record<string, string>> = {
  d: '[\\p{Nd}]',
  D: '[^\\p{Nd}]',
  w: '[\\p{L}\\p{N}_]',
  W: '[^\\p{L}\\p{N}_]',
  s: '[\\p{Z}\\t\\n\\v\\f\\r\\x85]',
  S: '[^\\p{Z}\\t\\n\\v\\f\\r\\x85]',
  h: '[\\p{Zs}\\t\\u180e]',
  H: '[^\\p{Zs}\\t\\u180e]',
  v: '[\\n\\v\\f\\r\\x85\\u2028\\u2029]',
  V: '[^\\n\\v\\f\\r\\x85\\u2028\\u2029]',
  N: '[^\\n]',
}

export const POSIX_CLASSES: Readonly<Record<string, string>> = {
  alnum: '\\p{L}\\p{N}',
  alpha: '\\p{L}',
  ascii: '\\x00-\\x7f',
  blank: '\\p{Zs}\\t',
  cntrl: '\\p{Cc}',
  digit: '\\p{Nd}',
  graph: '\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}',
  lower: '\\p{Ll}',
  print: '\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Zs}\\p{Cf}\\p{Co}',
  punct: '\\p{P}\\x24\\x2b\\x3c\\x3d\\x3e\\x5e\\x60\\x7c\\x7e',
  space: '\\p{Z}\\t\\n\\v\\f\\r\\x85',
  upper: '\\p{Lu}',
  word: '\\p{L}\\p{N}_',
  xdigit: '0-9A-Fa-f',
}

const SPECIAL_PROPERTIES: Readonly<Record<string, string>> = {
  Any: '\\p{Any}',
  'L&': '\\p{Lu}\\p{Ll}\\p{Lt}',
  Xan: '\\p{L}\\p{N}',
  Xwd: '\\p{L}\\p{N}_',
  Xsp: '\\p{Z}\\t\\n\\v\\f\\r',
  Xps: '\\p{Z}\\t\\n\\v\\f\\r',
}

/**
 * The class of `\p{name}` (a general category or a script); undefined when there is none of that
 * name.
 */
export function propertySource(name: string, negated: boolean): string | undefined {
  const special = SPECIAL_PROPERTIES[name]
  const choices = special ? [special] : [`\\p{gc=${name}}`, `\\p{sc=${name}}`]
  for (const choice of choices) {
    const source = `[${negated ? '^' : ''}${choice}]`
    if (isNativeClass(source)) return source
  }
  return undefined
}

function isNativeClass(source: string): boolean {
  try {
    return new RegExp(source, 'v') !== null
  } catch {
    return false
  }
}
