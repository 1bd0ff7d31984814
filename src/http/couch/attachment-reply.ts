/**
 * An attachment on its way out: conditional headers, packed or plain, whole or in ranges.
 *
 * What is stored packed goes out packed to those who take that, else it is unpacked on the way. Ranges are of the plain
 * content.
 */
import { Failure } from '../../base/errors.ts'
import { isLengthKnown, type StoredAttachment } from '../../core/document/attachment.ts'
import { parseRevision, type Revision } from '../../core/document/revision.ts'
import { matchesEtag, notModifiedReply, quoteEtag } from '../kit/conditional.ts'
import { multipartLength, newBoundary, writeMultipart } from '../kit/multipart-writer.ts'
import { type ByteRange, parseRanges } from '../kit/ranges.ts'
import type { Reply } from '../kit/reply.ts'
import type { HttpRequest } from '../kit/request.ts'
import type { Exchange } from './exchange.ts'

export async function attachmentReply(
  exchange: Exchange,
  id: string,
  name: string,
): Promise<Reply> {
  const { request, database } = exchange
  const { attachment } = await database.readAttachment(id, name, wantedRevision(exchange))
  const etag = quoteEtag(attachment.md5.toString('base64'))
  checkIfMatch(exchange, etag)
  const unchanged = notModifiedReply(request, etag)
  if (unchanged !== undefined) return unchanged
  const isPacked = attachment.encoding === 'gzip'
  const headers = [
    'ETag',
    etag,
    'Accept-Ranges',
    isPacked ? 'none' : 'bytes',
    'Content-Security-Policy',
    'sandbox',
  ]
  const ranges = await wantedRanges(exchange, attachment)
  if (ranges !== undefined) return rangesReply(exchange, attachment, ranges, headers)
  headers.push('Content-Type', attachment.contentType)
  const isHead = request.method === 'HEAD'
  if (isPacked && acceptsGzip(request)) {
    headers.push('Content-Encoding', 'gzip')
    const lengthBytes = attachment.encodedLength
    const whole = isHead ? undefined : await database.storedWhole(attachment)
    return { status: 200, headers, body: whole ?? database.storedBytes(attachment), lengthBytes }
  }
  const whole = isHead ? undefined : await database.plainWhole(attachment)
  const body = whole ?? database.plainBytes(attachment)
  if (!isLengthKnown(attachment)) return { status: 200, headers, body }
  return { status: 200, headers, body, lengthBytes: attachment.length }
}

/** `rev`, or where the dialect says so an `If-Match` that names a revision. */
function wantedRevision({ request, dialect }: Exchange): Revision | undefined {
  const text = request.query.get('rev')
  if (text !== undefined) return parseRevision(text)
  const ifMatch = dialect.attachmentIfMatch ? revisionInIfMatch(request) : undefined
  return ifMatch === undefined ? undefined : parseRevision(ifMatch)
}

const revisionInIfMatch = (request: HttpRequest): string | undefined =>
  /^\s*"?(\d+-[^"\s,]+)"?\s*$/.exec(request.header('if-match') ?? '')?.[1]

/** An `If-Match` that names no revision must name the content at hand. */
function checkIfMatch({ request, dialect }: Exchange, etag: string): void {
  const header = request.header('if-match')
  if (!dialect.attachmentIfMatch || header === undefined || header.trim() === '*') return
  if (revisionInIfMatch(request) !== undefined || matchesEtag(header, etag)) return
  throw new Failure('precondition_failed')
}

/** `gzip` or a wildcard, unless with `q=0`. */
export function acceptsGzip(request: HttpRequest): boolean {
  const items = (request.header('accept-encoding') ?? '').toLowerCase().split(',')
  for (const coding of ['gzip', 'x-gzip', '*']) {
    const item = items.find(text => text.split(';')[0]?.trim() === coding)
    if (item !== undefined) return !/;\s*q\s*=\s*0(\.0*)?\s*$/.test(item)
  }
  return false
}

async function wantedRanges(
  { request, database, dialect }: Exchange,
  attachment: StoredAttachment,
): Promise<{ list: readonly ByteRange[]; lengthBytes: number } | undefined> {
  const header = request.header('range')
  const isPacked = attachment.encoding === 'gzip'
  if (header === undefined || (isPacked && !dialect.rangesOnCompressed)) return undefined
  const lengthBytes = await database.plainLength(attachment)
  const list = parseRanges(header, lengthBytes)
  return list === undefined ? undefined : { list, lengthBytes }
}

function rangesReply(
  { database }: Exchange,
  attachment: StoredAttachment,
  { list, lengthBytes }: { list: readonly ByteRange[]; lengthBytes: number },
  headers: readonly string[],
): Reply {
  const parts = list.map(({ first, last }) => ({
    headers: [
      'Content-Type',
      attachment.contentType,
      'Content-Range',
      `bytes ${first}-${last}/${lengthBytes}`,
    ],
    body: database.plainBytes(attachment, { start: first, end: last + 1 }),
    lengthBytes: last - first + 1,
  }))
  const [only] = parts
  if (only !== undefined && parts.length === 1) {
    const { body, lengthBytes } = only
    return { status: 206, headers: [...headers, ...only.headers], body, lengthBytes }
  }
  const boundary = newBoundary()
  const type = ['Content-Type', `multipart/byteranges; boundary="${boundary}"`]
  return {
    status: 206,
    headers: [...headers, ...type],
    body: writeMultipart(boundary, parts),
    lengthBytes: multipartLength(boundary, parts),
  }
}
