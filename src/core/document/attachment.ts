/**
 * The attachments of a document: what is stored about each, as bytes, and what becomes of the list
 * when an edit comes. The contents themselves are elsewhere, under `contentId`, which says nothing
 * to us.
 *
 * A list as bytes is empty for no attachments, else format 1:
 *
 *     1  count:varint  entry*
 *     entry = name:text  contentType:text  flags:u8 (1 = gzip)  revpos:varint  length:varint
 *             encodedLength:varint (gzip only)  md5:16 bytes  contentId:run
 */
import { ByteReader, ByteWriter } from '../../base/bytes.ts'
import { Failure } from '../../base/errors.ts'
import type {
  FollowingAttachment,
  IncomingAttachment,
  InlineAttachment,
} from './incoming-attachment.ts'

export interface StoredAttachment {
  readonly name: string
  readonly contentType: string
  /** Pos of the revision that brought this content. */
  readonly revpos: number
  /** Of the stored bytes. */
  readonly md5: Buffer
  /** Of the plain content; the encoded length where nobody said. */
  readonly length: number
  /** Of the stored bytes. */
  readonly encodedLength: number
  readonly encoding: AttachmentEncoding
  readonly contentId: Buffer
}

export type AttachmentEncoding = 'identity' | 'gzip'

/** False for content that came as gzip from a client that did not say how long it is plain. */
export const isLengthKnown = ({ encoding, length, encodedLength }: StoredAttachment): boolean =>
  encoding === 'identity' || length !== encodedLength

export const DEFAULT_CONTENT_TYPE = 'application/octet-stream'

/** An entry of the new list: the parent's as it is, or one whose content comes with the edit. */
export type PlannedAttachment =
  | { readonly kind: 'kept'; readonly stored: StoredAttachment }
  | {
      readonly kind: 'new'
      readonly name: string
      readonly contentType: string
      readonly revpos: number
      readonly incoming: InlineAttachment | FollowingAttachment
    }

/**
 * The list of the new revision, in the order it is stored and hashed. `parent` is the list of the
 * revision that stubs refer to. Fails with `attachment_stub_missing` and, for a name that comes
 * twice, `request_invalid`.
 */
export function planAttachments(edit: {
  readonly documentId: string
  readonly incoming: readonly IncomingAttachment[]
  readonly parent: readonly StoredAttachment[]
  /** Pos that new contents get, unless the edit is replicated and says another. */
  readonly revpos: number
  readonly replicated: boolean
}): PlannedAttachment[] {
  const names = new Set<string>()
  return edit.incoming.map(incoming => {
    if (names.has(incoming.name)) {
      throw new Failure('request_invalid', { reason: 'Duplicate attachments' })
    }
    names.add(incoming.name)
    if (incoming.kind === 'stub') {
      return { kind: 'kept', stored: resolveStub(edit.documentId, incoming, edit.parent) }
    }
    const sent = edit.replicated ? incoming.revpos : undefined
    return {
      kind: 'new',
      name: incoming.name,
      contentType: incoming.contentType ?? DEFAULT_CONTENT_TYPE,
      revpos: sent !== undefined && sent > 0 ? sent : edit.revpos,
      incoming,
    }
  })
}

/**
 * What a stub stands for. A `revpos` must be that of the stored one; nothing else it says counts.
 */
export function resolveStub(
  documentId: string,
  stub: { readonly name: string; readonly revpos?: number },
  parent: readonly StoredAttachment[],
): StoredAttachment {
  const stored = findAttachment(parent, stub.name)
  if (stored === undefined || (stub.revpos !== undefined && stub.revpos !== stored.revpos)) {
    const reason = `Invalid attachment stub in ${documentId} for ${stub.name}`
    throw new Failure('attachment_stub_missing', { reason })
  }
  return stored
}

export const findAttachment = (
  list: readonly StoredAttachment[],
  name: string,
): StoredAttachment | undefined => list.find(attachment => attachment.name === name)

/**
 * The list after one attachment was written on its own: that one first, the others as they were.
 */
export const withAttachment = <T extends { readonly name: string }>(
  list: readonly T[],
  attachment: T,
): T[] => [attachment, ...list.filter(({ name }) => name !== attachment.name)]

/** The list without one. Fails with `attachment_missing`. */
export function withoutAttachment(
  list: readonly StoredAttachment[],
  name: string,
): StoredAttachment[] {
  const rest = list.filter(attachment => attachment.name !== name)
  if (rest.length === list.length) {
    throw new Failure('attachment_missing', { reason: 'Document is missing attachment' })
  }
  return rest
}

/** The `digest` member of what clients see. */
export const printDigest = (attachment: { readonly md5: Buffer }): string =>
  `md5-${attachment.md5.toString('base64')}`

const FORMAT = 1
const GZIP = 1
const MD5_BYTES = 16

export function encodeAttachments(list: readonly StoredAttachment[]): Buffer {
  if (list.length === 0) return Buffer.alloc(0)
  const writer = new ByteWriter(16 + list.length * 128).u8(FORMAT).varint(list.length)
  for (const attachment of list) {
    const isGzip = attachment.encoding === 'gzip'
    writer.text(attachment.name).text(attachment.contentType)
    writer.u8(isGzip ? GZIP : 0).varint(attachment.revpos)
    writer.varint(attachment.length)
    if (isGzip) writer.varint(attachment.encodedLength)
    writer.bytes(attachment.md5).run(attachment.contentId)
  }
  return writer.finish()
}

export function decodeAttachments(bytes: Buffer): StoredAttachment[] {
  if (bytes.length === 0) return []
  const reader = new ByteReader(bytes)
  if (reader.u8() !== FORMAT) {
    throw new Failure('storage_corrupt', { reason: 'unknown format of attachments' })
  }
  const list: StoredAttachment[] = []
  for (let count = reader.varint(); count > 0; count--) list.push(readAttachment(reader))
  return list
}

function readAttachment(reader: ByteReader): StoredAttachment {
  const name = reader.text()
  const contentType = reader.text()
  const isGzip = reader.u8() === GZIP
  const revpos = reader.varint()
  const length = reader.varint()
  const encodedLength = isGzip ? reader.varint() : length
  const encoding = isGzip ? 'gzip' : 'identity'
  const md5 = reader.bytes(MD5_BYTES)
  return {
    name,
    contentType,
    revpos,
    md5,
    length,
    encodedLength,
    encoding,
    contentId: reader.run(),
  }
}
