/**
 * `/api/v2/export/{type}`: files, sent while they are made. What goes wrong before the first line is an ordinary
 * failure; later a file of lines ends with a line that says so, and a JSON text is cut off.
 */
import { isObject } from '../../app/documents/document.ts'
import { exportAggregate } from '../../app/exports/export-aggregate.ts'
import { exportContactsAsCsv, exportContactsAsJson } from '../../app/exports/export-contacts.ts'
import { exportDevices } from '../../app/exports/export-devices.ts'
import { exportFeedback, type FeedbackRequest } from '../../app/exports/export-feedback.ts'
import { exportMessages } from '../../app/exports/export-messages.ts'
import { exportReports } from '../../app/exports/export-reports.ts'
import { type ExportRequest, parseExportRequest } from '../../app/exports/export-request.ts'
import { formatDate } from '../../app/messages/format-date.ts'
import { Failure } from '../../base/errors.ts'
import { joinRows } from '../kit/json-stream.ts'
import { type Reply, streamReply } from '../kit/reply.ts'
import type { AppExchange } from './app-exchange.ts'
import { parseNestedQuery } from './nested-query.ts'

const CSV = 'text/csv'
const JSON_TYPE = 'application/json'

export async function reportsExport(exchange: AppExchange): Promise<Reply> {
  const lines = exportReports(exchange.context, await requestOf(exchange), exchange.request.signal)
  return csvReply(exchange, 'reports', lines)
}

export async function messagesExport(exchange: AppExchange): Promise<Reply> {
  const lines = exportMessages(exchange.context, await requestOf(exchange), exchange.request.signal)
  return csvReply(exchange, 'messages', lines)
}

export async function contactsExport(exchange: AppExchange): Promise<Reply> {
  const asked = await requestOf(exchange)
  const { context, request } = exchange
  if (isCsvWanted(exchange)) {
    return csvReply(exchange, 'contacts', exportContactsAsCsv(context, asked, request.signal))
  }
  return jsonFileReply(exchange, 'contacts', exportContactsAsJson(context, asked, request.signal))
}

export async function devicesExport(exchange: AppExchange): Promise<Reply> {
  await requestOf(exchange)
  const { application, request } = exchange
  const devices = exportDevices(application.usersMeta, request.signal)
  return jsonFileReply(exchange, 'user-devices', devices)
}

export async function feedbackExport(exchange: AppExchange): Promise<Reply> {
  await requestOf(exchange)
  const asked = feedbackRequest(exchange)
  const { application, context, request } = exchange
  const lines = exportFeedback(context, application.usersMeta, asked, request.signal)
  if (asked.format === 'csv') return csvReply(exchange, 'feedback', lines)
  const headers = fileHeaders(exchange, 'feedback', 'xml', 'application/vnd.ms-excel')
  return streamReply(200, headers, lines)
}

/** @param type the word by which it is asked for, of which there are two */
export const aggregateExport =
  (type: 'aggregate' | 'dhis') =>
  async (exchange: AppExchange): Promise<Reply> => {
    const values = await exportAggregate(exchange.context, await requestOf(exchange))
    const headers = fileHeaders(exchange, type, 'json', JSON_TYPE)
    return { status: 200, headers, body: JSON.stringify(values) }
  }

export function unknownExport({ params }: AppExchange): Reply {
  throw new Failure('document_missing', { reason: `Invalid export type "${params.get('type')}"` })
}

/** What the body says, and what the query says where the body is silent. */
async function requestOf(exchange: AppExchange): Promise<ExportRequest> {
  const { request } = exchange
  const given = request.method === 'POST' ? await exchange.jsonBody() : {}
  const body = isObject(given) ? given : {}
  const query = parseNestedQuery(request.query.all())
  return parseExportRequest(body.filters ?? query.filters, body.options ?? query.options)
}

function isCsvWanted(exchange: AppExchange): boolean {
  const format = exchange.param('format')
  if (format !== undefined && format !== 'csv' && format !== 'json') throw unknownFormat(format)
  return format === 'csv' || (format === undefined && exchange.request.acceptNames(CSV))
}

const unknownFormat = (format: unknown): Failure =>
  new Failure('request_invalid', { reason: `Invalid format: ${JSON.stringify(format)}` })

function feedbackRequest(exchange: AppExchange): FeedbackRequest {
  const [format, locale, tz, skip] = ['format', 'locale', 'tz', 'skip_header_row'].map(name =>
    [exchange.param(name)].flat().at(-1),
  )
  if (format !== undefined && format !== 'csv' && format !== 'xml') throw unknownFormat(format)
  if (tz !== undefined && !/^[+-]?\d{1,4}$/.test(tz)) {
    throw new Failure('request_invalid', { reason: `Invalid tz: ${JSON.stringify(tz)}` })
  }
  const isOlder = format === 'xml' || locale !== undefined || tz !== undefined
  // Minutes west of Greenwich, as browsers count them.
  const older = { locale: locale ?? 'en', offsetMinutes: 0 - Number(tz ?? 0) }
  return {
    format: format ?? 'csv',
    ...(isOlder ? { older } : {}),
    skipsHeading: skip !== undefined && !['', 'false', '0'].includes(skip),
  }
}

function fileHeaders(
  { application }: AppExchange,
  type: string,
  extension: string,
  contentType: string,
): string[] {
  const time = formatDate(application.clock(), { pattern: 'YYYYMMDDHHmm' })
  const disposition = `attachment; filename=${type}-${time}.${extension}`
  return ['Content-Type', contentType, 'Content-Disposition', disposition]
}

function csvReply(exchange: AppExchange, type: string, lines: AsyncGenerator<string>): Reply {
  const headers = fileHeaders(exchange, type, 'csv', CSV)
  return streamReply(200, headers, withLastWords(exchange, lines))
}

function jsonFileReply(
  exchange: AppExchange,
  type: string,
  rows: AsyncIterable<readonly string[]>,
): Reply {
  const headers = fileHeaders(exchange, type, 'json', JSON_TYPE)
  const frame = { prefix: '[', separator: ',', suffix: ']' }
  return streamReply(200, headers, joinRows(frame, rows))
}

/** Readers of a file that has begun learn from its end that it is not whole. */
async function* withLastWords(
  { application, request }: AppExchange,
  lines: AsyncGenerator<string>,
): AsyncGenerator<string, void, undefined> {
  let hasBegun = false
  try {
    for await (const text of lines) {
      yield text
      hasBegun = true
    }
  } catch (thrown) {
    if (!hasBegun || request.signal.aborted) throw thrown
    application.logFailure('an export could not be finished', thrown)
    const message = thrown instanceof Failure ? thrown.message : 'Server error'
    yield `--ERROR--\nError exporting data: ${message}\n`
  }
}
