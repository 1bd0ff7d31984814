/** The kinds of settings: how each is read from an ini file, and what it takes for wrong. */
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
