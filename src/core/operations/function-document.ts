/**
 * A document as functions of design documents and selectors see it: JSON text with `_id`, `_rev`, the body, its history
 * (the newest revisions only) where it is wanted, and stubs for attachments.
 */
import { printDigest, type StoredAttachment } from '../document/attachment.ts'
import { documentText } from '../document/document-text.ts'
import { printRevisionId } from '../document/revision.ts'
import type { DocumentView } from './read-document.ts'

/** What functions see of a history, however long it is. */
const HISTORY_MAX = 20

export function functionDocument(view: DocumentView): Buffer {
  const trailing: string[] = []
  const { revisions, attachments } = view
  if (revisions !== undefined) {
    const ids = revisions.ids.slice(0, HISTORY_MAX).map(id => JSON.stringify(printRevisionId(id)))
    trailing.push(`"_revisions":{"start":${revisions.start},"ids":[${ids.join(',')}]}`)
  }
  if (attachments.length > 0) {
    trailing.push(`"_attachments":{${attachments.map(stubOf).join(',')}}`)
  }
  const { id, rev, body, deleted } = view
  return documentText({ id, rev, body, deleted, trailing })
}

function stubOf(attachment: StoredAttachment): string {
  const { name, contentType, revpos, length } = attachment
  const head = `"content_type":${JSON.stringify(contentType)},"revpos":${revpos}`
  const digest = printDigest(attachment)
  return `${JSON.stringify(name)}:{${head},"digest":"${digest}","length":${length},"stub":true}`
}
