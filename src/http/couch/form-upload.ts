/**
 * POST of a form to a document: the way old browser pages attach files. The form has the whole document in `_doc`, or
 * the revision to change in `_rev`, and files in `_attachments`; they join the attachments the document has.
 *
 * Any page can send a form, so the `Referer` must be of this very server. Every POST to a place that is nothing else
 * ends here and is told so.
 */
import { Failure } from '../../base/errors.ts'
import type { EditAttachment } from '../../core/database/edit-attachments.ts'
import { validateAttachmentName } from '../../core/document/attachment-name.ts'
import { validateDocumentId } from '../../core/document/document-id.ts'
import {
  fromParts,
  type IncomingDocument,
  scanDocument,
} from '../../core/document/incoming-document.ts'
import { parseRevision } from '../../core/document/revision.ts'
import { boundaryOf, MultipartParser, type Part } from '../kit/multipart-parser.ts'
import type { Reply } from '../kit/reply.ts'
import { limitsOf, takeAttachments, writeOne } from './documents.ts'
import type { Exchange } from './exchange.ts'
import { documentId } from './parse-document.ts'

/** A field that is no file; the document itself may be as large as the configuration allows. */
const FIELD_BYTES_MIN = 65_536

export async function postForm(exchange: Exchange): Promise<Reply> {
  const { request, database } = exchange
  checkReferer(exchange)
  const id = documentId(exchange)
  validateDocumentId(id, limitsOf(exchange).idBytesMax)
  if (request.contentType !== 'multipart/form-data') {
    const reason = 'Content-Type must be multipart/form-data'
    throw new Failure('content_type_unsupported', { reason })
  }
  const files: EditAttachment[] = []
  try {
    const fields = await readForm(exchange, files)
    const { document, kept } = await documentOf(exchange, id, fields)
    const names = new Set(files.map(({ name }) => name))
    const attachments = [...files, ...kept.filter(({ name }) => !names.has(name))]
    return await writeOne(
      exchange,
      { id, document, attachments },
      { status: 201, location: false, batch: false },
    )
  } catch (thrown) {
    await database.discardAttachments(files)
    throw thrown
  }
}

function checkReferer({ request }: Exchange): void {
  const referer = request.header('referer')
  if (referer === undefined) {
    throw new Failure('request_invalid', { reason: 'Referer header required.' })
  }
  const host = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(referer)?.[1]
  if (host !== undefined && host === request.header('host')) return
  throw new Failure('request_invalid', { reason: 'Referer header must match host.' })
}

/** The fields by name; files go to `files` as they come. */
async function readForm(
  exchange: Exchange,
  files: EditAttachment[],
): Promise<ReadonlyMap<string, Buffer>> {
  const { request, database } = exchange
  const bytesMax = Math.max(FIELD_BYTES_MIN, limitsOf(exchange).bodyBytesMax)
  const parser = new MultipartParser(
    request.stream(),
    boundaryOf(request.header('content-type') ?? ''),
  )
  const fields = new Map<string, Buffer>()
  try {
    for (let part = await parser.next(); part !== undefined; part = await parser.next()) {
      const { name, filename, contentType } = describe(part)
      if (name === '_attachments' && filename !== undefined) {
        validateAttachmentName(filename)
        const upload = {
          name: filename,
          contentType,
          encoding: 'identity',
          bytes: part.body,
        } as const
        files.push(await database.uploadAttachment(upload))
      } else if (name === '_doc' || name === '_rev')
        fields.set(name, await readField(part, bytesMax))
    }
    return fields
  } catch (thrown) {
    await parser.close()
    throw thrown
  }
}

function describe({ headers }: Part) {
  const disposition = headers.get('content-disposition') ?? ''
  const parameter = (name: string): string | undefined => {
    const found = new RegExp(`;\\s*${name}="((?:[^"\\\\]|\\\\.)*)"`, 'i').exec(disposition)?.[1]
    return found?.replace(/\\(.)/g, '$1')
  }
  return {
    name: parameter('name'),
    filename: parameter('filename'),
    contentType: headers.get('content-type') ?? 'application/octet-stream',
  }
}

async function readField({ body }: Part, bytesMax: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > bytesMax) throw new Failure('request_too_large')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

async function documentOf(
  exchange: Exchange,
  id: string,
  fields: ReadonlyMap<string, Buffer>,
): Promise<{ document: IncomingDocument; kept: readonly EditAttachment[] }> {
  const text = fields.get('_doc')
  if (text !== undefined) {
    const { document } = scanDocument(text, 0, limitsOf(exchange))
    const { attachments: kept = [] } = await takeAttachments(exchange, id, document)
    return { document, kept }
  }
  const rev = parseRevision(fields.get('_rev')?.toString().trim())
  const view = await exchange.database.readDocument(id, { rev })
  const kept = view.attachments.map(
    stored => ({ kind: 'kept', name: stored.name, stored }) as const,
  )
  return { document: fromParts({ id, rev, body: view.body }), kept }
}
