/**
 * Reads `Authorization: Basic <base64 of name:password>`.
 *
 * Says only what was sent; whether it is right is decided in `authenticate.ts`. No colon, and the
 * pair `_:_` (which browsers send to log out), count as no credentials. Bytes that are no UTF-8 are
 * read as Latin-1, which older clients send.
 */
import { Failure } from '../../base/errors.ts'

export interface NameAndPassword {
  readonly name: string
  readonly password: string
}

/** Read the same way whatever the encoding. */
const ASCII = /^[ -~]*$/
const SCHEME = /^basic /i
const BASIC = /^basic +(.*)$/is
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Whether a header is for this mechanism at all. */
export const isBasic = (authorization: string): boolean => SCHEME.test(authorization)

export function readBasic(authorization: string | undefined): NameAndPassword | undefined {
  const encoded = authorization === undefined ? undefined : BASIC.exec(authorization)?.[1]
  if (encoded === undefined) return undefined
  const base64 = BASE64.test(encoded) ? encoded : withoutBlanks(encoded)
  const text = decodeText(Buffer.from(base64, 'base64'))
  const colon = text.indexOf(':')
  if (colon < 0 || text === '_:_') return undefined
  return { name: text.slice(0, colon), password: text.slice(colon + 1) }
}

function withoutBlanks(encoded: string): string {
  const base64 = encoded.replace(/\s+/g, '')
  if (BASE64.test(base64)) return base64
  throw new Failure('request_invalid', { reason: 'Authorization header has invalid base64 value' })
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeText(bytes: Buffer): string {
  const latin1 = bytes.toString('latin1')
  if (ASCII.test(latin1)) return latin1
  try {
    return utf8.decode(bytes)
  } catch {
    return latin1
  }
}
