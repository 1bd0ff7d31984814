/**
 * `_all_docs`, `_design_docs` and `_local_docs`: a range of ids, named ids, or several such queries in one request. The
 * answer is streamed batch by batch; rows are copied from the stored bytes (`present-rows.ts`).
 */
import { Failure } from '../../base/errors.ts'
import type {
  KeyedListing,
  ListedDocument,
  Listing,
  ListingHead,
  ListingRange,
  Namespace,
} from '../../core/operations/list-documents.ts'
import { etagOf, notModifiedReply } from '../kit/conditional.ts'
import type { BodyPiece, Reply } from '../kit/reply.ts'
import { streamDocument } from './document-stream.ts'
import type { Exchange, Handler } from './exchange.ts'
import {
  type ParsedViewQuery,
  parseJsonObject,
  parseQueryObject,
  parseViewQuery,
} from './parse-view-query.ts'
import { scoped } from './partition-scope.ts'
import { type PresentOptions, presentDocument } from './present-document.ts'
import { RowWriter } from './present-rows.ts'
import { storedUserIds } from './user-ids.ts'

export const getAllDocs: Handler = exchange => getListing(exchange, 'all')
export const postAllDocs: Handler = exchange => postListing(exchange, 'all')
export const queryAllDocs: Handler = exchange => postQueries(exchange, 'all')
export const getDesignDocs: Handler = exchange => getListing(exchange, 'design')
export const postDesignDocs: Handler = exchange => postListing(exchange, 'design')
export const queryDesignDocs: Handler = exchange => postQueries(exchange, 'design')
export const getLocalDocs: Handler = exchange => getListing(exchange, 'local')
export const postLocalDocs: Handler = exchange => postListing(exchange, 'local')
export const queryLocalDocs: Handler = exchange => postQueries(exchange, 'local')

function getListing(exchange: Exchange, namespace: Namespace): Promise<Reply> {
  return replyWith(exchange, namespace, scoped(exchange, parseViewQuery(exchange.request.query)))
}

async function postListing(exchange: Exchange, namespace: Namespace): Promise<Reply> {
  exchange.requireJsonType()
  const bytes = await exchange.request.bytes()
  const query = parseViewQuery(exchange.request.query, parseJsonObject(bytes))
  return replyWith(exchange, namespace, scoped(exchange, query), bytes)
}

async function postQueries(exchange: Exchange, namespace: Namespace): Promise<Reply> {
  const queries = parseJsonObject(await exchange.request.bytes()).get('queries')
  if (queries === undefined) {
    throw new Failure('request_invalid', {
      reason: 'POST body must include `queries` parameter.',
    })
  }
  if (!Array.isArray(queries)) {
    throw new Failure('request_invalid', { reason: '`queries` member must be an array.' })
  }
  const parsed = queries.map(value => scoped(exchange, withSingleKey(parseQueryObject(value))))
  for (const query of parsed) checkQuery(query)
  exchange.database.requireListing()
  const headers = ['Content-Type', exchange.jsonType]
  return { status: 200, headers, body: presentQueries(exchange, namespace, parsed) }
}

async function* presentQueries(
  exchange: Exchange,
  namespace: Namespace,
  queries: readonly ParsedViewQuery[],
): AsyncGenerator<BodyPiece, void, undefined> {
  let before = '{"results":[\r\n'
  for (const query of queries) {
    yield before
    yield* (await openListing(exchange, namespace, query)).body
    before = ',\r\n'
  }
  yield queries.length === 0 ? `${before}\r\n]}\n` : '\r\n]}\n'
}

async function replyWith(
  exchange: Exchange,
  namespace: Namespace,
  query: ParsedViewQuery,
  requestBody?: Buffer,
): Promise<Reply> {
  checkQuery(query)
  const { state, body } = await openListing(exchange, namespace, query)
  const headers = ['Content-Type', exchange.jsonType]
  if (exchange.dialect.listingEtags && state !== null) {
    // Of the state of the database and the question; rows read later may be newer than it, never older.
    const question = ` ${exchange.request.target} ${exchange.jsonType} `
    const etag = etagOf(state, question, requestBody ?? '')
    const unchanged = notModifiedReply(exchange.request, etag)
    if (unchanged !== undefined) return unchanged
    headers.push('ETag', etag)
  }
  return { status: 200, headers, body: withLineFeed(body) }
}

