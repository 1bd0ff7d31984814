/**
 * How a double looks as JSON text here: the shortest digits that read back as the same number,
 * always with a fraction or an exponent, so that a reader can tell it from an integer. Minus zero
 * prints as `0.0`.
 */
export function printDouble(value: number): string {
  const text = String(value)
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x2e || code === 0x65) return text
  }
  return `${text}.0`
}
