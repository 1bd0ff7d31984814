/**
 * `_bulk_get`: revisions of many documents, each with its own result or error, in the order asked for. As JSON
 * here; the multipart forms are in `open-revisions.ts`.
 */
import { Failure, isFailure } from '../../base/errors.ts'
import { validateDocumentId } from '../../core/document/document-id.ts'
import { parseRevision, printRevision, type Revision } from '../../core/document/revision.ts'
import type { Opened } from '../../core/operations/open-many.ts'
import { joinBatch } from '../kit/json-stream.ts'
import type { BodyPiece, Reply } from '../kit/reply.ts'
import { type DataWanted, needsHistory } from './document-stream.ts'
import { limitsOf } from './documents.ts'
import { presentFailure } from './error-table.ts'
import type { Exchange } from './exchange.ts'
import {
  type BulkGetPart,
  bulkGetMultipart,
  type RevisionOptions,
  revisionText,
} from './open-revisions.ts'
import { isTrue } from './parse-document.ts'
import { presentOptions } from './present-document.ts'

export async function postBulkGet(exchange: Exchange): Promise<Reply> {
  const items = await parseBulkGet(exchange)
  const { request } = exchange
  const options: RevisionOptions = {
    data: isTrue(request.query, 'attachments') ? 'all' : 'none',
    revs: isTrue(request.query, 'revs'),
    present: presentOptions(exchange),
  }
  const type = multipartType(exchange)
  if (type !== undefined) {
    return bulkGetMultipart(exchange, type, multipartParts(exchange, items, options), options)
  }
  const headers = ['Content-Type', exchange.jsonType]
  return { status: 200, headers, body: presentResults(exchange, items, options) }
}

/** Only for those who do not take JSON. */
function multipartType({ request }: Exchange): 'mixed' | 'related' | undefined {
  if (request.accepts('application/json')) return undefined
  if (request.accepts('multipart/mixed')) return 'mixed'
  return request.accepts('multipart/related') ? 'related' : undefined
}

async function* presentResults(
  exchange: Exchange,
  items: readonly BulkGetItem[],
  options: RevisionOptions,
): AsyncGenerator<BodyPiece, void, undefined> {
  const pieces = new Pieces('{"results":[')
  let before = ''
  for await (const batch of openItems(exchange, items, options)) {
    for (const { item, opened } of batch) {
      // Those who may see less are told nothing at all about what is not for them.
      if (opened?.length === 0) continue
      pieces.text(`${before}{"id":${JSON.stringify(idOf(item))},"docs":[`)
      before = ','
      const data = dataOf(item, options)
      const own = data === options.data ? options : { ...options, data }
      let between = ''
      for (const part of partsOf(item, opened)) {
        if ('error' in part) pieces.text(`${between}{"error":${part.error}}`)
        else {
          pieces.text(`${between}{"ok":`)
          const text = revisionText(exchange, part.ok, own)
          if (Symbol.iterator in text) for (const piece of text) pieces.bytes(piece)
          else {
            yield pieces.take()
            yield* text
          }
          pieces.text('}')
        }
        between = ','
      }
      pieces.text(']}')
    }
    yield pieces.take()
  }
  pieces.text(']}\n')
  yield pieces.take()
}

/** Texts and bytes on their way into one buffer; neighbouring texts become one, since each write costs. */
class Pieces {
  #pieces: (Buffer | string)[] = []
  #text: string

  constructor(text: string) {
    this.#text = text
  }

  text(text: string): void {
    this.#text += text
  }

  bytes(bytes: Buffer): void {
    this.#pieces.push(this.#text, bytes)
    this.#text = ''
  }

