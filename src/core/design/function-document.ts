/**
 * Documents as the functions of design documents see them: `_id`, `_rev`, body, `_deleted`, `_revisions` with at most
 * 20 ids, and attachments as stubs. JSON texts; the stored bytes are copied, nothing is parsed.
 */
import { printDigest, type StoredAttachment } from '../document/attachment.ts'
import { documentText } from '../document/document-text.ts'
import { printRevisionId, type Revision, type RevisionPath } from '../document/revision.ts'

const HISTORY_COUNT_MAX = 20

export interface SeenDocument {
  readonly id: string
  readonly rev?: Revision | undefined
  readonly deleted?: boolean
  readonly body: Buffer
  readonly revisions?: RevisionPath | undefined
  readonly attachments?: readonly SeenAttachment[]
}

/** A stored attachment, or one that is only on its way: it has no digest yet. */
export type SeenAttachment =
  | StoredAttachment
  | {
      readonly name: string
      readonly contentType: string
      readonly revpos: number
      readonly length: number
      readonly md5?: undefined
    }

export function functionDocument(document: SeenDocument): Buffer {
  const { id, rev, body, deleted, revisions, attachments = [] } = document
  const trailing: string[] = []
  if (revisions !== undefined) trailing.push(historyText(revisions))
  if (attachments.length > 0) {
    trailing.push(`"_attachments":{${attachments.map(attachmentText).join(',')}}`)
  }
  return documentText({ id, rev, body, deleted, trailing })
}

function historyText({ start, ids }: RevisionPath): string {
  const newest = ids.slice(0, HISTORY_COUNT_MAX).map(id => JSON.stringify(printRevisionId(id)))
  return `"_revisions":{"start":${start},"ids":[${newest.join(',')}]}`
}

/** `"name":{…}`: one member of `_attachments`. */
export function attachmentText(attachment: SeenAttachment): string {
  const { name, contentType, revpos, length } = attachment
  const digest = attachment.md5 === undefined ? '' : `"digest":"${printDigest(attachment)}",`
  const head = `"content_type":${JSON.stringify(contentType)},"revpos":${revpos}`
  return `${JSON.stringify(name)}:{${head},${digest}"length":${length},"stub":true}`
}
