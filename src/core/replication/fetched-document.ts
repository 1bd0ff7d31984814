/** A document's text with what a replication must know of it: its id, its revision, and whether it has attachments. */
import { membersOf, type Span, stringAt } from './cut-json.ts'
import type { FetchedDocument } from './peer.ts'
import { passing } from './retry.ts'

/** Fails when a document does not say who it is, or says that it is another one than was asked for. */
export function fetchedDocument(bytes: Buffer, span: Span, wantedId: string): FetchedDocument {
  const text = bytes.subarray(span.start, span.end)
  let id: string | undefined
  let rev: string | undefined
  let hasAttachments = false
  for (const member of membersOf(text, 0)) {
    if (member.key === '_id') id = stringAt(text, member)
    else if (member.key === '_rev') rev = stringAt(text, member)
    else if (member.key === '_attachments') hasAttachments = isNotEmpty(text, member)
  }
  if (id !== wantedId || rev === undefined) throw passing('the other server sent a wrong document')
  return { id, rev, text, hasAttachments }
}

function isNotEmpty(text: Buffer, { start }: Span): boolean {
  return !membersOf(text, start).next().done
}