async function* withLineFeed(
  body: AsyncIterable<BodyPiece>,
): AsyncGenerator<BodyPiece, void, undefined> {
  yield* body
  yield '\n'
}

async function openListing(
  exchange: Exchange,
  namespace: Namespace,
  query: ParsedViewQuery,
): Promise<{ state: string | null; body: AsyncIterable<BodyPiece> }> {
  const { database } = exchange
  if (query.keys === undefined) {
    const listing = await database.listDocuments(namespace, rangeOf(query))
    return { state: listing.state, body: presentRange(exchange, query, listing) }
  }
  const keys = selectKeys(query, query.keys, namespace)
  const ids = await storedUserIds(exchange, keys.map(textOfKey))
  const listing = await database.listNamedDocuments(namespace, ids, query.partition)
  return { state: listing.state, body: presentNamed(exchange, query, listing, keys) }
}

/** The same rows for list functions: what stands in front of them, and batches with commas between the rows. */
export async function listingRows(
  exchange: Exchange,
  query: ParsedViewQuery,
): Promise<{ head: string; batches: AsyncIterable<Buffer> }> {
  checkQuery(query)
  const { database } = exchange
  const keys = query.keys && selectKeys(query, query.keys, 'all')
  const listing =
    keys === undefined
      ? await database.listDocuments('all', rangeOf(query))
      : await database.listNamedDocuments('all', keys.map(textOfKey), query.partition)
  const head = JSON.stringify({ total_rows: listing.total, offset: listing.offset })
  return { head, batches: joinedRows(exchange, query, listing.rows, keys) }
}

async function* joinedRows(
  exchange: Exchange,
  query: ParsedViewQuery,
  batches: AsyncIterable<readonly (ListedDocument | undefined)[]>,
  keys: readonly Buffer[] | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  let next = 0
  for await (const rows of batches) {
    const writer = rowWriter(exchange, query)
    for (const row of rows) {
      const key = keys?.[next++]
      if (row !== undefined) writer.row(row)
      else writer.text(`{"key":${key?.toString()},"error":"not_found"}`, true)
    }
    if (writer.length > 0) yield writer.take()
  }
}

async function* presentRange(
  exchange: Exchange,
  query: ParsedViewQuery,
  listing: Listing,
): AsyncGenerator<BodyPiece, void, undefined> {
  const writer = rowWriter(exchange, query)
  writer.text(prefixOf(exchange, query, listing))
  for await (const rows of listing.rows) {
    for (const row of rows) {
      if (!hasData(query, row)) writer.row(row)
      else yield* rowWithData(exchange, query, writer, row)
      if (writer.length > PIECE_BYTES) yield writer.take()
    }
    if (writer.length > 0) yield writer.take()
  }
  writer.text('\r\n]}')
  yield writer.take()
}

/** One buffer handed on; a batch of large documents makes several. */
const PIECE_BYTES = 1024 * 1024

async function* presentNamed(
  exchange: Exchange,
  query: ParsedViewQuery,
  listing: KeyedListing,
  keys: readonly Buffer[],
): AsyncGenerator<BodyPiece, void, undefined> {
  const writer = rowWriter(exchange, query)
  writer.text(prefixOf(exchange, query, listing))
  let next = 0
  for await (const rows of listing.rows) {
    for (const row of rows) {
      const key = keys[next++] as Buffer
      if (row === undefined) writer.text(`{"key":${key.toString()},"error":"not_found"}`, true)
      else if (hasData(query, row)) yield* rowWithData(exchange, query, writer, row)
      else writer.row(row)
    }
    if (writer.length > 0) yield writer.take()
  }
  writer.text('\r\n]}')
  yield writer.take()
}

