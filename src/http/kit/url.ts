/**
 * Request targets: from the raw text of the request line to decoded path segments and a query.
 *
 * Promises: query and fragment are cut, empty segments are dropped, every segment is percent-decoded
 * exactly once, a `%` without two hex digits anywhere in the target is Failure('url_invalid').
 * Segments whose bytes are not UTF-8 are decoded with U+FFFD and reported by index, so that the caller
 * decides what it means. The query is parsed when it is first asked for.
 * Leaves to others: which host was meant, what the segments mean.
 */
import { Failure } from '../../base/errors.ts'

export interface UrlOptions {
  /** CouchDB's `decode_plus_to_space`: `+` in a path segment is a blank. */
  readonly plusIsSpace: boolean
  /** Longest request target, `Infinity` for no bound of our own. */
  readonly uriBytesMax: number
}

export interface ParsedUrl {
  /** The path as it came, without query, fragment, scheme and host. */
  readonly rawPath: string
  /** The text after `?`, without it; empty when there is none. */
  readonly rawQuery: string
  readonly segments: readonly string[]
  /** Index of the first segment that is not valid UTF-8, -1 when all are. */
  readonly invalidUtf8At: number
}

export const URL_DEFAULTS: UrlOptions = { plusIsSpace: true, uriBytesMax: Number.POSITIVE_INFINITY }

/** @param target the request target as node:http gives it: one character per byte */
export function parseUrl(target: string, options: UrlOptions = URL_DEFAULTS): ParsedUrl {
  if (target.length > options.uriBytesMax) {
    throw new Failure('url_too_long', { reason: 'the request uri is too long' })
  }
  if (target.includes('%')) checkPercents(target)
  const local = target.charCodeAt(0) === SLASH ? target : withoutOrigin(target)
  const hash = local.indexOf('#')
  const end = hash < 0 ? local.length : hash
  const mark = local.indexOf('?')
  const pathEnd = mark < 0 || mark > end ? end : mark
  const rawPath = pathEnd === local.length ? local : local.slice(0, pathEnd)
  const rawQuery = pathEnd === end ? '' : local.slice(pathEnd + 1, end)
  return { rawPath, rawQuery, ...splitPath(rawPath, options.plusIsSpace) }
}

const SLASH = 0x2f

/** `http://host/path` (absolute form, sent through proxies) -> `/path`. `*` and others stay. */
function withoutOrigin(target: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target)
  if (scheme === null) return target
  const rest = target.slice(scheme[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

function checkPercents(target: string): void {
  for (let at = target.indexOf('%'); at >= 0; at = target.indexOf('%', at + 3)) {
    if (!isHex(target.charCodeAt(at + 1)) || !isHex(target.charCodeAt(at + 2))) {
      throw new Failure('url_invalid', { reason: 'invalid_url_encoding' })
    }
  }
}

const isHex = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x46) || (code >= 0x61 && code <= 0x66)

function splitPath(path: string, plusIsSpace: boolean) {
  const segments: string[] = []
  let invalidUtf8At = -1
  let start = 0
  while (start <= path.length) {
    let end = path.indexOf('/', start)
    if (end < 0) end = path.length
    if (end > start) {
      const raw = path.slice(start, end)
      const decoded = decodePlain(raw, plusIsSpace)
      if (decoded === undefined && invalidUtf8At < 0) invalidUtf8At = segments.length
      segments.push(decoded ?? decodeBytes(raw, plusIsSpace).toString('utf8'))
    }
    start = end + 1
  }
  return { segments, invalidUtf8At }
}

const NEEDS_DECODING = /[%+\x80-\xff]/

/** The decoded text, undefined when the bytes are not UTF-8. Almost all segments need no work at all. */
function decodePlain(raw: string, plusIsSpace: boolean): string | undefined {
  if (!NEEDS_DECODING.test(raw)) return raw
  const bytes = decodeBytes(raw, plusIsSpace)
  const text = bytes.toString('utf8')
  return text.includes('\ufffd') && !bytes.equals(Buffer.from(text, 'utf8')) ? undefined : text
}

/** Percent-decodes to bytes. A `%` without hex digits stays: targets were checked, parts of bodies are not. */
function decodeBytes(raw: string, plusIsSpace: boolean): Buffer {
  const bytes = Buffer.from(raw, 'latin1')
  let to = 0
  for (let from = 0; from < bytes.length; from++, to++) {
    const byte = bytes[from] as number
    if (byte === 0x2b && plusIsSpace) bytes[to] = 0x20
    else if (byte === 0x25 && isHexAt(bytes, from)) {
      bytes[to] = hexValue(bytes[from + 1] as number) * 16 + hexValue(bytes[from + 2] as number)
      from += 2
    } else bytes[to] = byte
  }
  return bytes.subarray(0, to)
}

const isHexAt = (bytes: Buffer, at: number): boolean =>
  at + 2 < bytes.length && isHex(bytes[at + 1] as number) && isHex(bytes[at + 2] as number)

/** Of a digit or a letter of either case: the low bits of letters count from one. */
const hexValue = (code: number): number => (code <= 0x39 ? code - 0x30 : (code & 7) + 9)

/** `a=b&c=d` pairs in order. Also reads form bodies (`application/x-www-form-urlencoded`). */
export class Query {
  readonly raw: string
  #pairs: readonly (readonly [string, string])[] | undefined

  constructor(raw: string) {
    this.raw = raw
  }

  /** The first value of the name; CouchDB's rule wherever a single value is looked up. */
  get(name: string): string | undefined {
    return this.raw === '' ? undefined : this.all().find(pair => pair[0] === name)?.[1]
  }

  /** The last value of the name; CouchDB's rule in the parameters of views. */
  last(name: string): string | undefined {
    return this.raw === '' ? undefined : this.all().findLast(pair => pair[0] === name)?.[1]
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  all(): readonly (readonly [string, string])[] {
    this.#pairs ??= this.raw === '' ? [] : parsePairs(this.raw)
    return this.#pairs
  }
}

function parsePairs(raw: string): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = []
  for (const pair of raw.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = equals < 0 ? pair : pair.slice(0, equals)
    pairs.push([decodeQueryPart(name), equals < 0 ? '' : decodeQueryPart(pair.slice(equals + 1))])
  }
  return pairs
}

/** Bytes that are not UTF-8 become U+FFFD: a value like that cannot match anything stored. */
const decodeQueryPart = (raw: string): string =>
  NEEDS_DECODING.test(raw) ? decodeBytes(raw, true).toString('utf8') : raw
