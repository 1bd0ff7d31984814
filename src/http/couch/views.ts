/**
 * Views: one question, the same as POST, or several in one request, and what there is to know about the index of a
 * design document. Rows come as texts and are joined; nothing of them is parsed.
 */
import { Failure } from '../../base/errors.ts'
import { after, type MaybePromise } from '../../base/maybe-promise.ts'
import type { OpenedView, ViewAnswer } from '../../core/operations/query-view.ts'
import type { RowWithDocument } from '../../core/operations/view-documents.ts'
import { etagOf, notModifiedReply } from '../kit/conditional.ts'
import type { BodyPiece, Reply } from '../kit/reply.ts'
import { streamDocument } from './document-stream.ts'
import type { Exchange } from './exchange.ts'
import {
  type ParsedViewQuery,
  parseJsonObject,
  parseQueryObject,
  parseViewQuery,
} from './parse-view-query.ts'
import { scoped } from './partition-scope.ts'
import { type PresentOptions, presentDocument } from './present-document.ts'

export function getView(exchange: Exchange): MaybePromise<Reply> {
  const query = scoped(exchange, parseViewQuery(exchange.request.query, undefined, 'view'))
  return after(openView(exchange), view => replyWith(exchange, view, query))
}

export async function postView(exchange: Exchange): Promise<Reply> {
  exchange.requireJsonType()
  const bytes = await exchange.request.bytes()
  const body = parseJsonObject(bytes)
  if (body.has('queries')) {
    const reason = 'The `queries` parameter is no longer supported at this endpoint'
    throw new Failure('request_invalid', { reason })
  }
  const query = scoped(exchange, parseViewQuery(exchange.request.query, body, 'view'))
  return replyWith(exchange, await openView(exchange), query, bytes)
}

export async function postViewQueries(exchange: Exchange): Promise<Reply> {
  exchange.requireJsonType()
  const queries = parseJsonObject(await exchange.request.bytes()).get('queries')
  if (queries === undefined) {
    const reason = 'POST body must include `queries` parameter.'
    throw new Failure('request_invalid', { reason })
  }
  if (!Array.isArray(queries)) {
    throw new Failure('request_invalid', { reason: '`queries` member must be an array.' })
  }
  const parsed = queries.map(query => scoped(exchange, parseQueryObject(query, 'view')))
  const view = await openView(exchange)
  for (const query of parsed) view.check(query)
  const signal = () => exchange.request.signal
  const answers: { query: ParsedViewQuery; answer: ViewAnswer }[] = []
  for (const query of parsed) answers.push({ query, answer: await view.answer(query, signal) })
  const headers = ['Content-Type', exchange.jsonType]
  return { status: 200, headers, body: presentAnswers(exchange, answers) }
}

const openView = ({ database, params }: Exchange): MaybePromise<OpenedView> =>
  database.openView(params.get('ddoc'), params.get('view'))

async function* presentAnswers(
  exchange: Exchange,
  answers: readonly { query: ParsedViewQuery; answer: ViewAnswer }[],
): AsyncGenerator<BodyPiece, void, undefined> {
  let before = '{"results":[\r\n'
  for (const { query, answer } of answers) {
    yield before
    yield* presentAnswer(exchange, query, answer, END)
    before = ',\r\n'
  }
  yield answers.length === 0 ? `${before}\r\n]}\n` : '\r\n]}\n'
}

const replyWith = (
  exchange: Exchange,
  view: OpenedView,
  query: ParsedViewQuery,
  requestBody?: Buffer,
): MaybePromise<Reply> =>
  after(
    view.answer(query, () => exchange.request.signal),
    answer => replyTo(exchange, query, answer, requestBody),
  )

function replyTo(
  exchange: Exchange,
  query: ParsedViewQuery,
  answer: ViewAnswer,
  requestBody: Buffer | undefined,
): Reply {
  const { request, dialect, jsonType } = exchange
  const headers = ['Content-Type', jsonType]
  if (dialect.listingEtags) {
    const seq = query.updateSeq === true ? answer.updateSeq : ''
    const question = ` ${seq} ${request.target} ${jsonType} `
    const etag = etagOf(answer.state, question, requestBody ?? '')
    const unchanged = notModifiedReply(request, etag)
    if (unchanged !== undefined) return unchanged
    headers.push('ETag', etag)
  }
  const { rows } = answer
  if (rows.kind === 'texts' && rows.whole !== undefined) {
    const body = joined(prefixOf(exchange, query, answer), rows.whole)
    return { status: 200, headers, body, inChunks: true }
  }
  return { status: 200, headers, body: presentAnswer(exchange, query, answer, END_OF_BODY) }
}

/** A short answer in one piece. */
function joined(prefix: string, texts: readonly Buffer[]): Buffer {
  let length = prefix.length + END_OF_BODY.length
  for (const text of texts) length += SEPARATOR.length + text.length
  const body = Buffer.allocUnsafe(length)
  let at = body.write(prefix, 'latin1')
  for (let i = 0; i < texts.length; i++) {
    if (i > 0) at += SEPARATOR.copy(body, at)
    at += (texts[i] as Buffer).copy(body, at)
  }
  at += END_OF_BODY.copy(body, at)
  return body.subarray(0, at)
}

