/**
 * The double that a JSON number with a fraction or an exponent stands for, as CouchDB reads it: the nearest one, except
 * that a whole number with an exponent too small for a normal double (`5e-324`) is multiplied out, `5 * 10^-324`, and so
 * may become zero earlier. Revision ids depend on it. Infinity where the number is too large.
 */
export function readDouble(text: string): number {
  const value = Number(text)
  if (value >= SMALLEST_NORMAL || value <= -SMALLEST_NORMAL || text.includes('.')) return value
  const exponent = text.search(/[eE]/)
  if (exponent < 0) return value
  return Number(text.slice(0, exponent)) * 10 ** Number(text.slice(exponent + 1))
}

const SMALLEST_NORMAL = 2.2250738585072014e-308
