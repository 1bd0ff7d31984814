/**
 * Prints a JSON value the way CouchDB's messages do: as an Erlang term.
 *
 * Only for the text of reasons. `printTerm` shows strings as byte lists (`<<97,98>>`),
 * `printTermReadably` as text. The result is cut at a bound, because the value comes from a client
 * and may be megabytes.
 */
import { isJsonArray, isJsonObject, type JsonValue } from './json-value.ts'

const TERM_CHARS_MAX = 1000

export const printTerm = (value: JsonValue): string => print(value, bytesText)
export const printTermReadably = (value: JsonValue): string => print(value, quotedText)

function print(value: JsonValue, text: (value: string) => string): string {
  const out: string[] = []
  let chars = 0
  const put = (piece: string) => {
    out.push(piece)
    chars += piece.length
    return chars <= TERM_CHARS_MAX
  }
  write(value, text, put)
  const whole = out.join('')
  return whole.length > TERM_CHARS_MAX ? `${whole.slice(0, TERM_CHARS_MAX)}...` : whole
}

/** Answers false once the bound is reached, which ends the walk. */
function write(
  value: JsonValue,
  text: (value: string) => string,
  put: (piece: string) => boolean,
): boolean {
  if (typeof value === 'string') return put(text(value.slice(0, TERM_CHARS_MAX)))
  if (isJsonArray(value)) {
    if (!put('[')) return false
    for (const [at, item] of value.entries()) {
      if (at > 0) put(',')
      if (!write(item, text, put)) return false
    }
    return put(']')
  }
  if (!isJsonObject(value)) return put(numberText(value))
  if (!put('{[')) return false
  for (const [at, [name, item]] of Object.entries(value).entries()) {
    put(`${at > 0 ? ',' : ''}{${text(name)},`)
    if (!write(item, text, put)) return false
    put('}')
  }
  return put(']}')
}

/** Floats always show a fraction in that notation, before an exponent too. */
function numberText(value: number | boolean | null): string {
  const shown = String(value)
  if (typeof value !== 'number' || Number.isInteger(value) || shown.includes('.')) return shown
  return shown.replace('e', '.0e')
}

const bytesText = (value: string) => `<<${[...Buffer.from(value)].join(',')}>>`
const quotedText = (value: string) => `<<${JSON.stringify(value)}>>`
