/** Short forms of contacts and reports, for lists: what the index of summaries has about them. */
import type { ApplicationContext } from '../application-context.ts'
import type { JsonObject } from '../documents/document.ts'
import { requireIds } from '../documents/list-by-ids.ts'

/** One for each id in order; those that are not there, or of the other kind, have none. */
export async function readSummaries(
  { data }: ApplicationContext,
  kind: 'contact' | 'report',
  given: unknown,
): Promise<JsonObject[]> {
  const ids = [...new Set(requireIds(given))]
  if (ids.length === 0) return []
  const rows = await data.allRows(data.name, 'doc_summaries_by_id', { keys: ids })
  return rows.flatMap(({ id, value }) => {
    const summary = value as JsonObject
    const isReport = summary.form !== undefined
    return isReport === (kind === 'report') ? [{ _id: id, ...summary }] : []
  })
}
