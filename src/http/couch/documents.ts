/** One document: read, written, deleted, copied. */

import { Failure } from '../../base/errors.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { EditResult } from '../../core/database/commit-edits.ts'
import type { EditMode } from '../../core/document/apply-edit.ts'
import type { StoredAttachment } from '../../core/document/attachment.ts'
import { validateDocumentId } from '../../core/document/document-id.ts'
import { documentText } from '../../core/document/document-text.ts'
import {
  fromParts,
  type IncomingDocument,
  scanDocument,
} from '../../core/document/incoming-document.ts'
import { printRevision, type Revision } from '../../core/document/revision.ts'
import type { DocumentView, ReadOptions } from '../../core/operations/read-document.ts'
import { type DocumentWrite, isLocal } from '../../core/operations/write-documents.ts'
import { etagOf, notModifiedReply, quoteEtag } from '../kit/conditional.ts'
import type { Reply } from '../kit/reply.ts'
import {
  type DataWanted,
  dataChoice,
  needsHistory,
  parseDataWanted,
  streamDocument,
  withoutHistory,
} from './document-stream.ts'
import { encodePathPart } from './encode-path.ts'
import type { Exchange } from './exchange.ts'
import { isMultipart, receiveMultipart, relatedDocument } from './multipart-documents.ts'
import { openRevisionsReply } from './open-revisions.ts'
import {
  documentId,
  isTrue,
  parseDestination,
  parseReadOptions,
  revisionOfRequest,
  withRevisionOfRequest,
} from './parse-document.ts'
import { hasMeta, presentDocument, presentOptions } from './present-document.ts'
import { readByEitherId } from './user-ids.ts'

export function getDocument(exchange: Exchange): MaybePromise<Reply> {
  const { query } = exchange.request
  const id = documentId(exchange)
  if (isUnsplitDesign(exchange, id)) return redirectToDesign(exchange, id)
  if (query.has('open_revs')) return openRevisionsReply(exchange, id)
  const data = parseDataWanted(query)
  const options = parseReadOptions(query)
  const reading = needsHistory(data) ? { ...options, revs: true } : options
  const read = readByEitherId(exchange, id, each => exchange.database.readDocument(each, reading))
  return after(read, view => documentReply(exchange, view, data, options))
}

function documentReply(
  exchange: Exchange,
  view: DocumentView,
  data: DataWanted,
  options: ReadOptions,
): Reply {
  const headers: string[] = []
  if (!hasMeta(view)) {
    const etag = quoteEtag(printRevision(view.rev))
    const unchanged = notModifiedReply(exchange.request, etag)
    if (unchanged !== undefined) return unchanged
    headers.push('ETag', etag)
  }
  if (data !== 'none' && view.attachments.length > 0) {
    const shown = options.revs === true ? view : withoutHistory(view)
    return documentWithData(exchange, shown, dataChoice(view, data), headers)
  }
  return exchange.json(200, presentDocument(view, presentOptions(exchange)), headers)
}

/** The document with the chosen attachments behind it, or in it for those who do not take that. */
function documentWithData(
  exchange: Exchange,
  view: DocumentView,
  hasData: (attachment: StoredAttachment) => boolean,
  headers: readonly string[],
): Reply {
  const { request, database } = exchange
  const options = presentOptions(exchange)
  const related = request.accepts('multipart/related')
    ? relatedDocument(database, view, hasData, options)
    : undefined
  if (related !== undefined) {
    const { contentType, body, lengthBytes } = related
    return { status: 200, headers: ['Content-Type', contentType, ...headers], body, lengthBytes }
  }
  const { body, lengthBytes } = streamDocument(database, view, hasData, options)
  const reply = { status: 200, headers: ['Content-Type', exchange.jsonType, ...headers] }
  const text = withLineFeed(body)
  return lengthBytes === undefined
    ? { ...reply, body: text }
    : { ...reply, body: text, lengthBytes: lengthBytes + 1 }
}

