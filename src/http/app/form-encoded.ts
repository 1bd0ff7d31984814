/**
 * Bodies as forms of web pages send them: flat names and values. The bytes of values are in the charset that the request
 * names; what is not right in it reads as replacement characters, so that a message with odd bytes is kept all the same.
 */
import { TextDecoder } from 'node:util'
import { Failure } from '../../base/errors.ts'

export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** More are not looked at. */
const FIELDS_MAX = 1000

/** The first value of each name. Fails with `content_type_unsupported` for a charset that nobody knows. */
export function parseFormEncoded(bytes: Buffer, contentType: string): ReadonlyMap<string, string> {
  const decoder = decoderFor(contentType)
  const decode = (text: string): string => decoder.decode(unescaped(text))
  const fields = new Map<string, string>()
  for (const pair of bytes.toString('latin1').split('&', FIELDS_MAX)) {
    const [, name = '', value = ''] = /^([^=]*)=?([\s\S]*)$/.exec(pair) ?? []
    if (name === '') continue
    const decoded = decode(name)
    if (!fields.has(decoded)) fields.set(decoded, decode(value))
  }
  return fields
}

/** @param text a character for each byte */
function unescaped(text: string): Buffer {
  const bytes = text
    .replaceAll('+', ' ')
    .replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1')
}

/** @param contentType with its parameters */
function decoderFor(contentType: string): TextDecoder {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)"?/i.exec(contentType)?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(charset, { ignoreBOM: true })
  } catch (thrown) {
    const reason = `unsupported charset "${charset.toUpperCase()}"`
    throw new Failure('content_type_unsupported', { reason }, thrown)
  }
}
