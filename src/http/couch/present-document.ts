/** Documents on the wire: the stored bytes with `_id`, `_rev` in front and what was asked for behind, nothing parsed. */

import type { Dialect } from '../../core/dialect/dialect.ts'
import { printDigest, type StoredAttachment } from '../../core/document/attachment.ts'
import { documentText } from '../../core/document/document-text.ts'
import { printRevision, printRevisionId, type Revision } from '../../core/document/revision.ts'
import type { DocumentView } from '../../core/operations/read-document.ts'

export interface PresentOptions {
  readonly dialect: Dialect
  readonly attEncodingInfo?: boolean
  /** The sequence as clients see it, for `_local_seq`. */
  readonly printSequence?: (seq: number) => string
}

export function presentDocument(view: DocumentView, options: PresentOptions): Buffer {
  const trailing = metaMembers(view, options)
  if (view.attachments.length > 0) trailing.push(attachmentStubs(view.attachments, options))
  return documentText({ ...view, trailing })
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
  const entries = attachments.map(attachment => {
    const content = `"length":${attachment.length},"stub":true`
    return attachmentEntry(attachment, content, options.attEncodingInfo === true)
  })
  return `"_attachments":{${entries.join(',')}}`
}

/** One entry of `_attachments`; `content` says where its bytes are. */
export function attachmentEntry(
  attachment: StoredAttachment,
  content: string,
  withEncoding: boolean,
): string {
  const { name, contentType, revpos, encoding, encodedLength } = attachment
  const head = `"content_type":${JSON.stringify(contentType)},"revpos":${revpos}`
  const info =
    withEncoding && encoding === 'gzip'
      ? `,"encoding":"gzip","encoded_length":${encodedLength}`
      : ''
  return `${JSON.stringify(name)}:{${head},"digest":"${printDigest(attachment)}",${content}${info}}`
}

/** True when the answer is about more than one revision, so that no revision can be its ETag. */
export const hasMeta = (view: DocumentView): boolean =>
  view.revsInfo !== undefined ||
  view.conflicts !== undefined ||
  view.deletedConflicts !== undefined ||
  view.localSeq !== undefined
