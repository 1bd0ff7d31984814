/**
 * Takes in the attachments that came with an edit, before its commit: compresses what is compressible with CouchDB's
 * bytes, streams what is large into the store, checks sizes, lengths and digests. What comes out goes to
 * `writeDocuments`, which also discards the uploads of edits that fail.
 *
 * Compression is plain JavaScript. It goes piece by piece, one piece in a turn of the event loop however many
 * attachments come at once, so that other requests wait for one piece at the most.
 */
import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Failure } from '../../base/errors.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { SETTINGS } from '../configuration/settings.ts'
import {
  CHUNK_BYTES,
  discardUpload,
  INLINE_BYTES_MAX,
  inlineContent,
  type UploadedContent,
  uploadContent,
} from '../database/attachment-contents.ts'
import type { Database } from '../database/database.ts'
import type { EditAttachment } from '../database/edit-attachments.ts'
import { type AttachmentEncoding, DEFAULT_CONTENT_TYPE } from '../document/attachment.ts'
import { compressibleTypes, GzipCompressor, gzip } from '../document/attachment-compression.ts'
import type {
  FollowingAttachment,
  IncomingAttachment,
  InlineAttachment,
} from '../document/incoming-attachment.ts'

/** What the configuration says about attachments. */
export interface AttachmentPolicy {
  readonly bytesMax: number
  /** 0: nothing is compressed. */
  readonly compressionLevel: number
  readonly isCompressible: (contentType: string) => boolean
  readonly turns: Turns
}

/** Hands out turns of the event loop, one each, in the order they were asked for. */
export class Turns {
  #last: Promise<void> = Promise.resolve()

  next(): Promise<void> {
    this.#last = this.#last.then(() => nextTurn())
    return this.#last
  }
}

/** The bodies of a request that come after its document, in order. Undefined after the last. */
export interface FollowingParts {
  next(): Promise<AsyncIterable<Buffer> | undefined>
}

/** One attachment on its own, as it comes over the wire. */
export interface AttachmentUpload {
  readonly name: string
  readonly contentType: string
  /** `gzip`: it is stored as it comes. */
  readonly encoding: AttachmentEncoding
  readonly bytes: AsyncIterable<Buffer>
  /** How many will come, where the sender says. */
  readonly lengthBytes?: number | undefined
  /** MD5 that the bytes must have. */
  readonly md5?: Buffer | undefined
}

export type NewAttachment = EditAttachment & { readonly kind: 'new' }

export interface PreparingParts {
  readonly database: Database
  readonly policy: AttachmentPolicy
  readonly clock: () => number
}

/** The policy as the configuration has it; made anew when the configuration changes. */
export function attachmentPolicyOf(configuration: Configuration): () => AttachmentPolicy {
  let current: AttachmentPolicy | undefined
  const turns = new Turns()
  configuration.onChange(() => {
    current = undefined
  })
  return () => {
    current ??= {
      bytesMax: configuration.get(SETTINGS.maxAttachmentSize),
      compressionLevel: configuration.get(SETTINGS.compressionLevel),
      isCompressible: compressibleTypes(configuration.get(SETTINGS.compressibleTypes)),
      turns,
    }
    return current
  }
}

/** In the order given. Nothing stays behind when it fails. */
export async function prepareAttachments(
  parts: PreparingParts,
  incoming: readonly IncomingAttachment[],
  following?: FollowingParts,
): Promise<EditAttachment[]> {
  const prepared: EditAttachment[] = []
  const room = new InlineRoom()
  try {
    for (const attachment of incoming) {
      const each = await prepareOne({ ...parts, room }, attachment, following)
      room.take(each)
      prepared.push(each)
    }
    return prepared
  } catch (thrown) {
    await discardAttachments(parts.database, prepared)
    throw thrown
  }
}

/** Removes what was uploaded for edits that will not be written. Contents that a commit claimed stay. */
export async function discardAttachments(
  database: Database,
  attachments: readonly EditAttachment[],
): Promise<void> {
  for (const attachment of attachments) {
    if (attachment.kind === 'new') await discardUpload(database.store, attachment.content)
  }
}

/** Fails with `attachment_too_large` and `digest_mismatch`. */
export const uploadAttachment = (
  parts: PreparingParts,
  upload: AttachmentUpload,
): Promise<NewAttachment> => uploadInto(parts, upload, ALONE_INLINE_BYTES_MAX)

/** A whole MiB: one transaction and one flush of the disk less for most uploads. */
const ALONE_INLINE_BYTES_MAX = 17 * CHUNK_BYTES

/** What may ride in the commit of one document, so that however many attachments it has the commit stays small. */
class InlineRoom {
  #leftBytes = ALONE_INLINE_BYTES_MAX

