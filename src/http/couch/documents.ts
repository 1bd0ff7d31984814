/** One document: read, written, deleted, copied. */
import { Failure } from '../../base/errors.ts'
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { EditResult } from '../../core/database/commit-edits.ts'
import { validateDocumentId } from '../../core/document/document-id.ts'
import { documentText } from '../../core/document/document-text.ts'
import { fromParts, scanDocument } from '../../core/document/incoming-document.ts'
import { printRevision, type Revision } from '../../core/document/revision.ts'
import type { DocumentWrite } from '../../core/operations/write-documents.ts'
import { etagOf, notModifiedReply, quoteEtag } from '../kit/conditional.ts'
import type { Reply } from '../kit/reply.ts'
import { encodePathPart } from './encode-path.ts'
import type { Exchange } from './exchange.ts'
import {
  documentId,
  isTrue,
  parseDestination,
  parseReadOptions,
  revisionOfRequest,
  withRevisionOfRequest,
} from './parse-document.ts'
import { hasMeta, presentDocument } from './present-document.ts'

export async function getDocument(exchange: Exchange): Promise<Reply> {
  const { query } = exchange.request
  const id = documentId(exchange)
  const view = await exchange.database.readDocument(id, parseReadOptions(query))
  const headers: string[] = []
  if (!hasMeta(view)) {
    const etag = quoteEtag(printRevision(view.rev))
    const unchanged = notModifiedReply(exchange.request, etag)
    if (unchanged !== undefined) return unchanged
    headers.push('ETag', etag)
  }
  const body = presentDocument(view, {
    dialect: exchange.dialect,
    attEncodingInfo: isTrue(query, 'att_encoding_info'),
    printSequence: seq => exchange.database.printSequence(seq),
  })
  return exchange.json(200, body, headers)
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
  const { document } = scanDocument(await exchange.request.bytes(), 0, limitsOf(exchange))
  const write: DocumentWrite = { id, document: withRevisionOfRequest(document, exchange.request) }
  const status = document.deleted ? 200 : 201
  return writeOne(exchange, write, { status, location: true })
}

export async function postDocument(exchange: Exchange): Promise<Reply> {
  exchange.requireJsonType()
  const bytes = await exchange.request.bytes()
  const { document } = scanDocument(bytes, 0, limitsOf(exchange))
  const id = document.id ?? (exchange.server.newIds(1)[0] as string)
  validateDocumentId(id, idBytesMax(exchange))
  const status = document.deleted ? 200 : 201
  return writeOne(exchange, { id, document }, { status, location: true, etag: false })
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
  readonly location: boolean
  readonly etag?: boolean
  readonly batch?: boolean
}

/** Writes one document and answers `{ok, id, rev}`. */
export async function writeOne(
  exchange: Exchange,
  write: DocumentWrite,
  { status, location, etag = true, batch = true }: WriteReply,
): Promise<Reply> {
  const { request, database } = exchange
  const mode = request.query.get('new_edits') === 'false' ? 'replicated' : 'interactive'
  const headers = location ? ['Location', exchange.url(documentPath(exchange, write.id))] : []
  if (batch && request.query.get('batch') === 'ok' && !write.document.deleted) {
    database.writeLater([write], mode)
    return exchange.value(202, { ok: true, id: write.id }, headers)
  }
  const [result] = await database.writeDocuments([write], mode)
  const rev = printRevision(revisionOf(result))
  if (etag) headers.push('ETag', quoteEtag(rev))
  return exchange.value(status, { ok: true, id: write.id, rev }, headers)
}

function revisionOf(result: EditResult | undefined): Revision {
  if (result?.ok) return result.rev
  throw result?.failure ?? new Failure('unexpected')
}

export function documentPath(exchange: Exchange, id: string): string {
  return `/${encodePathPart(exchange.database.name)}/${encodePathPart(id)}`
}

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
