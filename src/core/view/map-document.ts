/**
 * A document as map functions see it: the winner with `_id` and `_rev`, its body, stubs of its attachments, its
 * conflicts where it has some, and its sequence where the design document asks for that. The stored bytes are copied,
 * nothing is parsed.
 */
import type { StoredDocument } from '../database/stored-document.ts'
import { attachmentText } from '../design/function-document.ts'
import { decodeAttachments } from '../document/attachment.ts'
import { documentText } from '../document/document-text.ts'
import { printRevision, type Revision } from '../document/revision.ts'
import { conflicts, deletedConflicts } from '../document/revision-tree.ts'
import { decodeTree } from '../document/revision-tree-codec.ts'

export function mapDocument(document: StoredDocument, withSequence: boolean): Buffer {
  const { id, winner: rev, body } = document
  const isPlain = !document.conflicted && document.attachments.length === 0 && !withSequence
  if (isPlain) return documentText({ id, rev, body })
  return documentText({ id, rev, body, trailing: membersOf(document, withSequence) })
}

function membersOf(document: StoredDocument, withSequence: boolean): string[] {
  const members: string[] = []
  if (withSequence) members.push(`"_local_seq":${document.seq}`)
  if (document.conflicted) {
    const tree = decodeTree(document.tree)
    members.push(...revisionList('_conflicts', conflicts(tree)))
    members.push(...revisionList('_deleted_conflicts', deletedConflicts(tree)))
  }
  const attachments = decodeAttachments(document.attachments)
  if (attachments.length > 0) {
    members.push(`"_attachments":{${attachments.map(attachmentText).join(',')}}`)
  }
  return members
}

const revisionList = (name: string, revs: readonly Revision[]): string[] =>
  revs.length === 0 ? [] : [`"${name}":${JSON.stringify(revs.map(printRevision))}`]
