/**
 * Entries of `_attachments` as clients send them: inline data, stubs that stand for what the parent
 * revision has, and `follows`, whose bytes come in a later part of the request. Inline data is
 * decoded here; what becomes of each kind is in `attachment.ts`.
 */
import { Failure } from '../../base/errors.ts'
import type { JsonScanner } from '../../base/json/scan.ts'

interface Described {
  readonly name: string
  /** Absent: the client named none. */
  readonly contentType?: string
  /** As sent. It counts for stubs and replicated writes only. */
  readonly revpos?: number
}

export type IncomingAttachment = InlineAttachment | StubAttachment | FollowingAttachment

export interface InlineAttachment extends Described {
  readonly kind: 'inline'
  readonly data: Buffer
}

export interface StubAttachment extends Described {
  readonly kind: 'stub'
}

export interface FollowingAttachment extends Described {
  readonly kind: 'follows'
  /** Bytes that will come: `encoded_length` if there is an encoding, else `length`. */
  readonly length?: number
  /** Of the plain content, when it comes encoded and the client says. */
  readonly plainLength?: number
  readonly encoding: string
  /** MD5 the content must have, from `digest: "md5-…"`. */
  readonly md5?: Buffer
}

/**
 * At the `{` of `_attachments`. Entries that are no objects are skipped. All of the JSON is read
 * before a complaint is thrown.
 */
export function readAttachments(scanner: JsonScanner): IncomingAttachment[] {
  const attachments: IncomingAttachment[] = []
  let failure: Failure | undefined
  eachMember(scanner, name => {
    if (scanner.bytes[scanner.at] !== 0x7b) {
      scanner.value()
      return
    }
    const attachment = readAttachment(scanner, name)
    if (attachment instanceof Failure) failure ??= attachment
    else attachments.push(attachment)
  })
  if (failure !== undefined) throw failure
  return attachments
}

interface Fields {
  data?: Buffer | undefined
  [name: string]: unknown
}

function readAttachment(scanner: JsonScanner, name: string): IncomingAttachment | Failure {
  const fields: Fields = Object.create(null)
  eachMember(scanner, member => {
    const { term, bytes, at } = scanner
    const head = term.at
    const isText = bytes[at] === 0x22
    scanner.value()
    if (member === 'data') {
      if (isText) fields.data = decodeBase64(term.bytes, head + 5, term.at)
    } else if (FIELDS.has(member))
      fields[member] = JSON.parse(bytes.toString('utf8', at, scanner.at))
    term.at = head
  })
  return attachmentFrom(name, fields)
}

const FIELDS = new Set([
  'content_type',
  'stub',
  'follows',
  'revpos',
  'length',
  'encoded_length',
  'encoding',
  'digest',
])

function attachmentFrom(name: string, fields: Fields): IncomingAttachment | Failure {
  const described = {
    name,
    ...(typeof fields.content_type === 'string' ? { contentType: fields.content_type } : {}),
    ...(Number.isSafeInteger(fields.revpos) ? { revpos: fields.revpos as number } : {}),
  }
  if (fields.stub === true) return { ...described, kind: 'stub' }
  if (fields.follows === true) return { ...described, kind: 'follows', ...followingFrom(fields) }
  if (fields.data !== undefined) return { ...described, kind: 'inline', data: fields.data }
  return new Failure('request_invalid', { reason: `Invalid attachment data for ${name}` })
}

function followingFrom(fields: Fields) {
  const plain = lengthOf(fields.length)
  const encoded = typeof fields.encoding === 'string'
  const length = encoded ? (lengthOf(fields.encoded_length) ?? plain) : plain
  const md5 = typeof fields.digest === 'string' ? parseDigest(fields.digest) : undefined
  return {
    encoding: encoded ? (fields.encoding as string) : 'identity',
    ...(length === undefined ? {} : { length }),
    ...(encoded && plain !== undefined ? { plainLength: plain } : {}),
    ...(md5 === undefined ? {} : { md5 }),
  }
}

const lengthOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined

/** The bytes of `md5-<base64>`; undefined when it is none. */
export function parseDigest(digest: string): Buffer | undefined {
  if (!digest.startsWith('md5-')) return undefined
  const md5 = Buffer.from(digest.slice(4), 'base64')
  return md5.length === 16 ? md5 : undefined
}

/**
 * The object at hand, one member after the other; `visit` must consume the value. Nothing stays in
 * the term.
 */
function eachMember(scanner: JsonScanner, visit: (name: string) => void): void {
  const { term } = scanner
  const object = scanner.nextObject()
  const mark = term.at
  scanner.expect(0x7b)
  if (scanner.peek() !== 0x7d) {
    for (;;) {
      const key = scanner.pairHead() + 5
      scanner.addKey(object, key, term.at)
      const end = term.at
      visit(term.bytes.toString('utf8', key, end))
      // the keys stay, for the table of keys refers to them
      term.at = end
      if (scanner.peek() !== 0x2c) break
      scanner.expect(0x2c)
    }
  }
  if (scanner.bytes[scanner.at] !== 0x7d) throw scanner.invalid()
  scanner.at++
  term.at = mark
}

/**
 * Strict, but blanks between the digits are skipped as CouchDB does; undefined when it is not
 * base64.
 */
export function decodeBase64(bytes: Buffer, start: number, end: number): Buffer | undefined {
  let digits = 0
  let padding = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte === 0x3d) padding++
    else if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue
    else if (padding > 0 || !isBase64(byte)) return undefined
    else digits++
  }
  if (padding > 2 || (digits + padding) % 4 !== 0) return undefined
  return Buffer.from(bytes.toString('latin1', start, end), 'base64')
}

const isBase64 = (byte: number): boolean =>
  (byte >= 0x41 && byte <= 0x5a) ||
  (byte >= 0x61 && byte <= 0x7a) ||
  (byte >= 0x30 && byte <= 0x39) ||
  byte === 0x2b ||
  byte === 0x2f