async function* withLineFeed(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer | string> {
  yield* body
  yield '\n'
}

export async function getLocalDocument(exchange: Exchange): Promise<Reply> {
  const id = documentId(exchange)
  const { query } = exchange.request
  if (query.has('rev') || query.has('open_revs')) throw missing()
  const { generation, body } = await exchange.database.readLocalDocument(id)
  const trailing = isTrue(query, 'revs') ? [`"_revisions":{"start":0,"ids":["${generation}"]}`] : []
  const rev = { pos: 0, id: Buffer.from(String(generation)) }
  const etag = etagOf(String(generation), body)
  const unchanged = notModifiedReply(exchange.request, etag)
  return unchanged ?? exchange.json(200, documentText({ id, rev, body, trailing }), ['ETag', etag])
}

export async function putDocument(exchange: Exchange): Promise<Reply> {
  const id = documentId(exchange)
  validateDocumentId(id, idBytesMax(exchange))
  if (isMultipart(exchange)) return putMultipart(exchange, id)
  const received = scanDocument(await exchange.request.bytes(), 0, limitsOf(exchange)).document
  const document = withRevisionOfRequest(received, exchange.request)
  const status = document.deleted ? 200 : 201
  if (!hasAttachments(document)) {
    return writeOne(exchange, { id, document }, { status, location: true })
  }
  const attachments = await takeAttachments(exchange, id, document)
  return writeOne(exchange, { id, document, ...attachments }, { status, location: true })
}

const hasAttachments = ({ attachments }: IncomingDocument): boolean =>
  attachments !== undefined && attachments.length > 0

async function putMultipart(exchange: Exchange, id: string): Promise<Reply> {
  const { request, database } = exchange
  const received = await receiveMultipart(exchange, limitsOf(exchange), !isLocal(id))
  const { attachments } = received
  try {
    const document = withRevisionOfRequest(received.document, request)
    const status = document.deleted ? 200 : 201
    return await writeOne(exchange, { id, document, attachments }, { status, location: true })
  } catch (thrown) {
    await database.discardAttachments(attachments)
    throw thrown
  }
}

/** The attachments that came inside a document, ready to be written with it. Local documents have none. */
export async function takeAttachments(
  { database }: Exchange,
  id: string,
  document: IncomingDocument,
): Promise<Pick<DocumentWrite, 'attachments'>> {
  const { attachments } = document
  if (attachments === undefined || !hasAttachments(document) || isLocal(id)) return {}
  return { attachments: await database.prepareAttachments(attachments) }
}

export async function postDocument(exchange: Exchange): Promise<Reply> {
  exchange.requireJsonType()
  const bytes = await exchange.request.bytes()
  const { document } = scanDocument(bytes, 0, limitsOf(exchange))
  const id = document.id ?? (exchange.server.newIds(1)[0] as string)
  validateDocumentId(id, idBytesMax(exchange))
  const attachments = await takeAttachments(exchange, id, document)
  const status = document.deleted ? 200 : 201
  const write = { id, document, ...attachments }
  return writeOne(exchange, write, { status, location: true, etag: false })
}

export async function deleteDocument(exchange: Exchange): Promise<Reply> {
  const id = documentId(exchange)
  const rev = revisionOfRequest(exchange.request)
  if (id.startsWith('_local/')) await exchange.database.readLocalDocument(id)
  else await exchange.database.readDocument(id)
  const parts = { id, deleted: true, body: Buffer.from('{}') }
  const document = fromParts(rev === undefined ? parts : { ...parts, rev })
  return writeOne(exchange, { id, document }, { status: 200, location: false })
}

export async function copyDocument(exchange: Exchange): Promise<Reply> {
  const id = documentId(exchange)
  const target = parseDestination(exchange.request)
  validateDocumentId(target.id, idBytesMax(exchange))
  const source = await readSource(exchange, id, revisionOfRequest(exchange.request))
  const parts = { id: target.id, deleted: source.deleted, body: source.body }
  const document = fromParts(target.rev === undefined ? parts : { ...parts, rev: target.rev })
  const attachments = source.attachments.map(stored => ({
    kind: 'kept' as const,
    name: stored.name,
    stored,
  }))
  const write = { id: target.id, document, ...(attachments.length === 0 ? {} : { attachments }) }
  return writeOne(exchange, write, { status: 201, location: true, batch: false })
}

async function readSource(exchange: Exchange, id: string, rev: Revision | undefined) {
  if (id.startsWith('_local/')) {
    const { body } = await exchange.database.readLocalDocument(id)
    return { body, deleted: false, attachments: [] }
  }
  return exchange.database.readDocument(id, rev === undefined ? {} : { rev })
}

interface WriteReply {
  readonly status: number
  /** A text is what follows the document's own path. */
  readonly location: boolean | string
  readonly etag?: boolean
  readonly batch?: boolean
  /** What the request asks for, where nothing is said here. */
  readonly mode?: EditMode
}

/** Writes one document and answers `{ok, id, rev}`. */
export async function writeOne(
  exchange: Exchange,
  write: DocumentWrite,
  { status, location, etag = true, batch = true, mode = modeOf(exchange) }: WriteReply,
): Promise<Reply> {
  const { request, database } = exchange
  const path = `${documentPath(exchange, write.id)}${location === true ? '' : location}`
  const headers = location === false ? [] : ['Location', exchange.url(path)]
  if (batch && request.query.get('batch') === 'ok' && !write.document.deleted) {
    database.writeLater([write], mode)
    return exchange.value(202, { ok: true, id: write.id }, headers)
  }
  const [result] = await database.writeDocuments([write], mode)
  const rev = printRevision(revisionOf(result))
  if (etag) headers.push('ETag', quoteEtag(rev))
  return exchange.value(status, { ok: true, id: write.id, rev }, headers)
}

const modeOf = ({ request }: Exchange): EditMode =>
  request.query.get('new_edits') === 'false' ? 'replicated' : 'interactive'

function revisionOf(result: EditResult | undefined): Revision {
  if (result?.ok) return result.rev
  throw result?.failure ?? new Failure('unexpected')
}

export function documentPath(exchange: Exchange, id: string): string {
  return `/${encodePathPart(exchange.database.name)}/${encodePathPart(id)}`
}

/** `_design%2Fx` in one segment. */
const isUnsplitDesign = ({ request }: Exchange, id: string): boolean =>
  id.startsWith('_design/') && request.segments[1] === id

/** `_design%2Fx` in one segment: readers are sent to the canonical place. */
export function redirectToDesign(exchange: Exchange, id: string): Reply {
  const path = `/${encodePathPart(exchange.database.name)}/${id}`
  const query = exchange.request.query.raw === '' ? '' : `?${exchange.request.query.raw}`
  return { status: 301, headers: ['Location', exchange.url(path + query)] }
}

const idBytesMax = (exchange: Exchange): number =>
  exchange.server.configuration.get(SETTINGS.maxDocumentIdLength)

export const limitsOf = (exchange: Exchange) => ({
  bodyBytesMax: exchange.server.configuration.get(SETTINGS.maxDocumentSize),
  idBytesMax: idBytesMax(exchange),
})

const missing = (): Failure => new Failure('document_missing', { reason: 'missing' })
