/** Attachments by their own URL: read, written, deleted. Bytes stream both ways. */
import { Failure, isFailure } from '../../base/errors.ts'
import { DEFAULT_CONTENT_TYPE, type StoredAttachment } from '../../core/document/attachment.ts'
import { validateAttachmentName } from '../../core/document/attachment-name.ts'
import { validateDocumentId } from '../../core/document/document-id.ts'
import { fromParts } from '../../core/document/incoming-document.ts'
import type { Revision } from '../../core/document/revision.ts'
import type { DocumentView } from '../../core/operations/read-document.ts'
import type { DocumentWrite } from '../../core/operations/write-documents.ts'
import type { Reply } from '../kit/reply.ts'
import { attachmentReply } from './attachment-reply.ts'
import { limitsOf, writeOne } from './documents.ts'
import { encodePathPart } from './encode-path.ts'
import type { Exchange } from './exchange.ts'
import { documentId, revisionOfRequest } from './parse-document.ts'

/** Local documents have none. */
export function refuseLocalAttachment(): Reply {
  const reason = '_local documents do not accept attachments.'
  throw new Failure('request_invalid', { reason })
}

export async function getAttachment(exchange: Exchange): Promise<Reply> {
  const name = attachmentName(exchange)
  return attachmentReply(exchange, documentId(exchange), name)
}

export async function putAttachment(exchange: Exchange): Promise<Reply> {
  const { request, database } = exchange
  const name = attachmentName(exchange)
  validateAttachmentName(name)
  const id = documentId(exchange)
  const rev = revisionOfRequest(request)
  const contentType = uploadType(exchange)
  const encoding = uploadEncoding(exchange)
  const parent = await parentOf(exchange, id, rev)
  const md5 = exchange.dialect.checkContentMd5 ? contentMd5(exchange) : undefined
  const lengthBytes = request.body.declaredBytes
  const upload = { name, contentType, encoding, md5, lengthBytes, bytes: request.stream() }
  const uploaded = await database.uploadAttachment(upload)
  const others = (parent?.attachments ?? []).filter(each => each.name !== name)
  const attachments = [uploaded, ...others.map(stubOf)]
  const write = { ...documentWith(id, rev, parent), attachments }
  return writeOne(exchange, write, {
    status: 201,
    location: `/${encodePathPart(name)}`,
    etag: false,
    batch: false,
    mode: 'interactive',
  })
}

export async function deleteAttachment(exchange: Exchange): Promise<Reply> {
  const name = attachmentName(exchange)
  validateAttachmentName(name)
  const id = documentId(exchange)
  const rev = revisionOfRequest(exchange.request)
  const parent = await deletedFrom(exchange, id, rev)
  const rest = parent.attachments.filter(each => each.name !== name)
  if (rest.length === parent.attachments.length) throw new Failure('attachment_missing')
  const write = { ...documentWith(id, rev, parent), attachments: rest.map(stubOf) }
  return writeOne(exchange, write, {
    status: 200,
    location: false,
    etag: exchange.dialect.attachmentDeleteEtag,
    batch: false,
    mode: 'interactive',
  })
}

/** The segments behind the document, as one name. */
function attachmentName({ request, params }: Exchange): string {
  const start = request.segments.length - params.rest.length
  if (request.url.invalidUtf8At >= start) {
    throw new Failure('request_invalid', { reason: 'Attachment name is not UTF-8 encoded' })
  }
  return params.rest.join('/')
}

function uploadType({ request, dialect }: Exchange): string {
  const type = request.header('content-type')
  if (type !== undefined && type !== '') return type
  if (!dialect.attachmentTypeRequired) return DEFAULT_CONTENT_TYPE
  throw new Failure('request_invalid', { reason: 'Content-Type header is required.' })
}

function uploadEncoding({ request }: Exchange): 'identity' | 'gzip' {
  const encoding = (request.header('content-encoding') ?? 'identity').trim().toLowerCase()
  if (encoding === 'gzip' || encoding === 'identity') return encoding
  const reason = 'Only gzip and identity content-encodings are supported'
  throw new Failure('content_encoding_unsupported', { reason })
}

function contentMd5({ request }: Exchange): Buffer | undefined {
  const header = request.header('content-md5')
  if (header === undefined) return undefined
  const md5 = Buffer.from(header, 'base64')
  if (md5.length !== 16) throw new Failure('digest_mismatch')
  return md5
}

/**
 * The revision that gets the attachment; undefined for a new document. What would be a conflict is told before the
 * upload, not after it; the commit has the last word.
 */
async function parentOf(
  exchange: Exchange,
  id: string,
  rev: Revision | undefined,
): Promise<DocumentView | undefined> {
  const { database } = exchange
  if (rev !== undefined) return revisionOf(exchange, id, rev)
  validateDocumentId(id, limitsOf(exchange).idBytesMax)
  const leaves = await database.openRevisions(id, 'all', {})
  const isLive = leaves?.some(leaf => 'ok' in leaf && !leaf.ok.deleted) === true
  if (isLive) throw new Failure('document_conflict', { subject: id })
  return undefined
}

async function revisionOf(exchange: Exchange, id: string, rev: Revision): Promise<DocumentView> {
  try {
    return await exchange.database.readDocument(id, { rev })
  } catch (thrown) {
    if (!isFailure(thrown, 'document_missing')) throw thrown
    throw new Failure('attachment_revision_missing', {}, thrown)
  }
}

/** Without a revision the winner tells whether there is something to delete; the commit then sees the conflict. */
async function deletedFrom(
  exchange: Exchange,
  id: string,
  rev: Revision | undefined,
): Promise<DocumentView> {
  return rev === undefined ? exchange.database.readDocument(id) : revisionOf(exchange, id, rev)
}

function documentWith(
  id: string,
  rev: Revision | undefined,
  parent: DocumentView | undefined,
): Omit<DocumentWrite, 'attachments'> {
  const body = parent?.body ?? Buffer.from('{}')
  return { id, document: fromParts({ id, rev, deleted: parent?.deleted, body }) }
}

const stubOf = ({ name }: StoredAttachment) => ({ kind: 'stub' as const, name })