  take(): Buffer | string {
    const taken = joinBatch('', '', [...this.#pieces, this.#text])
    this.#pieces = []
    this.#text = ''
    return taken
  }
}

async function* multipartParts(
  exchange: Exchange,
  items: readonly BulkGetItem[],
  options: RevisionOptions,
): AsyncGenerator<BulkGetPart, void, undefined> {
  for await (const batch of openItems(exchange, items, options)) {
    for (const { item, opened } of batch) {
      const data = dataOf(item, options)
      for (const part of partsOf(item, opened)) yield 'ok' in part ? { ...part, data } : part
    }
  }
}

interface OpenedItem {
  readonly item: BulkGetItem
  readonly opened: Opened
}

/** The items with what was found, in order; refused ones between the others. */
async function* openItems(
  exchange: Exchange,
  items: readonly BulkGetItem[],
  { revs }: RevisionOptions,
): AsyncGenerator<OpenedItem[], void, undefined> {
  const entries = items.filter(item => !('refused' in item)) as BulkGetEntry[]
  const withHistory = revs || entries.some(({ attsSince }) => needsHistory(attsSince ?? 'none'))
  const latest = isTrue(exchange.request.query, 'latest')
  let next = 0
  for await (const batch of exchange.database.openMany(entries, { latest, revs: withHistory })) {
    const found: OpenedItem[] = []
    for (const opened of batch) {
      for (; 'refused' in (items[next] as BulkGetItem); next++) {
        found.push({ item: items[next] as BulkGetItem, opened: undefined })
      }
      found.push({ item: items[next++] as BulkGetItem, opened })
    }
    yield found
  }
  const rest = items.slice(next).map(item => ({ item, opened: undefined }))
  if (rest.length > 0) yield rest
}

const idOf = (item: BulkGetItem): unknown => ('refused' in item ? item.refused.id : item.id)

const dataOf = (item: BulkGetItem, { data }: RevisionOptions): DataWanted =>
  'refused' in item ? data : (item.attsSince ?? data)

function partsOf(item: BulkGetItem, opened: Opened): BulkGetPart[] {
  if ('refused' in item) return [{ error: printError(item.refused) }]
  const { id } = item
  const missing = { id, error: 'not_found', reason: 'missing' }
  if (opened === undefined) return [{ error: printError({ ...missing, rev: 'undefined' }) }]
  return opened.map(each =>
    'ok' in each ? each : { error: printError({ ...missing, rev: printRevision(each.missing) }) },
  )
}

const printError = ({ id, rev, error, reason }: BulkGetError): string =>
  JSON.stringify({ id, rev, error, reason })

/** One entry of the request. */
interface BulkGetEntry {
  readonly id: string
  readonly wanted: 'all' | readonly Revision[]
  readonly attsSince: readonly Revision[] | undefined
}

interface BulkGetError {
  readonly id: unknown
  readonly rev: unknown
  readonly error: string
  readonly reason: unknown
}

type BulkGetItem = BulkGetEntry | { readonly refused: BulkGetError }

/** The documents asked for, in order. Fails for the whole request where CouchDB does. */
async function parseBulkGet(exchange: Exchange): Promise<BulkGetItem[]> {
  exchange.requireJsonType()
  const { query } = exchange.request
  for (const name of ['open_revs', 'new_edits', 'w', 'rev', 'atts_since']) {
    if (!query.has(name)) continue
    const reason = `"${name}" query parameter is not acceptable`
    throw new Failure('request_invalid', { reason })
  }
  const { docs } = await exchange.jsonObject()
  if (!Array.isArray(docs)) {
    throw new Failure('request_invalid', { reason: "Missing JSON list of 'docs'." })
  }
  const { idBytesMax } = limitsOf(exchange)
  return docs.map((doc: unknown) => parseBulkGetEntry(exchange, doc, idBytesMax))
}

function parseBulkGetEntry(exchange: Exchange, doc: unknown, idBytesMax: number): BulkGetItem {
  if (!isFilledObject(doc)) {
    return refused(null, null, 'document must be a JSON object')
  }
  const id = doc.id ?? null
  if (id === null) return refused(null, null, 'document id missed')
  if (typeof id !== 'string') validateDocumentId(id)
  try {
    validateDocumentId(id, idBytesMax)
    exchange.database.checkId(id)
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown
    const { error, reason } = presentFailure(thrown, exchange.dialect)
    return { refused: { id: id as string, rev: null, error, reason } }
  }
  return readEntry(id, doc.rev, doc.atts_since)
}

const isFilledObject = (doc: unknown): doc is Readonly<Record<string, unknown>> =>
  typeof doc === 'object' && doc !== null && !Array.isArray(doc) && Object.keys(doc).length > 0

function readEntry(id: string, rev: unknown, attsSince: unknown): BulkGetItem {
  try {
    const wanted = rev === undefined || rev === null ? 'all' : [parseRevision(rev)]
    if (attsSince !== undefined && attsSince !== null && !Array.isArray(attsSince)) {
      return refused(id, attsSince, 'att_since value must be array of revs.')
    }
    return {
      id,
      wanted,
      attsSince: Array.isArray(attsSince) ? attsSince.map(parseRevision) : undefined,
    }
  } catch (thrown) {
    if (!isFailure(thrown)) throw thrown
    return refused(id, rev ?? null, String(thrown.detail.reason))
  }
}

const refused = (id: unknown, rev: unknown, reason: string): BulkGetItem => ({
  refused: { id, rev, error: 'bad_request', reason },
})
