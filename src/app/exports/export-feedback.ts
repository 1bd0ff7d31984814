/**
 * What users reported about the application, newest first. As CSV in today's form; whoever gives a language, a time zone
 * or another format gets the older form, with dates as people read them, or a workbook for spreadsheets.
 */
import type { ApplicationContext } from '../application-context.ts'
import { type Document, isObject } from '../documents/document.ts'
import type { DocumentDatabase } from '../documents/document-database.ts'
import { formatDate } from '../messages/format-date.ts'
import { currentTranslations } from '../messages/translations.ts'
import { type Cell, csvHeading, csvLines, Verbatim } from './csv.ts'
import { workbookEnd, workbookRows, workbookStart } from './workbook-xml.ts'

export interface FeedbackRequest {
  readonly format: 'csv' | 'xml'
  /** Absent: today's form. */
  readonly older?: {
    readonly locale: string
    /** East of Greenwich; UTC if nobody says. */
    readonly offsetMinutes: number
  }
  readonly skipsHeading: boolean
}

const COLUMNS = ['id', 'reported_date', 'user', 'app_version', 'url', 'info']
const OLDER_COLUMNS = ['_id', 'reported_date', 'User', 'App Version', 'URL', 'Info']
const OLDER_DATE = 'DD, MMM YYYY, HH:mm:ss Z'
const PREFIX = 'feedback-'

export async function* exportFeedback(
  { data }: ApplicationContext,
  usersMeta: DocumentDatabase,
  request: FeedbackRequest,
  signal?: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const { format, older, skipsHeading } = request
  const columns = older === undefined ? COLUMNS : await olderHeading(data, older.locale)
  const delimiter = older?.locale === 'fr' ? ';' : ','
  if (format === 'xml') yield workbookStart('Feedback')
  if (!skipsHeading) {
    yield format === 'xml' ? workbookRows([columns]) : csvHeading(columns, delimiter)
  }
  const range = { start: `${PREFIX}\ufff0`, end: PREFIX, descending: true }
  for await (const documents of usersMeta.list(range)) {
    if (signal?.aborted === true) return
    const rows = documents.map(document => cellsOf(document, older))
    yield format === 'xml' ? workbookRows(rows) : csvLines(rows, delimiter)
  }
  if (format === 'xml') yield workbookEnd()
}

async function olderHeading(data: DocumentDatabase, locale: string): Promise<string[]> {
  const translations = await currentTranslations(data)
  return OLDER_COLUMNS.map(column => translations.translate(column, locale))
}

function cellsOf(document: Document, older: FeedbackRequest['older']): Cell[] {
  const meta = isObject(document.meta) ? document.meta : {}
  const user = isObject(meta.user) ? meta.user.name : undefined
  const info = document.info === undefined ? undefined : JSON.stringify(document.info)
  const cells =
    older === undefined
      ? [document._id, meta.time, user, meta.version, meta.url, info && todaysInfo(info)]
      : [document._id, olderDate(meta.time, older), user, meta.version, meta.url, info]
  return cells as Cell[]
}

/** Commas in it are behind a backslash, and that backslash is not behind another. */
const todaysInfo = (json: string): Verbatim => {
  const escaped = json.replace(/[\\"]/g, character => `\\${character}`)
  return new Verbatim(`"${escaped.replaceAll(',', '\\,')}"`)
}

function olderDate(
  value: unknown,
  { locale, offsetMinutes }: NonNullable<FeedbackRequest['older']>,
): unknown {
  const ms = typeof value === 'number' ? value : Date.parse(String(value))
  if (Number.isNaN(ms)) return value
  return formatDate(ms, { pattern: OLDER_DATE, locale, offsetMinutes })
}
