/** Which browser a user agent's text names. The text is full of other browsers' names, so the order matters. */
export interface Browser {
  readonly name?: string
  readonly version?: string
}

const BROWSERS: readonly (readonly [string, RegExp])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\/([\d.]+)/],
  ['Opera', /\b(?:OPR|Opera|OPT)\/([\d.]+)/],
  ['Samsung Internet for Android', /\bSamsungBrowser\/([\d.]+)/],
  ['UC Browser', /\bUCBrowser\/([\d.]+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/([\d.]+)/],
  ['Chrome', /\b(?:Chrome|CriOS)\/([\d.]+)/],
  ['Chromium', /\bChromium\/([\d.]+)/],
  ['Safari', /\bVersion\/([\d.]+).*\bSafari\//],
  ['Android Browser', /\bAndroid\b.*\bVersion\/([\d.]+)/],
  ['Internet Explorer', /\b(?:MSIE |Trident\/.*\brv:)([\d.]+)/],
]

const LENGTH_MAX = 1000

/** Empty where none is known. */
export function browserOf(userAgent: unknown): Browser {
  if (typeof userAgent !== 'string') return {}
  const text = userAgent.slice(0, LENGTH_MAX)
  for (const [name, pattern] of BROWSERS) {
    const version = pattern.exec(text)?.[1]
    if (version !== undefined) return { name, version }
  }
  return {}
}