/** Attachments come with their data, piece by piece. */
const hasData = (query: ParsedViewQuery, row: ListedDocument): boolean =>
  row.hasAttachments && query.attachments === true && query.includeDocs === true && !row.deleted

async function* rowWithData(
  exchange: Exchange,
  query: ParsedViewQuery,
  writer: RowWriter,
  row: ListedDocument,
): AsyncGenerator<BodyPiece, void, undefined> {
  writer.beginRow(row)
  writer.beginDocument()
  yield writer.take()
  const view = row.view({ conflicts: query.conflicts === true })
  yield* streamDocument(exchange.database, view, () => true, presentation(exchange, query)).body
  writer.text('}')
}

const presentation = ({ dialect, database }: Exchange, query: ParsedViewQuery): PresentOptions => ({
  dialect,
  attEncodingInfo: query.attEncodingInfo === true,
  printSequence: seq => database.printSequence(seq),
})

function rowWriter(exchange: Exchange, query: ParsedViewQuery): RowWriter {
  const conflicts = query.conflicts === true
  const options = presentation(exchange, query)
  return new RowWriter({
    separator: ',\r\n',
    includeDocs: query.includeDocs === true,
    conflicts,
    revText: exchange.dialect.localDocsRevIsConstant ? '0-1' : undefined,
    presentOthers: row => presentDocument(row.view({ conflicts }), options),
  })
}

function prefixOf(
  { dialect, database }: Exchange,
  query: ParsedViewQuery,
  { total, offset, updateSeq }: ListingHead,
): string {
  let seq = ''
  if (query.updateSeq === true) {
    const text =
      updateSeq === null || dialect.numericSequences
        ? String(updateSeq)
        : JSON.stringify(database.printSequence(updateSeq))
    seq = `"update_seq":${text},`
  }
  return `{"total_rows":${total},"offset":${offset},${seq}"rows":[\r\n`
}

/** Documents have no reduction and are their own keys. */
function checkQuery(query: ParsedViewQuery): void {
  const { group, groupLevel, keys } = query
  if (query.reduce === true) throw invalid('Reduce is invalid for map-only views.')
  if (keys !== undefined && (query.startKey !== undefined || query.endKey !== undefined)) {
    throw invalid('`keys` is incompatible with `key`, `start_key` and `end_key`')
  }
  if (group === true || (groupLevel ?? 0) > 0) {
    throw invalid('Invalid use of grouping on a map view.')
  }
}

const invalid = (reason: string): Failure => new Failure('query_invalid', { reason })

/** In a list of queries, one key in `keys` is as good as `key`. */
function withSingleKey(query: ParsedViewQuery): ParsedViewQuery {
  const [key, ...others] = query.keys ?? []
  if (key === undefined || others.length > 0) return query
  return { ...query, keys: undefined, startKey: key, endKey: key }
}

const rangeOf = (query: ParsedViewQuery): ListingRange => ({
  start: boundOf(query.startKey),
  end: boundOf(query.endKey),
  inclusiveEnd: query.inclusiveEnd,
  descending: query.descending,
  skip: query.skip,
  limit: query.limit,
  partition: query.partition,
})

/** Anything that is no text sorts below all ids. */
function boundOf(key: Buffer | undefined): string | null | undefined {
  return key === undefined ? undefined : (textOfKey(key) ?? null)
}

const textOfKey = (key: Buffer): string | undefined =>
  key[0] === 0x22 ? (JSON.parse(key.toString()) as string) : undefined

function selectKeys(
  { descending, skip = 0, limit }: ParsedViewQuery,
  keys: readonly Buffer[],
  namespace: Namespace,
): readonly Buffer[] {
  const own =
    namespace === 'all' ? keys : keys.filter(key => isOfNamespace(textOfKey(key), namespace))
  const ordered = descending === true ? own.toReversed() : own
  return ordered.slice(skip, limit === undefined ? undefined : skip + limit)
}

const isOfNamespace = (id: string | undefined, namespace: Namespace): boolean =>
  id?.startsWith(namespace === 'design' ? '_design/' : '_local/') === true
