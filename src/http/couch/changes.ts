/** The changes feed: `GET` and `POST /{db}/_changes` in all its kinds. */
import type { ChangeRow } from '../../core/operations/change-rows.ts'
import type { ChangesEvent } from '../../core/operations/follow-changes.ts'
import { etagOf, notModifiedReply } from '../kit/conditional.ts'
import { type BodyPiece, FLUSH, type Reply } from '../kit/reply.ts'
import { streamDocument } from './document-stream.ts'
import { type Exchange, parseJsonBytes, requireObject } from './exchange.ts'
import { type ChangesBody, type ParsedChanges, parseChanges } from './parse-changes-query.ts'
import { type ChangesFrame, ChangeWriter } from './present-changes.ts'
import { type PresentOptions, presentDocument } from './present-document.ts'

export function getChanges(exchange: Exchange): Promise<Reply> {
  return answerChanges(exchange, undefined)
}

export async function postChanges(exchange: Exchange): Promise<Reply> {
  exchange.requireJsonType()
  const bytes = await exchange.request.bytes()
  const json = bytes.length === 0 ? {} : requireObject(parseJsonBytes(bytes))
  return answerChanges(exchange, { json, bytes })
}

async function answerChanges(exchange: Exchange, sent: ChangesBody | undefined): Promise<Reply> {
  const { request, user } = exchange
  const parsed = parseChanges(exchange, sent)
  const feed = await exchange.database.openChanges(parsed.query)
  if (parsed.query.feed !== 'normal') {
    const events = feed.events(request.feedSignal)
    const headers = parsed.isEventSource ? EVENT_HEADERS : ['Content-Type', exchange.jsonType]
    return { status: 200, headers, body: present(exchange, parsed, events) }
  }
  // What a filter function answers depends on who asks.
  const asker = JSON.stringify([user.name, user.roles])
  const etag = etagOf(feed.tag, request.query.raw, '\n', asker, sent?.bytes ?? '')
  const unchanged = notModifiedReply(request, etag)
  if (unchanged !== undefined) return unchanged
  const headers = ['Content-Type', exchange.jsonType, 'ETag', etag]
  return { status: 200, headers, body: present(exchange, parsed, feed.events(request.signal)) }
}

const EVENT_HEADERS = ['Content-Type', 'text/event-stream', 'Cache-Control', 'no-cache']

/** How a kind of feed looks on the wire around its rows. */
interface FeedText {
  readonly frame: ChangesFrame
  readonly start: string
  readonly heartbeat: string
  /** Sent when a feed begins to wait and has said nothing yet. */
  readonly firstWait: string
  /** Sent before rows that had to be waited for. */
  readonly beforeLate: string
  readonly end: (lastSeq: string, pending: number) => string
}

function feedText(exchange: Exchange, { query, isEventSource }: ParsedChanges): FeedText {
  if (isEventSource) return EVENT_TEXT
  return query.feed === 'continuous' ? lineText(exchange.dialect.continuousLineEnd) : ONE_TEXT
}

const ONE_TEXT: FeedText = {
  frame: { beforeRow: '', betweenRows: ',\r\n', afterRow: () => '' },
  start: '{"results":[\n',
  heartbeat: '\n',
  firstWait: '\n',
  beforeLate: '\n',
  end: (lastSeq, pending) => `\n],\n"last_seq":"${lastSeq}","pending":${pending}}\n\n`,
}

const lineText = (lineEnd: string): FeedText => ({
  frame: { beforeRow: '', betweenRows: '', afterRow: () => lineEnd },
  start: '',
  heartbeat: lineEnd,
  firstWait: lineEnd,
  beforeLate: '',
  end: (lastSeq, pending) => `{"last_seq":"${lastSeq}","pending":${pending}}${lineEnd}${lineEnd}`,
})

/** An event without a name is a `message` to every reader of event streams. */
const EVENT_TEXT: FeedText = {
  frame: {
    beforeRow: 'data: ',
    betweenRows: '',
    afterRow: seq => (seq === undefined ? '\n\n' : `\nid: ${seq}\n\n`),
  },
  start: '',
  heartbeat: 'event: heartbeat\ndata: \n\n',
  firstWait: '\n',
  beforeLate: '',
  end: () => '',
}

async function* present(
  exchange: Exchange,
  parsed: ParsedChanges,
  events: AsyncIterable<ChangesEvent>,
): AsyncGenerator<BodyPiece, void, undefined> {
  const text = feedText(exchange, parsed)
  const options = presentOptionsOf(exchange, parsed)
  const { database } = exchange
  const writer = new ChangeWriter({
    frame: text.frame,
    printSequence: seq => database.printSequence(seq),
    seqInterval: parsed.seqInterval,
    limit: parsed.query.limit,
    presentView: view => presentDocument(view, options),
  })
  let isSilent = true
  let waited = false
  for await (const event of events) {
    if (isSilent) yield text.start
    switch (event.kind) {
      case 'rows':
        if (waited) yield text.beforeLate
        if (parsed.attachments) yield* withData(exchange, writer, event.rows, options)
        else {
          for (const row of event.rows) writer.row(row)
          yield writer.take()
        }
        break
      case 'waiting':
        if (isSilent) yield text.firstWait
        waited = true
        yield FLUSH
        break
      case 'heartbeat':
        yield text.heartbeat
        yield FLUSH
        break
      case 'end':
        yield text.end(database.printSequence(event.lastSeq), event.pending)
        break
    }
    isSilent = false
  }
}

const presentOptionsOf = (
  exchange: Exchange,
  { attEncodingInfo }: ParsedChanges,
): PresentOptions => ({
  dialect: exchange.dialect,
  attEncodingInfo,
})

/** Rows whose documents carry the data of their attachments: these go out piece by piece. */
async function* withData(
  exchange: Exchange,
  writer: ChangeWriter,
  rows: readonly ChangeRow[],
  options: PresentOptions,
): AsyncGenerator<BodyPiece, void, undefined> {
  for (const row of rows) {
    if (row.document?.kind !== 'view' || row.document.view.attachments.length === 0) {
      writer.row(row)
      continue
    }
    writer.beginRow(row)
    writer.beginDocument()
    yield writer.take()
    yield* streamDocument(exchange.database, row.document.view, () => true, options).body
    writer.endRow()
  }
  yield writer.take()
}
