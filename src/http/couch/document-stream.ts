/**
 * Documents with their attachments inside, as base64: text that may be far larger than memory, so it is made piece by
 * piece at the reader's pace. Which attachments come with data is a choice of the reader (`attachments`, `atts_since`);
 * the others are stubs.
 */
import { isLengthKnown, type StoredAttachment } from '../../core/document/attachment.ts'
import { documentText } from '../../core/document/document-text.ts'
import { type Revision, sameRevision } from '../../core/document/revision.ts'
import type { DatabaseOperations } from '../../core/operations/operations.ts'
import type { DocumentView } from '../../core/operations/read-document.ts'
import type { Query } from '../kit/url.ts'
import { isTrue, parseRevisionList } from './parse-document.ts'
import {
  attachmentStart,
  attachmentStub,
  encodingInfo,
  metaMembers,
  type PresentOptions,
} from './present-document.ts'

/** Data of none, of all, or of those that came after revisions the reader has. */
export type DataWanted = 'none' | 'all' | readonly Revision[]

/** Where attachment bytes come from. */
export type AttachmentSource = Pick<DatabaseOperations, 'storedBytes' | 'plainBytes'>

export interface DocumentStream {
  /** Undefined when it cannot be known before all was made. */
  readonly lengthBytes: number | undefined
  readonly body: AsyncIterable<Buffer>
}

export function parseDataWanted(query: Query): DataWanted {
  const since = query.get('atts_since')
  if (since !== undefined) return parseRevisionList(since)
  return isTrue(query, 'attachments') ? 'all' : 'none'
}

/** The history of a document is needed to answer; it need not be shown. */
export const needsHistory = (wanted: DataWanted): boolean =>
  typeof wanted === 'object' && wanted.length > 0

/** The same view without the history that only `needsHistory` asked for. */
export function withoutHistory(view: DocumentView): DocumentView {
  const { revisions: _, ...rest } = view
  return rest
}

/** @param view with its history where `needsHistory` says so */
export function dataChoice(
  view: DocumentView,
  wanted: DataWanted,
): (attachment: StoredAttachment) => boolean {
  if (wanted === 'none') return () => false
  if (wanted === 'all') return () => true
  const known = wanted.filter(rev => isAncestor(view, rev)).map(({ pos }) => pos)
  const newest = Math.max(0, ...known)
  return ({ revpos }) => revpos > newest
}

function isAncestor({ revisions }: DocumentView, rev: Revision): boolean {
  const id = revisions?.ids[revisions.start - rev.pos]
  return id !== undefined && sameRevision({ pos: rev.pos, id }, rev)
}

/** The JSON text of a document, the attachments chosen with their data. No line feed at the end. */
export function streamDocument(
  source: AttachmentSource,
  view: DocumentView,
  hasData: (attachment: StoredAttachment) => boolean,
  options: PresentOptions,
): DocumentStream {
  const pieces = piecesOf(view, hasData, options)
  return { lengthBytes: lengthOf(pieces), body: write(source, pieces) }
}

/** Text as it is, and attachments whose data goes between. */
type Piece = Buffer | StoredAttachment

function piecesOf(
  view: DocumentView,
  hasData: (attachment: StoredAttachment) => boolean,
  options: PresentOptions,
): Piece[] {
  const text = documentText({ ...view, trailing: metaMembers(view, options) })
  if (view.attachments.length === 0) return [text]
  const withEncoding = options.attEncodingInfo === true
  const pieces: Piece[] = [text.subarray(0, -1)]
  let before = ',"_attachments":{'
  for (const attachment of view.attachments) {
    if (hasData(attachment)) {
      pieces.push(Buffer.from(`${before}${attachmentStart(attachment)},"data":"`), attachment)
      before = `"${withEncoding ? encodingInfo(attachment) : ''}},`
    } else before += `${attachmentStub(attachment, withEncoding)},`
  }
  pieces.push(Buffer.from(`${before.slice(0, -1)}}}`))
  return pieces
}

function lengthOf(pieces: readonly Piece[]): number | undefined {
  let bytes = 0
  for (const piece of pieces) {
    if (Buffer.isBuffer(piece)) bytes += piece.length
    else if (isLengthKnown(piece)) bytes += Math.ceil(piece.length / 3) * 4
    else return undefined
  }
  return bytes
}

async function* write(
  source: AttachmentSource,
  pieces: readonly Piece[],
): AsyncGenerator<Buffer, void, undefined> {
  for (const piece of pieces) {
    if (Buffer.isBuffer(piece)) yield piece
    else yield* base64(source.plainBytes(piece))
  }
}

async function* base64(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let rest: Buffer | undefined
  for await (const piece of source) {
    const bytes = rest === undefined ? piece : Buffer.concat([rest, piece])
    const whole = bytes.length - (bytes.length % 3)
    rest = whole === bytes.length ? undefined : Buffer.from(bytes.subarray(whole))
    if (whole > 0) yield Buffer.from(bytes.toString('base64', 0, whole), 'latin1')
  }
  if (rest !== undefined) yield Buffer.from(rest.toString('base64'), 'latin1')
}
