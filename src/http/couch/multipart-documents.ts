/**
 * Documents and their attachments in one message: a document in front, the bytes of its attachments in the parts behind
 * (multipart/related). Attachments go in and out in their stored form, at the slower side's pace.
 */
import { Failure } from '../../base/errors.ts'
import type { EditAttachment } from '../../core/database/edit-attachments.ts'
import type { StoredAttachment } from '../../core/document/attachment.ts'
import { documentText } from '../../core/document/document-text.ts'
import {
  type DocumentLimits,
  type IncomingDocument,
  scanDocument,
} from '../../core/document/incoming-document.ts'
import type { DocumentView } from '../../core/operations/read-document.ts'
import { boundaryOf, MultipartParser, type Part } from '../kit/multipart-parser.ts'
import { multipartRelated, type OutgoingMultipart } from '../kit/multipart-writer.ts'
import type { AttachmentSource } from './document-stream.ts'
import type { Exchange } from './exchange.ts'
import {
  attachmentEntry,
  attachmentStub,
  metaMembers,
  type PresentOptions,
} from './present-document.ts'

/** A document as it came, its attachments taken in. Whoever gets them writes or discards them. */
export interface ReceivedDocument {
  readonly document: IncomingDocument
  readonly attachments: readonly EditAttachment[]
}

export const isMultipart = ({ request }: Exchange): boolean =>
  request.contentType.toLowerCase() === 'multipart/related'

/** @param keepsAttachments false where documents have none and what is sent of them is dropped */
export async function receiveMultipart(
  exchange: Exchange,
  limits: DocumentLimits,
  keepsAttachments: boolean,
): Promise<ReceivedDocument> {
  const { request, database } = exchange
  const boundary = boundaryOf(request.header('content-type') ?? '')
  const parser = new MultipartParser(request.stream(), boundary)
  try {
    const { document } = scanDocument(await readDocumentPart(await parser.next()), 0, limits)
    const incoming = keepsAttachments ? (document.attachments ?? []) : []
    const following = { next: async () => (await parser.next())?.body }
    const attachments = await database.prepareAttachments(incoming, following)
    try {
      await parser.finish()
    } catch (thrown) {
      await database.discardAttachments(attachments)
      throw thrown
    }
    return { document, attachments }
  } catch (thrown) {
    await parser.close()
    throw thrown
  }
}

async function readDocumentPart(part: Part | undefined): Promise<Buffer> {
  const type = part?.headers.get('content-type')?.split(';')[0]?.trim()
  if (part === undefined || type !== 'application/json') {
    throw new Failure('content_type_unsupported')
  }
  const pieces: Buffer[] = []
  for await (const piece of part.body) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** The document with the chosen attachments behind it; undefined when none is chosen: it is plain JSON then. */
export function relatedDocument(
  source: AttachmentSource,
  view: DocumentView,
  hasData: (attachment: StoredAttachment) => boolean,
  options: PresentOptions,
): OutgoingMultipart | undefined {
  const sent = view.attachments.filter(hasData)
  if (sent.length === 0) return undefined
  const entries = view.attachments.map(attachment =>
    hasData(attachment)
      ? attachmentEntry(attachment, `"length":${attachment.length},"follows":true`, true)
      : attachmentStub(attachment, options.attEncodingInfo === true),
  )
  const trailing = [...metaMembers(view, options), `"_attachments":{${entries.join(',')}}`]
  const parts = sent.map(attachment => ({
    name: attachment.name,
    contentType: attachment.contentType,
    lengthBytes: attachment.encodedLength,
    ...(attachment.encoding === 'gzip' ? { encoding: 'gzip' as const } : {}),
    body: source.storedBytes(attachment),
  }))
  return multipartRelated(documentText({ ...view, trailing }), parts)
}