/** A batch waits for the next one, so that a short answer is one piece with its end. */
async function* presentAnswer(
  exchange: Exchange,
  query: ParsedViewQuery,
  answer: ViewAnswer,
  end: Buffer,
): AsyncGenerator<BodyPiece, void, undefined> {
  let waiting: Buffer[] = [Buffer.from(prefixOf(exchange, query, answer))]
  if (answer.rows.kind === 'texts') {
    let isFirst = true
    for await (const texts of answer.rows.batches) {
      if (!isFirst) {
        yield Buffer.concat(waiting)
        waiting = []
      }
      for (const text of texts) {
        if (!isFirst) waiting.push(SEPARATOR)
        waiting.push(text)
        isFirst = false
      }
    }
  } else {
    yield* presentDocuments(exchange, query, answer.rows.batches, waiting)
    waiting = []
  }
  waiting.push(end)
  yield Buffer.concat(waiting)
}

const SEPARATOR = Buffer.from(',\r\n')
const END = Buffer.from('\r\n]}')
const END_OF_BODY = Buffer.from('\r\n]}\n')
const DOC = Buffer.from(',"doc":')
const NULL = Buffer.from('null')
const CLOSE = Buffer.from('}')

/** Nothing but ASCII. */
function prefixOf(
  { dialect, database }: Exchange,
  query: ParsedViewQuery,
  { isReduced, total, offset, updateSeq }: ViewAnswer,
): string {
  const isCounted = !isReduced && query.sorted !== false
  const counts = isCounted ? `"total_rows":${total},"offset":${offset},` : ''
  let seq = ''
  if (query.updateSeq === true) {
    const text = dialect.numericSequences
      ? String(updateSeq)
      : JSON.stringify(database.printSequence(updateSeq))
    seq = `"update_seq":${text},`
  }
  return `{${counts}${seq}"rows":[\r\n`
}

async function* presentDocuments(
  exchange: Exchange,
  query: ParsedViewQuery,
  batches: AsyncIterable<readonly RowWithDocument[]>,
  head: readonly Buffer[],
): AsyncGenerator<BodyPiece, void, undefined> {
  const options = presentationOf(exchange, query)
  let isFirst = true
  let pieces = [...head]
  for await (const rows of batches) {
    for (const { text, document } of rows) {
      if (!isFirst) pieces.push(SEPARATOR)
      isFirst = false
      pieces.push(text.subarray(0, text.length - 1), DOC)
      if (document !== undefined && query.attachments === true && document.attachments.length > 0) {
        yield Buffer.concat(pieces)
        pieces = []
        yield* streamDocument(exchange.database, document, () => true, options).body
      } else pieces.push(document === undefined ? NULL : presentDocument(document, options))
      pieces.push(CLOSE)
    }
    yield Buffer.concat(pieces)
    pieces = []
  }
  if (pieces.length > 0) yield Buffer.concat(pieces)
}

const presentationOf = (
  { dialect, database }: Exchange,
  query: ParsedViewQuery,
): PresentOptions => ({
  dialect,
  attEncodingInfo: query.attEncodingInfo === true,
  printSequence: seq => database.printSequence(seq),
})

/** The rows of a view for list functions: what stands in front of them, and batches with commas between the rows. */
export async function viewRows(
  exchange: Exchange,
  view: OpenedView,
  query: ParsedViewQuery,
): Promise<{ head: string; batches: AsyncIterable<Buffer> }> {
  const answer = await view.answer(query, () => exchange.request.signal)
  const { isReduced, total, offset } = answer
  const head = isReduced ? '{}' : JSON.stringify({ total_rows: total, offset })
  return { head, batches: joinedRows(exchange, query, answer) }
}

async function* joinedRows(
  exchange: Exchange,
  query: ParsedViewQuery,
  { rows }: ViewAnswer,
): AsyncGenerator<Buffer, void, undefined> {
  if (rows.kind === 'texts') {
    for await (const texts of rows.batches) {
      const pieces = texts.flatMap((text, at) => (at === 0 ? [text] : [SEPARATOR, text]))
      if (pieces.length > 0) yield Buffer.concat(pieces)
    }
    return
  }
  const options = presentationOf(exchange, query)
  for await (const batch of rows.batches) {
    const pieces = batch.flatMap(({ text, document }, at) => [
      ...(at === 0 ? [] : [SEPARATOR]),
      text.subarray(0, text.length - 1),
      DOC,
      document === undefined ? NULL : presentDocument(document, options),
      CLOSE,
    ])
    if (pieces.length > 0) yield Buffer.concat(pieces)
  }
}

export async function getDesignInfo(exchange: Exchange): Promise<Reply> {
  const name = exchange.params.get('ddoc')
  const info = await exchange.database.viewInfo(name)
  const pending = info.pendingCount
  const { fileBytes: file, liveBytes: active } = info
  const index = {
    updates_pending: { minimum: pending, preferred: pending, total: pending },
    waiting_commit: false,
    waiting_clients: info.waitingCount,
    updater_running: info.updaterRunning,
    update_seq: info.updateSeq,
    sizes: { file, external: active, active },
    ...(exchange.dialect.oldViewInfoFields ? { data_size: active, disk_size: file } : {}),
    signature: info.signature,
    purge_seq: info.purgeSeq,
    language: info.language,
    compact_running: info.compactRunning,
    collator_versions: [info.collatorVersion],
  }
  return exchange.value(200, { name, view_index: index })
}
