/** Documents on the wire: the stored bytes with `_id`, `_rev` in front and what was asked for behind, nothing parsed. */

import type { Dialect } from '../../core/dialect/dialect.ts'
import { printDigest, type StoredAttachment } from '../../core/document/attachment.ts'
import { documentText } from '../../core/document/document-text.ts'
import { printRevision, printRevisionId, type Revision } from '../../core/document/revision.ts'
import type { DocumentView } from '../../core/operations/read-document.ts'
import type { Exchange } from './exchange.ts'
import { isTrue } from './parse-document.ts'

export interface PresentOptions {
  readonly dialect: Dialect
  readonly attEncodingInfo?: boolean
  /** The sequence as clients see it, for `_local_seq`. */
  readonly printSequence?: (seq: number) => string
}

/** What a request asks for, and how this server says it. */
export const presentOptions = (exchange: Exchange): PresentOptions => ({
  dialect: exchange.dialect,
  attEncodingInfo: isTrue(exchange.request.query, 'att_encoding_info'),
  printSequence: seq => exchange.database.printSequence(seq),
})

export function presentDocument(view: DocumentView, options: PresentOptions): Buffer {
  const trailing = metaMembers(view, options)
  if (view.attachments.length > 0) trailing.push(attachmentStubs(view.attachments, options))
  const { id, rev, body, deleted } = view
  return documentText({ id, rev, body, deleted, trailing })
}

/** `_revisions` and the like, in CouchDB's order. */
export function metaMembers(view: DocumentView, options: PresentOptions): string[] {
  const members: string[] = []
  const { revisions, revsInfo, conflicts, deletedConflicts, localSeq } = view
  if (revisions !== undefined) {
    const ids = revisions.ids.map(id => JSON.stringify(printRevisionId(id)))
    members.push(`"_revisions":{"start":${revisions.start},"ids":[${ids.join(',')}]}`)
  }
  if (revsInfo !== undefined) {
    const list = revsInfo.map(({ rev, status }) => `{"rev":${quote(rev)},"status":"${status}"}`)
    members.push(`"_revs_info":[${list.join(',')}]`)
  }
  if (conflicts !== undefined) members.push(`"_conflicts":[${conflicts.map(quote).join(',')}]`)
  if (deletedConflicts !== undefined) {
    members.push(`"_deleted_conflicts":[${deletedConflicts.map(quote).join(',')}]`)
  }
  if (localSeq !== undefined) members.push(`"_local_seq":${presentLocalSeq(localSeq, options)}`)
  return members
}

function presentLocalSeq(seq: number, { dialect, printSequence }: PresentOptions): string {
  if (!dialect.localSeqIsString) return String(seq)
  return JSON.stringify(printSequence === undefined ? String(seq) : printSequence(seq))
}

const quote = (rev: Revision): string => JSON.stringify(printRevision(rev))

export function attachmentStubs(
  attachments: readonly StoredAttachment[],
  options: Pick<PresentOptions, 'attEncodingInfo'>,
): string {
  const withEncoding = options.attEncodingInfo === true
  const entries = attachments.map(attachment => attachmentStub(attachment, withEncoding))
  return `"_attachments":{${entries.join(',')}}`
}

export const attachmentStub = (attachment: StoredAttachment, withEncoding: boolean): string =>
  attachmentEntry(attachment, `"length":${attachment.length},"stub":true`, withEncoding)

/** One entry of `_attachments`; `content` says where its bytes are. */
export const attachmentEntry = (
  attachment: StoredAttachment,
  content: string,
  withEncoding: boolean,
): string =>
  `${attachmentStart(attachment)},${content}${withEncoding ? encodingInfo(attachment) : ''}}`

/** An entry up to what says where the bytes are. */
export function attachmentStart(attachment: StoredAttachment): string {
  const { name, contentType, revpos } = attachment
  const head = `"content_type":${JSON.stringify(contentType)},"revpos":${revpos}`
  return `${JSON.stringify(name)}:{${head},"digest":"${printDigest(attachment)}"`
}

export const encodingInfo = ({ encoding, encodedLength }: StoredAttachment): string =>
  encoding === 'gzip' ? `,"encoding":"gzip","encoded_length":${encodedLength}` : ''

/** True when the answer is about more than one revision, so that no revision can be its ETag. */
export const hasMeta = (view: DocumentView): boolean =>
  view.revsInfo !== undefined ||
  view.conflicts !== undefined ||
  view.deletedConflicts !== undefined ||
  view.localSeq !== undefined
