/** The attachments of an edit on their way into a revision: new ones with their contents, stubs resolved. */
import { Failure } from '../../base/errors.ts'
import type { EditMode } from '../document/apply-edit.ts'
import {
  type AttachmentEncoding,
  resolveStub,
  type StoredAttachment,
} from '../document/attachment.ts'
import type { UploadedContent } from './attachment-contents.ts'

export type EditAttachment =
  | {
      readonly kind: 'new'
      readonly name: string
      readonly contentType: string
      /** As sent; counts only for replicated writes. */
      readonly revpos?: number | undefined
      readonly encoding: AttachmentEncoding
      /** Of the plain content. */
      readonly length: number
      readonly content: UploadedContent
    }
  | { readonly kind: 'stub'; readonly name: string; readonly revpos?: number | undefined }
  /** A copy of what another revision or document of this database has. */
  | { readonly kind: 'kept'; readonly name: string; readonly stored: StoredAttachment }

/** The list of the new revision, in the order given. Fails with `attachment_stub_missing`. */
export function placeAttachments(
  given: readonly EditAttachment[],
  revision: {
    readonly id: string
    readonly parent: readonly StoredAttachment[]
    /** Pos that new contents get. */
    readonly newRevpos: number
    readonly mode: EditMode
  },
): StoredAttachment[] {
  const names = new Set<string>()
  return given.map(attachment => {
    if (names.has(attachment.name)) {
      throw new Failure('request_invalid', { reason: 'Duplicate attachments' })
    }
    names.add(attachment.name)
    if (attachment.kind === 'kept') return attachment.stored
    if (attachment.kind === 'stub') {
      const { name, revpos } = attachment
      const stub = revpos === undefined ? { name } : { name, revpos }
      return resolveStub(revision.id, stub, revision.parent)
    }
    const sent = revision.mode === 'replicated' ? (attachment.revpos ?? 0) : 0
    return {
      name: attachment.name,
      contentType: attachment.contentType,
      revpos: sent > 0 ? sent : revision.newRevpos,
      md5: attachment.content.md5,
      length: attachment.length,
      encodedLength: attachment.content.bytes,
      encoding: attachment.encoding,
      contentId: attachment.content.sha256,
    }
  })
}
