/**
 * Reports that filters let through, newest first, in batches of documents.
 *
 * Every report is looked at itself, so the answer is right whatever index led to it. Where an index says that there are
 * few candidates, only those are read; else all reports of the time asked for, in order of their dates. Nothing grows
 * with the number of reports but a list of at most `CANDIDATES_MAX` ids.
 */
import type { ApplicationContext } from '../application-context.ts'
import { termRange } from '../contacts/freetext.ts'
import type { Document } from '../documents/document.ts'
import type { RowQuery } from '../documents/document-database.ts'
import { isFilteredReport, type ReportFilters } from './report-filters.ts'

const CANDIDATES_MAX = 50_000

export interface FindOptions {
  /** Documents that are read at once. */
  readonly batchCount: number
  readonly candidatesMax?: number
  readonly signal?: AbortSignal | undefined
}

export async function* findReports(
  context: ApplicationContext,
  filters: ReportFilters,
  options: FindOptions,
): AsyncGenerator<readonly Document[], void, undefined> {
  for await (const ids of candidateIds(context, filters, options)) {
    for await (const documents of context.data.named(ids)) {
      const reports: Document[] = []
      for (const document of documents) {
        if (document !== undefined && isFilteredReport(document, filters)) reports.push(document)
      }
      if (reports.length > 0) yield reports
    }
  }
}

async function* candidateIds(
  context: ApplicationContext,
  filters: ReportFilters,
  options: FindOptions,
): AsyncGenerator<readonly string[], void, undefined> {
  const { batchCount, signal } = options
  for (const question of questionsOf(filters)) {
    const found = await fewCandidates(context, question, options)
    if (found !== undefined) return yield* slices(newestFirst(found), batchCount)
  }
  const { data } = context
  const query = { ...dateRange(filters), descending: true }
  for await (const rows of data.rows(`${data.name}-client`, 'reports_by_date', query, signal)) {
    yield* slices(
      rows.map(({ id }) => id),
      batchCount,
    )
  }
}

const dateRange = ({ date }: ReportFilters): RowQuery =>
  date === undefined ? {} : { startKey: [date.toMs], endKey: [date.fromMs] }

interface Question {
  readonly view: string
  readonly query: RowQuery
}

/** Of indexes that might lead to few reports, those first that usually lead to the fewest. */
function questionsOf({ subjects, words, places, forms }: ReportFilters): Question[] {
  const questions: Question[] = []
  if (subjects !== undefined) {
    questions.push({ view: 'reports_by_subject', query: { keys: [...subjects] } })
  }
  for (const word of words) questions.push({ view: 'reports_by_freetext', query: termRange(word) })
  if (places !== undefined) {
    questions.push({ view: 'reports_by_place', query: { keys: [...places].map(id => [id]) } })
  }
  if (forms !== undefined) {
    const keys = [...forms].map(form => [form])
    questions.push({ view: 'reports_by_form', query: { keys, reduce: false } })
  }
  return questions
}

/** Dates by ids; undefined when there are too many to keep. */
async function fewCandidates(
  { data }: ApplicationContext,
  { view, query }: Question,
  { candidatesMax = CANDIDATES_MAX, signal }: FindOptions,
): Promise<Map<string, unknown> | undefined> {
  const found = new Map<string, unknown>()
  for await (const rows of data.rows(`${data.name}-client`, view, query, signal)) {
    for (const { id, value } of rows) found.set(id, value)
    if (found.size > candidatesMax) return undefined
  }
  return found
}

function newestFirst(found: ReadonlyMap<string, unknown>): string[] {
  const dated = [...found].map(([id, date]) => ({ id, ms: typeof date === 'number' ? date : 0 }))
  dated.sort((a, b) => b.ms - a.ms || (a.id < b.id ? 1 : -1))
  return dated.map(({ id }) => id)
}

export function* slices<T>(items: readonly T[], countMax: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += countMax) yield items.slice(at, at + countMax)
}