  get bytesMax(): number {
    return Math.min(INLINE_BYTES_MAX, this.#leftBytes)
  }

  take(attachment: EditAttachment): void {
    if (attachment.kind === 'new') this.#leftBytes -= attachment.content.inline?.length ?? 0
  }
}

interface DocumentParts extends PreparingParts {
  readonly room: InlineRoom
}

async function uploadInto(
  parts: PreparingParts,
  upload: AttachmentUpload,
  inlineBytesMax: number,
): Promise<NewAttachment> {
  const { name, contentType, md5, lengthBytes = 0 } = upload
  if (lengthBytes > parts.policy.bytesMax) throw tooLarge(name)
  const received = new Received(name, parts.policy.bytesMax, md5)
  const plain = received.checked(upload.bytes)
  const packs = upload.encoding === 'identity' && isCompressed(parts.policy, contentType)
  const stored = packs ? compressed(plain, parts.policy) : plain
  const { store } = parts.database
  const content = await uploadContent(store, stored, parts.clock, inlineBytesMax)
  const encoding = packs ? 'gzip' : upload.encoding
  return { kind: 'new', name, contentType, encoding, length: received.bytes, content }
}

function prepareOne(
  parts: DocumentParts,
  attachment: IncomingAttachment,
  following: FollowingParts | undefined,
): EditAttachment | Promise<EditAttachment> {
  switch (attachment.kind) {
    case 'stub':
      return attachment
    case 'inline':
      return prepareInline(parts, attachment)
    case 'follows':
      return prepareFollowing(parts, attachment, following)
  }
}

const isCompressed = (policy: AttachmentPolicy, contentType: string): boolean =>
  policy.compressionLevel > 0 && policy.isCompressible(contentType)

async function prepareInline(
  parts: DocumentParts,
  { name, contentType = DEFAULT_CONTENT_TYPE, revpos, data }: InlineAttachment,
): Promise<NewAttachment> {
  const { policy } = parts
  if (data.length > policy.bytesMax) throw tooLarge(name)
  const packs = isCompressed(policy, contentType)
  const content = packs ? await packedContent(parts, data) : await contentOf(parts, data)
  const encoding = packs ? 'gzip' : 'identity'
  return { kind: 'new', name, contentType, revpos, encoding, length: data.length, content }
}

async function packedContent(parts: DocumentParts, data: Buffer): Promise<UploadedContent> {
  const { policy, room, database, clock } = parts
  if (data.length <= PIECE_BYTES) {
    // a bulk write brings thousands of them
    await policy.turns.next()
    return contentOf(parts, gzip(data, policy.compressionLevel))
  }
  return uploadContent(database.store, compressed([data], policy), clock, room.bytesMax)
}

function contentOf(
  { room, database, clock }: DocumentParts,
  bytes: Buffer,
): UploadedContent | Promise<UploadedContent> {
  if (bytes.length <= room.bytesMax) return inlineContent(bytes)
  return uploadContent(database.store, [bytes], clock, room.bytesMax)
}

async function prepareFollowing(
  parts: DocumentParts,
  attachment: FollowingAttachment,
  following: FollowingParts | undefined,
): Promise<NewAttachment> {
  const { name, contentType = DEFAULT_CONTENT_TYPE, revpos, length, md5 } = attachment
  if (attachment.encoding !== 'identity' && attachment.encoding !== 'gzip') {
    throw new Failure('content_encoding_unsupported', {
      reason: 'Only gzip and identity content-encodings are supported',
    })
  }
  if (length !== undefined && length > parts.policy.bytesMax) throw tooLarge(name)
  const part = await following?.next()
  if (part === undefined) throw shorter()
  const { encoding } = attachment
  const bytes = length === undefined ? part : ofLength(part, length)
  const upload: AttachmentUpload = { name, contentType, encoding, bytes, md5 }
  const uploaded = await uploadInto(parts, upload, parts.room.bytesMax)
  const plainLength = attachment.plainLength ?? uploaded.length
  return { ...uploaded, revpos, length: encoding === 'gzip' ? plainLength : uploaded.length }
}

async function* ofLength(
  source: AsyncIterable<Buffer>,
  length: number,
): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0
  for await (const piece of source) {
    bytes += piece.length
    if (bytes > length) throw invalid('attachment longer than expected')
    yield piece
  }
  if (bytes < length) throw shorter()
}

/** Counts and checks what a client sends. */
class Received {
  readonly #name: string
  readonly #bytesMax: number
  readonly #md5: Buffer | undefined
  bytes = 0

  constructor(name: string, bytesMax: number, md5: Buffer | undefined) {
    this.#name = name
    this.#bytesMax = bytesMax
    this.#md5 = md5
  }

  async *checked(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
    const hash = this.#md5 === undefined ? undefined : createHash('md5')
    for await (const piece of source) {
      this.bytes += piece.length
      if (this.bytes > this.#bytesMax) throw tooLarge(this.#name)
      hash?.update(piece)
      yield piece
    }
    if (hash !== undefined && !hash.digest().equals(this.#md5 as Buffer)) {
      throw new Failure('digest_mismatch')
    }
  }
}

/** About 4 ms of compressing. */
const PIECE_BYTES = 32_768

async function* compressed(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
  { compressionLevel, turns }: AttachmentPolicy,
): AsyncGenerator<Buffer, void, undefined> {
  const compressor = new GzipCompressor(compressionLevel)
  let unrestedBytes = PIECE_BYTES
  for await (const bytes of source) {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES)
      unrestedBytes += piece.length
      if (unrestedBytes > PIECE_BYTES) {
        await turns.next()
        unrestedBytes = piece.length
      }
      yield* compressor.push(piece)
    }
  }
  yield* compressor.finish()
}

const tooLarge = (name: string): Failure => new Failure('attachment_too_large', { reason: name })
const shorter = (): Failure => invalid('attachment shorter than expected')
const invalid = (reason: string): Failure => new Failure('request_invalid', { reason })
