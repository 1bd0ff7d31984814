/** Reports: one by its id, and pages of ids by words. */
import type { ApplicationContext } from '../application-context.ts'
import { parseFreetext, termRange } from '../contacts/freetext.ts'
import { hydrateOne } from '../contacts/hydrate.ts'
import { distinctIds } from '../contacts/list-contacts.ts'
import { type Document, isText, type JsonObject } from '../documents/document.ts'
import { fillPage, type Page, type PageRequest } from '../documents/page.ts'
import { invalid, notFound } from '../documents/refusal.ts'

export const isReport = (document: Document): boolean =>
  document.type === 'data_record' && isText(document.form)

/** Fails with `document_missing` when there is no such document, or one of another kind. */
export async function readReport(
  context: ApplicationContext,
  id: string,
  { withLineage }: { readonly withLineage: boolean },
): Promise<JsonObject> {
  const document = await context.data.get(id)
  if (document === undefined || !isReport(document)) throw notFound('Report not found')
  return withLineage ? hydrateOne(context, document) : document
}

export interface ReportSearch {
  readonly freetext?: unknown
  readonly forms?: readonly string[] | undefined
}

/** Ids of reports with a word, or where none is given of some forms. */
export function listReportIds(
  context: ApplicationContext,
  { freetext, forms }: ReportSearch,
  page: PageRequest,
  signal?: AbortSignal,
): Page<string> {
  if (freetext === undefined && forms !== undefined) {
    return listIdsOfForms(context, forms, page, signal)
  }
  const { data } = context
  const range = termRange(parseFreetext(freetext))
  return fillPage(
    part => data.rows(`${data.name}-client`, 'reports_by_freetext', { ...range, ...part }, signal),
    page,
    distinctIds(),
  )
}

function listIdsOfForms(
  { data }: ApplicationContext,
  forms: readonly string[],
  page: PageRequest,
  signal: AbortSignal | undefined,
): Page<string> {
  if (forms.length === 0) throw invalid('Invalid forms [[]].')
  const query = { keys: [...new Set(forms)].map(form => [form]), reduce: false }
  return fillPage(
    part => data.rows(`${data.name}-client`, 'reports_by_form', { ...query, ...part }, signal),
    page,
    distinctIds(),
  )
}
