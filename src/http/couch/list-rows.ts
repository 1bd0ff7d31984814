/**
 * Rows for list functions, wherever they come from: the documents themselves (`_all_docs`) or a view, of the same or
 * another design document.
 */
import type { Exchange } from './exchange.ts'
import { listingRows } from './listings.ts'
import { parseJsonObject, parseViewQuery } from './parse-view-query.ts'
import { viewRows } from './views.ts'

export interface ListRows {
  /** What the function gets as `head`: JSON text of `{total_rows, offset}`, or `{}` for reduced rows. */
  readonly head: string
  /** Each one or more rows as JSON texts with commas between them. */
  readonly batches: AsyncIterable<Buffer>
}

/**
 * @param design the name of the one that has the list function
 * @param view its name, or the name of another design document and its name
 * @param body of the request, where there is one
 */
export async function openListRows(
  exchange: Exchange,
  design: string,
  view: readonly string[],
  body: Buffer | undefined,
): Promise<ListRows> {
  const { request, database } = exchange
  const isPost = request.method === 'POST' && body !== undefined && body.length > 0
  if (isPost) exchange.requireJsonType()
  const [first, second] = view
  const asked = second === undefined && first === '_all_docs' ? 'documents' : 'view'
  const query = parseViewQuery(request.query, isPost ? parseJsonObject(body) : undefined, asked)
  if (asked === 'documents') {
    database.requireListing()
    return listingRows(exchange, query)
  }
  const [owner, name] = second === undefined ? [design, first] : [first, second]
  return viewRows(exchange, await database.openView(owner as string, name as string), query)
}
