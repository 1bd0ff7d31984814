/**
 * Reading attachments: which one a revision has, and its bytes, as they are stored or decoded on the way. Bytes come
 * at the reader's pace and are never whole in memory, but for small ones that are asked for whole.
 */
import { createGunzip, gunzipSync } from 'node:zlib'
import { Failure, isFailure } from '../../base/errors.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import type { Steps } from '../../engine/engine.ts'
import {
  type ContentRecord,
  decodeContent,
  findContent,
  readContent,
  readWhole,
} from '../database/attachment-contents.ts'
import type { Database } from '../database/database.ts'
import { contentKey } from '../database/keyspace.ts'
import { findAttachment, isLengthKnown, type StoredAttachment } from '../document/attachment.ts'
import type { Revision } from '../document/revision.ts'
import type { DocumentView, ReadOptions } from './read-document.ts'

export interface AttachmentView {
  readonly rev: Revision
  readonly attachment: StoredAttachment
}

/** From `start` (included) to `end` (left out) of the bytes asked for. */
export interface ByteSpan {
  readonly start: number
  readonly end: number
}

/** Fails with `document_missing` or `attachment_missing`. */
export async function readAttachment(
  readDocument: (id: string, options: ReadOptions) => MaybePromise<DocumentView>,
  id: string,
  name: string,
  rev?: Revision,
): Promise<AttachmentView> {
  const view = await readDocument(id, rev === undefined ? {} : { rev })
  const attachment = findAttachment(view.attachments, name)
  if (attachment === undefined) throw new Failure('attachment_missing')
  return { rev: view.rev, attachment }
}

/** The bytes as they are stored. */
export async function* storedBytes(
  database: Database,
  attachment: StoredAttachment,
  span?: ByteSpan,
): AsyncGenerator<Buffer, void, undefined> {
  const content = await contentOf(database, attachment)
  try {
    yield* readContent(database.store, content, span?.start, span?.end)
  } catch (thrown) {
    // chunks may be missing because the attachment was removed while it was read: then this fails instead
    if (isFailure(thrown, 'storage_corrupt')) await contentOf(database, attachment)
    throw thrown
  }
}

async function contentOf(
  { store }: Database,
  { contentId }: StoredAttachment,
): Promise<ContentRecord> {
  const bytes = await store.get(contentKey(contentId))
  if (bytes === undefined) throw new Failure('attachment_missing')
  return decodeContent(bytes)
}

/** Streams cost more than what is in them up to here. */
const WHOLE_BYTES_MAX = 262_144

/** The bytes as they are stored, all at once; undefined when they are too many for that. */
export function storedWhole(
  { store }: Database,
  { contentId, encodedLength }: StoredAttachment,
): MaybePromise<Buffer | undefined> {
  if (encodedLength > WHOLE_BYTES_MAX) return undefined
  return store.read(function* (tx): Steps<Buffer> {
    const content = yield* findContent(tx, contentId)
    if (content === undefined) throw new Failure('attachment_missing')
    return yield* readWhole(tx, content)
  })
}

/** The plain content. Fails with `not_acceptable` when it was sent as gzip and is none. */
export function plainBytes(
  database: Database,
  attachment: StoredAttachment,
  span?: ByteSpan,
): AsyncIterable<Buffer> {
  if (attachment.encoding === 'identity') return storedBytes(database, attachment, span)
  const decoded = gunzipped(storedBytes(database, attachment))
  const plain = isLengthKnown(attachment) ? ofLength(decoded, attachment.length) : decoded
  return span === undefined ? plain : spanOf(plain, span)
}

/** Unpacking so much takes a fifth of a millisecond, less than handing it to another thread and back is worth. */
const UNPACKED_BYTES_MAX = 65_536

/** The plain content all at once; undefined when it is too much for that. Fails as `plainBytes` does. */
export function plainWhole(
  database: Database,
  attachment: StoredAttachment,
): MaybePromise<Buffer | undefined> {
  const { encoding, length } = attachment
  if (encoding === 'identity') return storedWhole(database, attachment)
  if (!isLengthKnown(attachment) || length > UNPACKED_BYTES_MAX) return undefined
  return after(storedWhole(database, attachment), packed =>
    packed === undefined ? undefined : unpacked(packed, length),
  )
}

function unpacked(packed: Buffer, length: number): Buffer {
  let plain: Buffer
  try {
    // room for all of it at once
    plain = gunzipSync(packed, { chunkSize: length + 64, maxOutputLength: length + 1 })
  } catch (thrown) {
    if (isZlibError(thrown)) throw undecodable(thrown)
    throw isOutputTooLong(thrown) ? wrongLength(thrown) : thrown
  }
  if (plain.length !== length) throw wrongLength()
  return plain
}

const isOutputTooLong = (thrown: unknown): boolean =>
  thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_BUFFER_TOO_LARGE'

/** Of the plain content, counted if need be. */
export async function plainLength(
  database: Database,
  attachment: StoredAttachment,
): Promise<number> {
  if (isLengthKnown(attachment)) return attachment.length
  let length = 0
  for await (const piece of plainBytes(database, attachment)) length += piece.length
  return length
}

async function* gunzipped(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const gunzip = createGunzip({ chunkSize: 65_536 })
  const feeding = feed(source, gunzip)
  // a reader that stops half way does not wait for it
  feeding.catch(() => {})
  try {
    yield* gunzip as AsyncIterable<Buffer>
    await feeding
  } catch (thrown) {
    // what the source failed with beats what that did to the decoder
    await feeding
    throw isZlibError(thrown) ? undecodable(thrown) : thrown
  } finally {
    gunzip.destroy()
  }
}

async function feed(
  source: AsyncIterable<Buffer>,
  gunzip: ReturnType<typeof createGunzip>,
): Promise<void> {
  try {
    for await (const piece of source) {
      if (gunzip.destroyed) return
      if (!gunzip.write(piece)) await drained(gunzip)
    }
    gunzip.end()
  } catch (thrown) {
    gunzip.destroy(thrown as Error)
    throw thrown
  }
}

/** Resolves when it takes more, and when it never will again. */
function drained(gunzip: ReturnType<typeof createGunzip>): Promise<void> {
  return new Promise(resolve => {
    if (gunzip.destroyed) return resolve()
    const settle = (): void => {
      gunzip.off('drain', settle).off('close', settle)
      resolve()
    }
    gunzip.on('drain', settle).on('close', settle)
  })
}

const isZlibError = (thrown: unknown): boolean =>
  thrown instanceof Error && 'code' in thrown && String(thrown.code).startsWith('Z_')

const undecodable = (cause: unknown): Failure =>
  new Failure('not_acceptable', { reason: 'The attachment is no gzip, as its sender said' }, cause)

/** A sender's word about the length of what it packed is checked when it is unpacked. */
async function* ofLength(
  source: AsyncIterable<Buffer>,
  length: number,
): AsyncGenerator<Buffer, void, undefined> {
  let bytes = 0
  for await (const piece of source) {
    bytes += piece.length
    if (bytes > length) break
    yield piece
  }
  if (bytes === length) return
  throw wrongLength()
}

const wrongLength = (cause?: unknown): Failure =>
  new Failure('not_acceptable', { reason: 'The attachment has not the length it should' }, cause)

async function* spanOf(
  source: AsyncIterable<Buffer>,
  { start, end }: ByteSpan,
): AsyncGenerator<Buffer, void, undefined> {
  let at = 0
  for await (const piece of source) {
    const from = Math.max(0, start - at)
    const to = Math.min(piece.length, end - at)
    at += piece.length
    if (to > from) yield piece.subarray(from, to)
    if (at >= end) return
  }
}
