/** Several revisions of one document in one answer (`open_revs`), as JSON or as multipart/mixed. */
import { Failure } from '../../base/errors.ts'
import { printRevision, type Revision } from '../../core/document/revision.ts'
import type { DocumentView, OpenedRevision } from '../../core/operations/read-document.ts'
import { newBoundary, type OutgoingPart, writeMultipart } from '../kit/multipart-writer.ts'
import type { Reply } from '../kit/reply.ts'
import {
  type DataWanted,
  dataChoice,
  needsHistory,
  parseDataWanted,
  streamDocument,
  withoutHistory,
} from './document-stream.ts'
import type { Exchange } from './exchange.ts'
import { relatedDocument } from './multipart-documents.ts'
import { isTrue, parseOpenRevs } from './parse-document.ts'
import { type PresentOptions, presentDocument, presentOptions } from './present-document.ts'

/** How revisions shall look: what came with the request, besides which they are. */
export interface RevisionOptions {
  readonly data: DataWanted
  /** The history is shown; else it may be there for other reasons. */
  readonly revs: boolean
  readonly present: PresentOptions
}

export async function openRevisionsReply(exchange: Exchange, id: string): Promise<Reply> {
  const { request, database } = exchange
  const { query } = request
  const revs = isTrue(query, 'revs')
  const data = parseDataWanted(query)
  const opened = await database.openRevisions(id, parseOpenRevs(query.get('open_revs') ?? ''), {
    latest: isTrue(query, 'latest'),
    revs: revs || needsHistory(data),
  })
  if (opened === undefined) throw new Failure('document_missing', { reason: 'missing' })
  const options = { data, revs, present: presentOptions(exchange) }
  if (!request.accepts('multipart/mixed')) {
    const headers = ['Content-Type', exchange.jsonType]
    return { status: 200, headers, body: jsonList(exchange, opened, options) }
  }
  const boundary = newBoundary()
  const mixed = { ...options, data: data === 'none' ? ('all' as const) : data }
  const parts = opened.map(each => mixedPart(exchange, each, mixed))
  const headers = ['Content-Type', `multipart/mixed; boundary="${boundary}"`]
  return { status: 200, headers, body: writeMultipart(boundary, parts) }
}

async function* jsonList(
  exchange: Exchange,
  opened: readonly OpenedRevision[],
  options: RevisionOptions,
): AsyncGenerator<Buffer | string, void, undefined> {
  let before = '['
  for (const each of opened) {
    if ('missing' in each) yield `${before}${missingText(each.missing)}`
    else {
      yield `${before}{"ok":`
      yield* revisionText(exchange, each.ok, options)
      yield '}'
    }
    before = ','
  }
  yield opened.length === 0 ? '[]\n' : ']\n'
}

const missingText = (rev: Revision): string => JSON.stringify({ missing: printRevision(rev) })

/** One revision as JSON text, with the data asked for in it. */
export function revisionText(
  exchange: Exchange,
  view: DocumentView,
  { data, revs, present }: RevisionOptions,
): AsyncIterable<Buffer> | Iterable<Buffer> {
  const shown = revs ? view : withoutHistory(view)
  if (data === 'none' || view.attachments.length === 0) return [presentDocument(shown, present)]
  return streamDocument(exchange.database, shown, dataChoice(view, data), present).body
}

/** One revision as a part: multipart/related when attachment data goes with it, else JSON. */
export function revisionPart(
  exchange: Exchange,
  view: DocumentView,
  { data, revs, present }: RevisionOptions,
): OutgoingPart {
  const shown = revs ? view : withoutHistory(view)
  const choice = dataChoice(view, data)
  const related = relatedDocument(exchange.database, shown, choice, present)
  if (related !== undefined) {
    return { headers: ['Content-Type', related.contentType], body: related.body }
  }
  const body = presentDocument(shown, present)
  return { headers: ['Content-Type', 'application/json'], body }
}

function mixedPart(
  exchange: Exchange,
  opened: OpenedRevision,
  options: RevisionOptions,
): OutgoingPart {
  if ('ok' in opened) return revisionPart(exchange, opened.ok, options)
  return errorPart(missingText(opened.missing))
}

export const errorPart = (json: string): OutgoingPart => ({
  headers: ['Content-Type', 'application/json; error="true"'],
  body: Buffer.from(json),
})

/** A result of `_bulk_get`: a revision, or why there is none (JSON text). */
export type BulkGetPart = BulkGetRevision | { readonly error: string }

export interface BulkGetRevision {
  readonly ok: DocumentView
  /** Which data goes with it, where that differs from what all get. */
  readonly data?: DataWanted
}

/**
 * The results of `_bulk_get` as multipart. Its bytes are not those of `open_revs`: parts of documents with attachments
 * carry id and revision, and boundary lines stand in front.
 */
export function bulkGetMultipart(
  exchange: Exchange,
  type: 'mixed' | 'related',
  results: AsyncIterable<BulkGetPart>,
  options: RevisionOptions,
): Reply {
  const boundary = `--${newBoundary()}`
  const headers = ['Content-Type', `multipart/${type}; boundary="${boundary}"`]
  return { status: 200, headers, body: bulkGetBody(exchange, boundary, results, options) }
}

async function* bulkGetBody(
  exchange: Exchange,
  boundary: string,
  results: AsyncIterable<BulkGetPart>,
  options: RevisionOptions,
): AsyncGenerator<Buffer | string, void, undefined> {
  let count = 0
  for await (const result of results) {
    count++
    const { headers, body } =
      'ok' in result ? bulkGetPart(exchange, result, options) : errorPart(result.error)
    yield `\r\n--${boundary}\r\n${headerLines(headers)}\r\n`
    if (Buffer.isBuffer(body)) yield body
    else yield* body
  }
  if (count > 0) yield `\r\n--${boundary}--\r\n`
}

function bulkGetPart(
  exchange: Exchange,
  { ok: view, data }: BulkGetRevision,
  options: RevisionOptions,
): OutgoingPart {
  const part = revisionPart(exchange, view, { ...options, data: data ?? options.data })
  if (Buffer.isBuffer(part.body)) return part
  const names = ['X-Doc-Id', headerText(view.id), 'X-Rev-Id', printRevision(view.rev)]
  return { ...part, headers: [...names, ...part.headers] }
}

/** An id may hold line breaks; a header may not. */
const headerText = (text: string): string => text.replace(/[\x00-\x1f\x7f]/g, encodeURIComponent)

function headerLines(headers: readonly string[]): string {
  let lines = ''
  for (let at = 0; at + 1 < headers.length; at += 2) {
    lines += `${headers[at]}: ${headers[at + 1]}\r\n`
  }
  return lines
}
