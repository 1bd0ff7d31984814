/** What happened to databases: `GET /_db_updates` in all its kinds. */
import { SETTINGS } from '../../core/configuration/settings.ts'
import type { UpdatesFeed, UpdatesQuery } from '../../core/operations/database-updates.ts'
import { etagOf, notModifiedReply } from '../kit/conditional.ts'
import { type BodyPiece, FLUSH, type Reply } from '../kit/reply.ts'
import type { Exchange } from './exchange.ts'
import {
  badRequest,
  feedParameters,
  LIMIT_DEFAULT,
  parseCount,
  parseHeartbeat,
} from './parse-feed.ts'

type Row = Parameters<typeof rowText>[0]
type Kind = 'normal' | 'longpoll' | 'continuous' | 'eventsource'

export async function getDbUpdates(exchange: Exchange): Promise<Reply> {
  const { kind, query } = parseUpdates(exchange)
  const feed = await exchange.server.openUpdates(query)
  if (kind === 'normal') return wholeAnswer(exchange, feed)
  const headers =
    kind === 'eventsource'
      ? ['Content-Type', 'text/event-stream', 'Cache-Control', 'no-cache']
      : ['Content-Type', exchange.jsonType]
  return { status: 200, headers, body: present(exchange, feed, kind) }
}

function parseUpdates(exchange: Exchange): { kind: Kind; query: UpdatesQuery } {
  const parameters = feedParameters(exchange.request.query)
  const kind = parseKind(parameters.get('feed'))
  const heartbeatMs = parseHeartbeat(parameters.get('heartbeat'))
  const timeout = parseCount(parameters.get('timeout'), 'invalid_integer')
  const mostMs = exchange.server.configuration.get(SETTINGS.changesTimeoutMs)
  const timeoutMs =
    timeout === undefined ? mostMs : timeout * exchange.dialect.dbUpdatesTimeoutUnitMs
  const header = kind === 'eventsource' ? exchange.request.header('last-event-id') : undefined
  return {
    kind,
    query: {
      feed: kind === 'eventsource' ? 'continuous' : kind,
      since: header ?? parameters.get('since') ?? '0',
      descending: parameters.get('descending') === 'true',
      limit: parseCount(parameters.get('limit'), 'invalid_integer') ?? LIMIT_DEFAULT,
      waitMs: Math.min(mostMs, heartbeatMs ?? timeoutMs),
      beats: heartbeatMs !== undefined,
    },
  }
}

function parseKind(text = 'normal'): Kind {
  switch (text) {
    case 'normal':
    case 'longpoll':
    case 'continuous':
    case 'eventsource':
      return text
  }
  throw badRequest('Supported `feed` types: normal, continuous, longpoll, eventsource')
}

/** Bounded by the number of databases: three entries each at the most. */
async function wholeAnswer(exchange: Exchange, feed: UpdatesFeed): Promise<Reply> {
  const rows: string[] = []
  let lastSeq = 0
  for await (const event of feed.events(exchange.request.signal)) {
    if (event.kind === 'rows') for (const row of event.rows) rows.push(rowText(row, feed))
    else if (event.kind === 'end') lastSeq = event.lastSeq
  }
  const body = START + rows.join(BETWEEN) + endText(feed.printSequence(lastSeq))
  const etag = etagOf(body)
  const unchanged = notModifiedReply(exchange.request, etag)
  if (unchanged !== undefined) return unchanged
  const headers = ['Content-Type', exchange.jsonType, 'ETag', etag]
  return { status: 200, headers, body }
}

const START = '{"results":[\n'
const BETWEEN = ',\n'
const endText = (lastSeq: string): string => `\n],\n"last_seq":"${lastSeq}"}\n\n`

const rowText = (
  row: { readonly name: string; readonly kind: string; readonly seq: number },
  feed: UpdatesFeed,
): string =>
  `{"db_name":${JSON.stringify(row.name)},"type":"${row.kind}","seq":"${feed.printSequence(row.seq)}"}`

/** Around rows that are told as they come. */
interface Frame {
  readonly start: string
  readonly row: (row: Row, isFirst: boolean) => string
  readonly heartbeat: string
  readonly end: (lastSeq: string) => string
}

function frameOf(exchange: Exchange, feed: UpdatesFeed, kind: Kind): Frame {
  const line = (row: Row): string => `${rowText(row, feed)}\n`
  if (kind === 'eventsource') {
    return {
      start: '',
      row: row => `data: ${line(row)}id: "${feed.printSequence(row.seq)}"\n\n`,
      heartbeat: 'event: heartbeat\ndata: \n\n',
      end: () => '',
    }
  }
  if (exchange.dialect.dbUpdatesBareRows) {
    return { start: '', row: line, heartbeat: '\n', end: () => '' }
  }
  if (kind === 'longpoll') {
    const row = (each: Row, isFirst: boolean): string =>
      (isFirst ? '' : BETWEEN) + rowText(each, feed)
    return { start: START, row, heartbeat: '\n', end: endText }
  }
  return { start: '', row: line, heartbeat: '\n', end: seq => `{"last_seq":"${seq}"}\n` }
}

async function* present(
  exchange: Exchange,
  feed: UpdatesFeed,
  kind: Kind,
): AsyncGenerator<BodyPiece, void, undefined> {
  const frame = frameOf(exchange, feed, kind)
  let isSilent = true
  let isFirst = true
  for await (const event of feed.events(exchange.request.feedSignal)) {
    if (isSilent) yield frame.start
    if (event.kind === 'rows') {
      for (const row of event.rows) {
        yield frame.row(row, isFirst)
        isFirst = false
      }
    } else if (event.kind === 'end') yield frame.end(feed.printSequence(event.lastSeq))
    else {
      // The head of the answer leaves with the first piece.
      if (event.kind === 'heartbeat' || isSilent) yield frame.heartbeat
      yield FLUSH
    }
    isSilent = false
  }
}
