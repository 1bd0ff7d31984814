/**
 * Writes multipart bodies: related (a document and its attachments), mixed (several revisions), byteranges.
 *
 * Bytes: `--B`, then for each part CRLF, its headers, an empty line, its body, CRLF and `--B`; at the end `--`.
 * Promises: exactly these bytes, at the client's pace, one piece of a part at a time; the length is known
 * before the first byte where those of all parts are. Leaves to others: what the parts hold.
 */
import { randomBytes } from 'node:crypto'

export interface OutgoingPart {
  /** Flat list: name, value, name, value ... in the order in which they are sent. */
  readonly headers: readonly string[]
  readonly body: Buffer | AsyncIterable<Buffer>
  /** Needed for streams when the length of the whole is wanted. */
  readonly lengthBytes?: number
}

/** An attachment as multipart/related sends it: in its stored form. */
export interface OutgoingAttachment {
  readonly name: string
  readonly contentType: string
  /** Of the bytes that are sent. */
  readonly lengthBytes: number
  readonly encoding?: 'gzip'
  readonly body: Buffer | AsyncIterable<Buffer>
}

export interface OutgoingMultipart {
  readonly contentType: string
  readonly lengthBytes: number
  readonly body: AsyncIterable<Buffer>
}

export const newBoundary = (): string => randomBytes(16).toString('hex')

export function multipartRelated(
  json: Buffer,
  attachments: readonly OutgoingAttachment[],
  boundary = newBoundary(),
): OutgoingMultipart {
  const document = { headers: ['Content-Type', 'application/json'], body: json }
  const parts = [document, ...attachments.map(attachmentPart)]
  return {
    contentType: `multipart/related; boundary="${boundary}"`,
    lengthBytes: multipartLength(boundary, parts),
    body: writeMultipart(boundary, parts),
  }
}

function attachmentPart(attachment: OutgoingAttachment): OutgoingPart {
  const { name, contentType, lengthBytes, encoding, body } = attachment
  return {
    headers: [
      'Content-Disposition',
      `attachment; filename="${escapeName(name)}"`,
      'Content-Type',
      contentType,
      'Content-Length',
      String(lengthBytes),
      ...(encoding === undefined ? [] : ['Content-Encoding', encoding]),
    ],
    body,
    lengthBytes,
  }
}

/** A quote or a line break in a name must not end the header. Readers take parts in order, not by name. */
const escapeName = (name: string): string =>
  name.replace(/["\\\x00-\x1f\x7f]/g, char => encodeURIComponent(char))

/** How many bytes `writeMultipart` will give. All parts must tell their length. */
export function multipartLength(boundary: string, parts: readonly OutgoingPart[]): number {
  const delimiterBytes = Buffer.byteLength(boundary) + 2
  let size = delimiterBytes + 2
  for (const part of parts) {
    const bodyBytes = Buffer.isBuffer(part.body)
      ? part.body.length
      : (part.lengthBytes ?? Number.NaN)
    size += Buffer.byteLength(headOf(part)) + bodyBytes + 2 + delimiterBytes
  }
  return size
}

/** The body. Parts may come from a stream: revisions are read one after the other. */
export async function* writeMultipart(
  boundary: string,
  parts: Iterable<OutgoingPart> | AsyncIterable<OutgoingPart>,
): AsyncGenerator<Buffer, void, undefined> {
  yield Buffer.from(`--${boundary}`)
  const delimiter = Buffer.from(`\r\n--${boundary}`)
  for await (const part of parts) {
    yield Buffer.from(headOf(part))
    if (Buffer.isBuffer(part.body)) yield part.body
    else yield* part.body
    yield delimiter
  }
  yield Buffer.from('--')
}

function headOf(part: OutgoingPart): string {
  let head = '\r\n'
  for (let at = 0; at + 1 < part.headers.length; at += 2) {
    head += `${part.headers[at]}: ${part.headers[at + 1]}\r\n`
  }
  return `${head}\r\n`
}
